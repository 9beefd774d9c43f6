"""Verifies X-Service-Signature. Python 3.8 or later, no dependencies.

    problem = signature_problem(request.headers.get("X-Service-Signature"), raw_body, secret)
    if problem is not None:
        return Response(status=401)

`raw_body` is the body's bytes before anything has parsed them: `request.get_data()` in Flask, `request.body` in Django,
`await request.body()` in FastAPI.
"""

import hashlib
import hmac
import re
import time
from typing import Optional

TOLERANCE_SECONDS = 300
MEMBER = re.compile(r"([a-z][a-z0-9]*)=([!-~]+)")
TIMESTAMP = re.compile(r"0|[1-9][0-9]{0,11}")
LOWER_HEX = re.compile(r"[0-9a-f]+")


def signature_problem(header: Optional[str], body: bytes, secret: str, now: Optional[int] = None) -> Optional[str]:
    """None if the signature is good; else "missing", "malformed", "expired" or "mismatch"."""
    if not header:
        return "missing"

    # Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
    members = {}
    digests = []
    for text in header.split(","):
        # fullmatch, since $ lets a line feed pass at the end.
        member = MEMBER.fullmatch(text)
        if member is None or member[1] in members:
            return "malformed"
        if member[1] == "v1":
            digests.append(member[2])
        else:
            members[member[1]] = member[2]
    t = members.get("t", "")
    if not TIMESTAMP.fullmatch(t) or not digests or not all(LOWER_HEX.fullmatch(v1) for v1 in digests):
        return "malformed"

    if abs((int(time.time()) if now is None else now) - int(t)) > TOLERANCE_SECONDS:
        return "expired"

    # Anyone can sign with an empty key.
    if not secret:
        return "mismatch"
    expected = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    return None if any(hmac.compare_digest(expected, v1) for v1 in digests) else "mismatch"

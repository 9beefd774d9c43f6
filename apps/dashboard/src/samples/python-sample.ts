import type { SampleParts } from './sample-parts.js';

/** Returns a receiver in Python 3 that needs only the standard library. */
export function pythonSample({ path, about, hasBatches }: SampleParts): string {
  return String.raw`# ${about}
import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("GAPLESS_SECRET", "").encode()
TOLERANCE_SECONDS = 300
MAX_BYTES = 1024 * 1024

# Everyone can sign with an empty secret.
if not SECRET:
    sys.exit("Set GAPLESS_SECRET to the secret of the endpoint.")


def is_genuine(header, body):
    """Whether the raw body was signed with our secret, not long ago."""
    match = re.fullmatch(r"t=(\d+)((?:,v1=[0-9a-f]{64})+)", header or "")
    if match is None:
        return False
    timestamp, signatures = match.groups()
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    # While a secret is replaced, there are two signatures: one has to match.
    return any(hmac.compare_digest(expected, signature) for signature in signatures.split(",v1=")[1:])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= MAX_BYTES:
            return self.answer(413)
        # The bytes as they came: parsed and printed again they would be others.
        body = self.rfile.read(length)
        if self.path != ${JSON.stringify(path)}:
            return self.answer(404)
        if not is_genuine(self.headers.get("X-Service-Signature"), body):
            return self.answer(401)
${hasBatches ? LIST : ONE}
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


ThreadingHTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
`;
}

const ONE = `        event = json.loads(body)
        # The same event can come more than once: remember event["id"], and answer before the real work.
        print(event["seq"], event["event"], event["id"], flush=True)`;

const LIST = `        for event in json.loads(body)["events"]:
            # The same event can come more than once: remember event["id"], and answer before the real work.
            print(event["seq"], event["event"], event["id"], flush=True)`;

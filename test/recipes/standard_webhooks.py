"""Prints what the Standard Webhooks library says of each push, one per line: standard_webhooks.py <pushes.json>"""

import base64
import json
import pathlib
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for push in json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8")):
    try:
        Webhook(push["secret"]).verify(base64.b64decode(push["body_base64"]), push["headers"])
        print("valid")
    except WebhookVerificationError as error:
        print(f"refused: {error}")

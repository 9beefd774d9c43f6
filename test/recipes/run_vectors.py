"""Prints what the recipe says of each vector, one per line: run_vectors.py <vectors.json>"""

import base64
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "docs" / "recipes"))

from verify_signature import signature_problem  # noqa: E402

for vector in json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))["vectors"]:
    body = base64.b64decode(vector["body_base64"])
    print(signature_problem(vector["header"], body, vector["secret"], vector["now"]) or "valid")

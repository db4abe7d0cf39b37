#!/usr/bin/env bash
# standardwebhooks 1.1.0 from PyPI, 1.1.1 from npm, installed 2026-11.
# Guess: Webhook.sign() of the Python package converts an aware datetime to the seconds since 1970 that it stands for, as
#        the npm package does with a Date; both packages sign the same moment alike.
# Seen:  Python relabels the time as UTC instead of converting it. A time of zone +09:00 is signed as nine hours later,
#        and the signature fits no header with the true moment; its own verify() then finds no matching signature.
# Why it matters: pass datetime.now(timezone.utc) to sign(), never a local time, aware or not.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check standardwebhooks==1.1.0
(cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund standardwebhooks@1.1.1 >/dev/null)
cat > "$folder/sign.cjs" <<'JS'
const { Webhook } = require("standardwebhooks");
process.stdout.write(new Webhook(process.argv[2]).sign("msg_1", new Date(Number(process.argv[3]) * 1000), "{}"));
JS
export FOLDER=$folder
"$folder/venv/bin/python" - <<'PY'
import base64
import os
import subprocess
from datetime import datetime, timedelta, timezone

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

secret = "whsec_" + base64.b64encode(b"k" * 24).decode()
webhook = Webhook(secret)
utc = datetime.now(timezone.utc).replace(microsecond=0)
seoul = utc.astimezone(timezone(timedelta(hours=9)))
assert seoul == utc
seconds = str(int(utc.timestamp()))
node = subprocess.run(
    ["node", os.environ["FOLDER"] + "/sign.cjs", secret, seconds], capture_output=True, text=True, check=True
).stdout
print("JavaScript", node)
print("Python, UTC   ", webhook.sign("msg_1", utc, "{}"))
print("Python, +09:00", webhook.sign("msg_1", seoul, "{}"))
assert webhook.sign("msg_1", utc, "{}") == node
assert webhook.sign("msg_1", seoul, "{}") == webhook.sign("msg_1", utc + timedelta(hours=9), "{}") != node
headers = {"webhook-id": "msg_1", "webhook-timestamp": seconds}
webhook.verify("{}", headers | {"webhook-signature": webhook.sign("msg_1", utc, "{}")})
try:
    webhook.verify("{}", headers | {"webhook-signature": webhook.sign("msg_1", seoul, "{}")})
except WebhookVerificationError as error:
    print("verify:", error)
else:
    raise AssertionError("a time of another zone is now converted")
PY

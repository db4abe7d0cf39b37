"""Prints the Secrets that the manifests refer to, with new random passwords. Nothing else keeps them.

Run `python3 deploy/k8s/credentials.py | kubectl create -f -` once for each namespace. Use `create`, because `apply`
would change the passwords of a running system. The script needs only Python 3.11 and no packages. `--namespace` names a
namespace other than `playmolt`; `--embedded-chain` adds the Secret for the chain of the dev overlay. A secret store can
provide the same Secrets instead; docs/operating.md lists them.
"""

import argparse
import base64
import hashlib
import json
import secrets
import string
import sys
from datetime import UTC, datetime

OLDEST = (3, 11)
NAMESPACE = "playmolt"
ENGINES = ("trial-engine", "ox-engine", "legal-orchestrator", "agora-runner", "tournament-engine")
LOGINS = ("migrations", "gateway", *ENGINES, "relay", "reader", "verifier", "eraser")
"""The logins of Postgres, as in `playmolt_core.db.logins`. `postgres`, added below, is the dev overlay's superuser."""
USERS = ("gateway", "spectator", *ENGINES, "relay", "admin", "reader")
"""The users of NATS, as in `playmolt_cli.local.embedded.nats`."""
_LETTERS = string.ascii_letters + string.digits
_ED25519 = bytes.fromhex("302e020100300506032b657004220420")
"""The bytes that precede the 32 bytes of an Ed25519 key in PKCS 8."""


def password() -> str:
    """Draw 40 letters and digits, the first a letter.

    Passwords are part of URLs. The NATS server also reads them from variables as values of its configuration, where a
    leading digit can turn a password into a number.
    """
    return secrets.choice(string.ascii_letters) + "".join(secrets.choice(_LETTERS) for _ in range(39))


def signing_key() -> str:
    """Generate the key that signs the anchors of the log."""
    text = base64.b64encode(_ED25519 + secrets.token_bytes(32)).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"


def seal_keys() -> str:
    """Draw the first key that encrypts the keys of sessions, in the format of the file PLAYMOLT_SEAL_KEYS."""
    now = datetime.now(UTC)
    key = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
    return json.dumps(
        [{"id": f"k{now:%Y%m%d}-{secrets.token_hex(4)}", "key": key, "created_at": f"{now:%Y-%m-%dT%H:%M:%SZ}"}]
    )


def deployer_key() -> str:
    """The key of the account that the embedded chain funds; it is not a secret."""
    return "0x" + hashlib.sha256(b"playmolt: deployer of the embedded chain").hexdigest()


def embedded_chain() -> dict:
    """The trial engine's settings for the chain of the dev overlay."""
    return {"rpc-url": "http://chain:8545", "deployer-key": deployer_key()}


def values() -> dict:
    """The contents of all Secrets: name of the Secret → key → value."""
    found = {f"{login}-credentials": {} for login in (*LOGINS, *USERS, "postgres", "nats")}
    for login in (*LOGINS, "postgres"):
        found[f"{login}-credentials"] |= {"username": login, "password": password()}
    for user in USERS:
        found[f"{user}-credentials"]["nats-password"] = password()
    found["nats-credentials"]["sys-password"] = password()
    found["log-anchor-key"] = {"anchor-key.pem": signing_key()}
    found["seal-keys"] = {"seal-keys": seal_keys()}
    found["gateway-credentials"]["operator-key"] = f"op_{password()}"
    found["agora-lab-credentials"] = {"lab-key": password()}
    found["house-credentials"] = {"house-key": f"house_{password()}"}
    return found


def secret(name: str, content: dict, namespace: str) -> dict:
    """Build one Secret. A Secret with a login has the type that the database operator requires."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "playmolt"}},
        "type": "kubernetes.io/basic-auth" if "username" in content else "Opaque",
        "stringData": dict(content),
    }


def main() -> None:
    """Print a list of Secrets as JSON."""
    parser = argparse.ArgumentParser(description="Print the Secrets of a new deployment.")
    parser.add_argument("--namespace", default=NAMESPACE, help="where they belong (default: %(default)s)")
    parser.add_argument("--embedded-chain", action="store_true", help="also for the chain of the dev overlay")
    asked = parser.parse_args()
    found = values()
    if asked.embedded_chain:
        found["trial-engine-chain"] = embedded_chain()
    items = [secret(name, content, asked.namespace) for name, content in sorted(found.items())]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, indent=2)


if __name__ == "__main__":
    if sys.version_info[:2] < OLDEST:
        sys.exit("credentials.py: Python {}.{} is too old, 3.11 or newer is needed".format(*sys.version_info))
    main()

"""Prints the Secrets that the manifests refer to, each with a new random password. Nothing is kept anywhere else.

`python3 deploy/k8s/credentials.py | kubectl create -f -` once for each namespace: `create`, since `apply` would change
the passwords of a running system. It needs nothing but Python 3.11: neither our packages nor others'. `--namespace`
names another than `playmolt`; `--embedded-chain` adds what the chain of the dev overlay needs. A store of secrets may
make the same objects instead; docs/operating.md lists them.
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
"""Who logs in to Postgres, as `playmolt_core.db.logins` says. `postgres` is the superuser of the dev overlay's pod."""
USERS = ("gateway", "spectator", *ENGINES, "relay", "admin", "reader")
"""Who logs in to NATS, as `playmolt_cli.local.embedded.nats` says."""
_LETTERS = string.ascii_letters + string.digits
_ED25519 = bytes.fromhex("302e020100300506032b657004220420")
"""The prefix of the 32 bytes of such a key in PKCS 8."""


def password() -> str:
    """Draw 40 letters and digits, a letter first.

    They are used in URLs, and in a variable that the NATS server reads as a value of its configuration: a digit in
    front may make a number of it.
    """
    return secrets.choice(string.ascii_letters) + "".join(secrets.choice(_LETTERS) for _ in range(39))


def signing_key() -> str:
    """Generate the key that signs the anchors of the log."""
    text = base64.b64encode(_ED25519 + secrets.token_bytes(32)).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"


def seal_keys() -> str:
    """Draw the first key that the keys of sessions are wrapped by, as the file of `PLAYMOLT_SEAL_KEYS` holds it."""
    now = datetime.now(UTC)
    key = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
    return json.dumps(
        [{"id": f"k{now:%Y%m%d}-{secrets.token_hex(4)}", "key": key, "created_at": f"{now:%Y-%m-%dT%H:%M:%SZ}"}]
    )


def deployer_key() -> str:
    """The key that the embedded chain gives funds to; it is not a secret."""
    return "0x" + hashlib.sha256(b"playmolt: deployer of the embedded chain").hexdigest()


def embedded_chain() -> dict:
    """The trial engine's settings for the chain of the dev overlay."""
    return {"rpc-url": "http://chain:8545", "deployer-key": deployer_key()}


def values() -> dict:
    """Secret → key → value."""
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
    """The Secret of a name; of the type that the database operator asks for where it holds a login."""
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

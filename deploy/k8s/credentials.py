"""Prints the Secrets that the manifests refer to, each password drawn anew. Nothing is kept anywhere else.

`python deploy/k8s/credentials.py | kubectl create -f -` once for each namespace: `create`, since `apply` would change
the passwords of a running system. `--embedded-chain` adds what the chain of the dev overlay needs. A store of secrets
may make the same objects instead; docs/operating.md lists them.
"""

import argparse
import json
import secrets
import string
import sys
from collections.abc import Mapping

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playmolt_cli.local.embedded.nats import USERS
from playmolt_core.db.logins import LOGINS as SERVICE_LOGINS
from playmolt_jury.chain.deployer import EMBEDDED_DEPLOYER_KEY

NAMESPACE = "playmolt"
LOGINS: tuple[str, ...] = ("migrations", *SERVICE_LOGINS)
"""Who logs in to Postgres. `postgres` is the superuser of the dev overlay's pod."""
_LETTERS = string.ascii_letters + string.digits


def password() -> str:
    """Draw 40 letters and digits, a letter first.

    They stand in URLs, and in a variable that the NATS server reads as a value of its configuration: there a digit in
    front may make a number of it.
    """
    return secrets.choice(string.ascii_letters) + "".join(secrets.choice(_LETTERS) for _ in range(39))


def signing_key() -> str:
    """Draw the key that signs where the log stands."""
    pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Ed25519PrivateKey.generate().private_bytes(*pem).decode()


def values() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {f"{login}-credentials": {} for login in (*LOGINS, *USERS, "postgres", "nats")}
    for login in (*LOGINS, "postgres"):
        found[f"{login}-credentials"] |= {"username": login, "password": password()}
    for user in USERS:
        found[f"{user}-credentials"]["nats-password"] = password()
    found["nats-credentials"]["sys-password"] = password()
    found["log-anchor-key"] = {"anchor-key.pem": signing_key()}
    found["gateway-credentials"]["operator-key"] = f"op_{password()}"
    found["house-credentials"] = {"house-key": f"house_{password()}"}
    return found


def secret(name: str, content: Mapping[str, str]) -> dict[str, object]:
    """The Secret of a name; of the type that the database operator asks for where it holds a login."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "playmolt"}},
        "type": "kubernetes.io/basic-auth" if "username" in content else "Opaque",
        "stringData": dict(content),
    }


def main() -> None:
    """Print a list of Secrets as JSON."""
    parser = argparse.ArgumentParser(description="Print the Secrets of a new deployment.")
    parser.add_argument("--embedded-chain", action="store_true", help="also for the chain of the dev overlay")
    found = values()
    if parser.parse_args().embedded_chain:
        found["trial-engine-chain"] = {"rpc-url": "http://127.0.0.1:8545", "deployer-key": EMBEDDED_DEPLOYER_KEY}
    items = [secret(name, content) for name, content in sorted(found.items())]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

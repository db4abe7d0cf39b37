"""Records how and from which sources the files in `dist` were made: an in-toto statement with the SLSA predicate.

PROVENANCE_KEY is the path of an Ed25519 key (PKCS 8 in PEM). If it is set, the statement is also signed, in a DSSE
envelope that SLSA tools can read.
"""

import base64
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from deploy.release import image
from deploy.release.source import DIST, ROOT, Unfit, base_image, commit, files, image_name, sha256, tag

FILE: Final = DIST / "provenance.json"
ENVELOPE: Final = DIST / "provenance.dsse.json"
PUBLIC_KEY: Final = DIST / "provenance.pub.pem"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_LOCKS: Final = ("requirements.lock", "requirements-dev.lock", "deploy/requirements.lock", "deploy/build.lock")


def make(started: datetime, parts: list[str]) -> str:
    for path in (FILE, ENVELOPE, PUBLIC_KEY):
        path.unlink(missing_ok=True)
    said = json.dumps(_statement(started, parts), indent=2).encode() + b"\n"
    key = _key()
    DIST.mkdir(parents=True, exist_ok=True)
    FILE.write_bytes(said)
    if key is None:
        return "not signed: PROVENANCE_KEY names no key"
    ENVELOPE.write_text(json.dumps(_signed(said, key), indent=2) + "\n", "utf-8")
    PUBLIC_KEY.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    if verified(json.loads(ENVELOPE.read_text("utf-8")), key.public_key()) != said:
        raise Unfit("the signature does not verify")
    return "signed"


def _statement(started: datetime, parts: list[str]) -> dict[str, Any]:
    made = [{"name": str(path.relative_to(DIST)), "digest": {"sha256": sha256(path)}} for path in files()]
    if digest := image.digest():
        made.append({"name": f"{image_name()}:{tag()}", "digest": {"sha256": digest.removeprefix("sha256:")}})
    of = [
        {"name": "source", "uri": f"git:{commit()}", "digest": {"gitCommit": commit()}},
        *({"name": lock, "digest": {"sha256": sha256(ROOT / lock)}} for lock in _LOCKS),
        {"name": "base image", "uri": f"pkg:oci/{base_image().replace(':', '?tag=')}"},
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": made,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:playmolt:release:1",
                "externalParameters": {"parts": parts, "tag": tag()},
                "internalParameters": {"python": platform.python_version(), "platform": platform.platform()},
                "resolvedDependencies": of,
            },
            "runDetails": {
                "builder": {"id": os.environ.get("BUILDER_ID", "urn:playmolt:by-hand")},
                "metadata": {
                    "invocationId": f"{tag()}/{started:%Y%m%dT%H%M%SZ}",
                    "startedOn": f"{started:%Y-%m-%dT%H:%M:%SZ}",
                    "finishedOn": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                },
            },
        },
    }


def _key() -> Ed25519PrivateKey | None:
    place = os.environ.get("PROVENANCE_KEY", "")
    if not place:
        return None
    try:
        key = load_pem_private_key(Path(place).read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise Unfit(f"PROVENANCE_KEY: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Unfit("PROVENANCE_KEY is not an Ed25519 key")
    return key


def _authenticated(payload: bytes) -> bytes:
    """The bytes that DSSE signs: the type and the payload, each after its length, so that they cannot be confused."""
    kind = PAYLOAD_TYPE.encode()
    return b" ".join((b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload))


def _signed(payload: bytes, key: Ed25519PrivateKey) -> dict[str, Any]:
    signature = base64.b64encode(key.sign(_authenticated(payload))).decode()
    text = base64.b64encode(payload).decode()
    return {"payloadType": PAYLOAD_TYPE, "payload": text, "signatures": [{"sig": signature}]}


def verified(envelope: dict[str, Any], key: Ed25519PublicKey) -> bytes:
    """The statement in an envelope. Raises Unfit if `key` did not sign it."""
    payload = base64.b64decode(envelope["payload"])
    try:
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), _authenticated(payload))
    except InvalidSignature as error:
        raise Unfit("the signature does not verify") from error
    return payload

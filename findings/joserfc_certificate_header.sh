#!/usr/bin/env bash
# joserfc 1.8.0 (JOSE; what Authlib 1.7 and later use), installed 2026-11: a token whose header carries its certificate.
# Guess: a token that `jwt.encode` wrote is read by `jwt.decode`, also with the header x5c (RFC 7515, 4.1.6), as some
#        providers and most eIDAS wallets send it.
# Seen:  `decode` raises ExceededSizeError, "Header size exceeds 512 bytes.": one certificate of a 2,048-bit key makes a
#        header of some 1,300. A registry with a larger `max_header_length` reads it.
# Why it matters: sign-in works with one provider and fails with the next, with a message that names neither x5c nor the
#        setting.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check joserfc==1.8.0 cryptography==50.0.2
"$folder/venv/bin/python" - <<'PY'
import base64
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from joserfc import jws, jwt
from joserfc.errors import ExceededSizeError
from joserfc.jwk import RSAKey

private = rsa.generate_private_key(65537, 2048)
name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer.example.org")])
begin = datetime(2026, 1, 1, tzinfo=UTC)
certificate = (
    x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key()).serial_number(7)
    .not_valid_before(begin).not_valid_after(begin + timedelta(days=3650)).sign(private, hashes.SHA256())
)
chain = [base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()]
key = RSAKey.import_key(private)
plain = jwt.encode({"alg": "RS256"}, {"sub": "1"}, key)
with_chain = jwt.encode({"alg": "RS256", "x5c": chain}, {"sub": "1"}, key)
assert jwt.decode(plain, key).claims == {"sub": "1"}
try:
    jwt.decode(with_chain, key)
except ExceededSizeError as error:
    print(f"a header of {len(with_chain.partition('.')[0])} bytes: {error}")
else:
    raise AssertionError("it is read now")
registry = jws.JWSRegistry()
registry.max_header_length = 16_384
assert jwt.decode(with_chain, key, registry=registry).claims == {"sub": "1"}
print("with a registry of its own it is read")
PY

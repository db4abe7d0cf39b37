#!/usr/bin/env bash
# fastwarc 2.0.1 (reads web archives), warcio 1.8.1, installed 2026-11: the digests of an intact archive.
# Guess: `verify_block_digest()` and `verify_payload_digest()` of an intact record are True, in whichever order and however the archive
#        was opened; a digest that cannot be checked raises, or is None.
# Seen:  opened with the defaults, the block digest of every HTTP response is False: its headers have been parsed by then, and the
#        rest of the record is compared. With `parse_http=False` it is True, and the payload digest False. Both are True for no
#        way of opening. A `resource` record's payload digest is always False, though payload and block are the same. The
#        iterator's own `verify_digests=True` and warcio find nothing wrong.
# Why it matters: evidence kept as WARC (pages that agents cited) is reported as tampered with, all of it, and a real change
#        looks no different. Let the iterator check blocks, or open the archive once for each digest.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastwarc==2.0.1 warcio==1.8.1
"$folder/venv/bin/python" - <<'PY'
import io

from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

written = io.BytesIO()
writer = WARCWriter(written, gzip=True)
head = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.1")
page = {"payload": io.BytesIO(b"The hearing is adjourned."), "http_headers": head}
writer.write_record(writer.create_warc_record("https://example.org/hearing", "response", **page))
note = {"payload": io.BytesIO(b"Not guilty."), "warc_content_type": "text/plain"}
writer.write_record(writer.create_warc_record("https://example.org/verdict", "resource", **note))
archive = written.getvalue()

passed = []
for record in WarcioIterator(io.BytesIO(archive), check_digests="raise"):
    record.content_stream().read()
    passed.append(record.digest_checker.passed)
print("warcio:", passed)
assert passed == [True, True]
for parsed in (True, False):
    block = [record.verify_block_digest() for record in ArchiveIterator(io.BytesIO(archive), parse_http=parsed)]
    payload = [record.verify_payload_digest() for record in ArchiveIterator(io.BytesIO(archive), parse_http=parsed)]
    print(f"fastwarc, parse_http={parsed}: blocks {block}, payloads {payload}")
    assert block == [not parsed, True] and payload == [parsed, False], "it changed"
assert len(list(ArchiveIterator(io.BytesIO(archive), verify_digests=True))) == 2
[first, _] = [record.verify_block_digest() for record in ArchiveIterator(io.BytesIO(archive))]
assert first is False, "it changed"
PY

#!/usr/bin/env bash
# Identifiers that hold their time and sort by it, installed 2026-11: uuid6 2025.0.1, uuid7 0.1.0, uuid-utils 1.2.0, python-ulid 4.1.0
# (PyPI).
# Guess: the first 48 bits are the milliseconds at which it was made (RFC 9562), and events of one moment sort in the order in which
#        they were made; identifiers of two libraries sort together.
# Seen:  all sort in their own order. uuid6 does it with a millisecond more for each identifier: of 5000 made in a moment the last
#        says five seconds later, and so do those after it until the clock is there. uuid7 writes the layout of a draft, which
#        read by the standard is the year 2203, after all others. uuid-utils and python-ulid give the time itself.
# Why it matters: moves of a tick that writes many events are "in the future", after the deadline that they met, and another
#        process's later answer sorts before them. Keep the time in a field of its own, and take it from there.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uuid6==2025.0.1 uuid7==0.1.0 uuid-utils==1.2.0 python-ulid==4.1.0
"$folder/venv/bin/python" - <<'PY'
import time
from datetime import UTC, datetime
from uuid import UUID

import uuid6
import uuid_extensions
import uuid_utils
from ulid import ULID

COUNT = 5000
for library, make, number in (
    ("uuid6", uuid6.uuid7, lambda made: made.int),
    ("uuid7", uuid_extensions.uuid7, lambda made: made.int),
    ("uuid-utils", uuid_utils.uuid7, lambda made: UUID(str(made)).int),
    ("python-ulid", ULID, int),
):
    made = [number(make()) for _ in range(COUNT)]
    now = time.time()
    last = (made[-1] >> 80) / 1000
    print(f"{library}: last of {COUNT} is of {last - now:+.3f} s from now, year {datetime.fromtimestamp(last, UTC).year}")
    assert made == sorted(made), "it changed"
    if library == "uuid7":
        assert datetime.fromtimestamp(last, UTC).year > 2200, "it changed"
    else:
        assert (last - now > 2) == (library == "uuid6") and last - now < COUNT / 1000 + 1, "it changed"

time.sleep(0.2)
later = uuid_utils.uuid7()
print("made after all of them by uuid-utils:", later)
assert str(later) < str(uuid6.uuid7()) < str(uuid_extensions.uuid7()), "it changed"
PY

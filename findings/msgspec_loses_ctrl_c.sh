#!/usr/bin/env bash
# msgspec 0.22.0 (PyPI), CPython 3.11: an exception that a signal handler raises while a type is decoded for the first time.
# Guess: Ctrl-C during a decode raises KeyboardInterrupt, as in any other code.
# Seen:  if the signal is handled while msgspec looks up a type whose hash is computed in Python, which those of `typing` are, the
#        exception is discarded: the decode returns its value and the program goes on. The same for `convert`, `Decoder`,
#        `json.schema` and `inspect.type_info`, and for the TimeoutError of an alarm. Types that were decoded before have no such moment.
# Why it matters: a command that is interrupted just after its start goes on and spends money; a time limit by SIGALRM never comes.
#        Note the signal in the handler, too, and ask for the note where the program waits.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check msgspec==0.22.0
"$folder/venv/bin/python" - <<'PY'
import signal
from typing import Annotated, List

import msgspec


class Unit:
    """A note in a type, which a signal reaches while it is hashed."""

    number = None

    def __hash__(self):
        if self.number is not None:
            number, self.number = self.number, None
            signal.raise_signal(number)
        return 1


def alarm(*_):
    raise TimeoutError("too long")


signal.signal(signal.SIGALRM, alarm)
uses = {
    "json.decode": lambda kind: msgspec.json.decode(b"[1]", type=kind),
    "convert": lambda kind: msgspec.convert([1], kind),
    "json.Decoder": lambda kind: msgspec.json.Decoder(kind).decode(b"[1]"),
    "json.schema": msgspec.json.schema,
    "inspect.type_info": msgspec.inspect.type_info,
}
for number in (signal.SIGINT, signal.SIGALRM):
    for name, use in uses.items():
        unit = Unit()
        kind = List[Annotated[int, unit]]
        unit.number = number
        try:
            shown = f"goes on with {use(kind)!r:.40}"
        except (KeyboardInterrupt, TimeoutError) as error:
            shown = f"raises {type(error).__name__}"
        print(number.name, name, shown)
        assert unit.number is None, "no signal came"
        assert shown.startswith("goes on"), "it changed"

unit = Unit()
kind = List[Annotated[int, unit]]
unit.number = signal.SIGINT
try:
    {kind: 1}.get(kind)
except KeyboardInterrupt:
    print("a lookup in Python raises KeyboardInterrupt")
else:
    raise AssertionError("it changed")
PY

"""A stand-in for the jobs of the laboratory. The body of a request says what it does."""

import json
import os
import sys
import time
from pathlib import Path


def main(name: str, folder: str) -> None:
    asked = json.load(sys.stdin)
    Path(folder, "turns.jsonl").write_text("what was said", encoding="utf-8")
    if asked.get("started"):
        Path(asked["started"]).write_text(f"{os.getpid()} {folder}", encoding="utf-8")
    time.sleep(asked.get("sleeps", 0))
    if asked.get("fails"):
        sys.exit("the design has no runs")
    sys.stdout.write(json.dumps({"job": name} | {key: asked[key] for key in ("echoes",) if key in asked}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A stand-in for the jobs of the laboratory: `python jobs.py NAME`. What it does is in its body."""

import json
import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    if asked.get("started"):
        Path(asked["started"]).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(asked.get("sleeps", 0))
    if asked.get("fails"):
        sys.exit("the design has no runs")
    sys.stdout.write(json.dumps({"job": sys.argv[1]} | {key: asked[key] for key in ("echoes",) if key in asked}))

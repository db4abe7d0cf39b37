"""Run two scanners of Inspect Scout over a folder of logs and print their results. Tests run it as a program."""

import json
import sys
from pathlib import Path

from inspect_scout import Result, Scanner, Transcript, scan, scan_results_df, scanner, transcripts_from


@scanner(messages="all")
def said() -> Scanner[Transcript]:
    """The number of messages of agents."""

    async def run(transcript: Transcript) -> Result:
        return Result(value=sum(one.role == "assistant" for one in transcript.messages))

    return run


@scanner(events=["model", "tool"])
def called() -> Scanner[Transcript]:
    """The number of calls of models and tools."""

    async def run(transcript: Transcript) -> Result:
        return Result(value=len(transcript.events))

    return run


logs = sys.argv[1]
status = scan([said(), called()], transcripts=transcripts_from(logs), scans=str(Path(logs).parent / "scans"),
              display="none", max_processes=1)  # fmt: skip
assert status.complete, status.errors
frames = scan_results_df(status.location).scanners
print(
    json.dumps({name: dict(zip(f["transcript_id"], map(int, f["value"]), strict=True)) for name, f in frames.items()})
)

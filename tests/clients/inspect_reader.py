"""Print as JSON what Inspect reads from a folder of logs. Tests run it with Inspect's interpreter."""

import json
import sys

from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log


def sample(found: EvalSample) -> dict[str, object]:
    return {
        "id": found.id,
        "messages": [[one.role, one.text, one.metadata] for one in found.messages],
        "models": [
            {
                "agent": event.metadata["agent"], "role": event.role, "model": event.model, "error": event.error,
                "input": [one.text for one in event.input],
                "reply": event.output.completion, "usage": event.output.usage and event.output.usage.model_dump(),
            }
            for event in found.events
            if event.event == "model"
        ],
        "tools": [
            {
                "agent": event.metadata["agent"], "id": event.id, "function": event.function,
                "arguments": event.arguments, "result": event.result,
            }
            for event in found.events
            if event.event == "tool"
        ],
        "asked": [
            call.id
            for event in found.events
            if event.event == "model"
            for call in event.output.message.tool_calls or ()
        ],
        "times": [event.timestamp.isoformat() for event in found.events],
        "scores": {name: score.value for name, score in (found.scores or {}).items()},
    }  # fmt: skip


def log(found: EvalLog) -> dict[str, object]:
    return {
        "file": found.location.rpartition("/")[2], "eval_id": found.eval.eval_id, "task": found.eval.task,
        "status": found.status, "model": found.eval.model, "samples": [sample(one) for one in found.samples or ()],
        "usage": {name: usage.total_tokens for name, usage in found.stats.model_usage.items()},
        "results": {one.name: {name: m.value for name, m in one.metrics.items()} for one in found.results.scores},
    }  # fmt: skip


listed = list_eval_logs(sys.argv[1])
print(json.dumps([log(read_eval_log(one, resolve_attachments=True)) | {"listed": one.task_id} for one in listed]))

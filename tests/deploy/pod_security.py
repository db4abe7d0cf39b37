"""The complete restricted Pod Security Standard of Kubernetes, as rules for one pod template.

Each rule is a control of the standard under its name there. The controls for Windows are included, because admission
refuses those pods, too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.deploy.manifests import Json

Rule = Callable[[Json], bool]

_SELINUX: Final = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}  # fmt: skip
_VOLUMES: Final = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip
_KINDS: Final = ("containers", "initContainers", "ephemeralContainers")
_HOOKS: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def all_containers(pod: Json) -> list[Json]:
    return [one for kind in _KINDS for one in pod["spec"].get(kind, [])]


def _contexts(pod: Json) -> Iterator[Json]:
    """The security contexts of the pod and of each container, as written."""
    yield pod["spec"].get("securityContext", {})
    yield from (one.get("securityContext", {}) for one in all_containers(pod))


def _in_force(pod: Json, name: str) -> Iterator[object]:
    """The value that applies to each container: its own, or else the pod's."""
    whole = pod["spec"].get("securityContext", {}).get(name)
    yield from (one.get("securityContext", {}).get(name, whole) for one in all_containers(pod))


def _hosts(pod: Json) -> Iterator[str]:
    """The hosts that probes and hooks of containers call."""
    for one in all_containers(pod):
        handlers = [one.get(name, {}) for name in _HOOKS] + [*one.get("lifecycle", {}).values()]
        yield from (way.get("host", "") for handler in handlers for way in handler.values() if isinstance(way, dict))


def _apparmor(pod: Json) -> bool:
    notes = pod["metadata"].get("annotations", {})
    profiles = [
        value for name, value in notes.items() if name.startswith("container.apparmor.security.beta.kubernetes.io")
    ]
    kinds = {context.get("appArmorProfile", {}).get("type", "RuntimeDefault") for context in _contexts(pod)}
    return kinds <= {"RuntimeDefault", "Localhost"} and all(
        value == "runtime/default" or value.startswith("localhost/") for value in profiles
    )


def _selinux(pod: Json) -> bool:
    options = [context.get("seLinuxOptions", {}) for context in _contexts(pod)]
    return all(one.get("type", "") in _SELINUX and not {"user", "role"} & one.keys() for one in options)


def _capabilities(pod: Json) -> bool:
    capabilities = [one.get("securityContext", {}).get("capabilities", {}) for one in all_containers(pod)]
    return all("ALL" in one.get("drop", []) and set(one.get("add", [])) <= {"NET_BIND_SERVICE"} for one in capabilities)


def _volumes(pod: Json) -> bool:
    return {kind for one in pod["spec"].get("volumes", []) for kind in one if kind != "name"} <= _VOLUMES


RESTRICTED: Final[Mapping[str, Rule]] = {
    "HostProcess": lambda pod: (
        not any(context.get("windowsOptions", {}).get("hostProcess", False) for context in _contexts(pod))
    ),
    "Host Namespaces": lambda pod: (
        not any(pod["spec"].get(name, False) for name in ("hostNetwork", "hostPID", "hostIPC"))
    ),
    "Privileged Containers": lambda pod: not any(context.get("privileged", False) for context in _contexts(pod)),
    "Host Ports": lambda pod: (
        not any(port.get("hostPort", 0) for one in all_containers(pod) for port in one.get("ports", []))
    ),
    "Host Probes / Lifecycle Hooks": lambda pod: not any(_hosts(pod)),
    "AppArmor": _apparmor,
    "SELinux": _selinux,
    "/proc Mount Type": lambda pod: {context.get("procMount", "Default") for context in _contexts(pod)} == {"Default"},
    "Sysctls": lambda pod: (
        {one["name"] for one in pod["spec"].get("securityContext", {}).get("sysctls", [])} <= _SYSCTLS
    ),
    "Volume Types": _volumes,
    "Privilege Escalation": lambda pod: all(
        one.get("securityContext", {}).get("allowPrivilegeEscalation") is False for one in all_containers(pod)
    ),
    "Running as Non-root": lambda pod: all(value is True for value in _in_force(pod, "runAsNonRoot")),
    "Running as Non-root user": lambda pod: all(context.get("runAsUser", 1) != 0 for context in _contexts(pod)),
    "Seccomp": lambda pod: all(
        isinstance(profile, dict) and profile.get("type") in {"RuntimeDefault", "Localhost"}
        for profile in _in_force(pod, "seccompProfile")
    ),
    "Capabilities": _capabilities,
}


def refused(pod: Json) -> set[str]:
    """The controls for which admission would refuse a pod."""
    return {name for name, holds in RESTRICTED.items() if not holds(pod)}

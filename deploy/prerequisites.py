"""Prints in one line why `make setup` cannot work on this machine, before anything is downloaded.

Any installed `python3` may run it, so it uses only syntax that older versions of Python know.
"""

import importlib.util
import os
import platform
import sys
import sysconfig

OLDEST, NEWEST = (3, 11), (3, 14)
"""Every locked package has wheels for these versions and all between them; tests/deploy/test_wheels.py checks it."""
GLIBC = (2, 28)
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
CHOOSE = "name another one: make setup PYTHON=python3.13"


def trouble() -> str:
    """What is missing and how to get it; "" if nothing is missing."""
    return _version() or _build() or _machine() or _venv()


def _version() -> str:
    here = "Python {}.{}".format(*sys.version_info)
    if sys.version_info[:2] < OLDEST:
        return f"{here} is too old, 3.11 or newer is needed; install one and {CHOOSE}"
    if sys.version_info[:2] > NEWEST:
        return f"{here} is too new: not every package has wheels for it yet; install 3.11 to 3.14 and {CHOOSE}"
    return ""


def _build() -> str:
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python is not the usual CPython, for which alone there are wheels; install CPython and " + CHOOSE
    return ""


def _machine() -> str:
    if (sys.platform, platform.machine()) not in PLATFORMS:
        here = f"{sys.platform} on {platform.machine()}"
        return (
            f"no wheels exist for {here}; it runs on Linux x86_64 and aarch64, macOS on Apple silicon, "
            "and Windows through WSL 2"
        )
    if sys.platform == "linux" and _glibc() < GLIBC:
        return "no wheels exist for musl or a glibc before 2.28; use a Debian, Ubuntu or Fedora, or their image"
    return ""


def _glibc() -> tuple:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        return (0, 0)
    return tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" else (0, 0)


def _venv() -> str:
    in_one_already = sys.prefix != sys.base_prefix
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if in_one_already or not missing:
        return ""
    package = "python{}.{}-venv".format(*sys.version_info)
    return "this Python has no {}; on Debian and Ubuntu: apt install {}".format(" and no ".join(missing), package)


if __name__ == "__main__":
    found = trouble()
    if found:
        sys.exit("setup: " + found)

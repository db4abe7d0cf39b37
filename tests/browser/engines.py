"""Firefox and WebKit beside Chromium: open a page, run a script in it, and read the whole console.

Each is driven by a protocol that gives its whole console, including requests that the content policy blocked: Firefox
by Marionette, WebKit by WebDriver and standard output. Both are Debian packages: `apt-get install firefox-esr
webkit2gtk-driver xvfb`. A machine without them tests only Chromium.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
from playmolt_cli.local.embedded import free_port
from playwright.sync_api import Browser, ConsoleMessage, Error

START_SECONDS: Final = 90
ANSWER_SECONDS: Final = 120
CONSOLE_SECONDS: Final = 300
"""Time limit to read the console of all pages in a second browser."""
_MINIBROWSER: Final = sorted(Path("/usr/lib").glob("*-linux-gnu/webkit2gtk-4*/MiniBrowser"))
_CONSOLE: Final = """
const thrown = Services.console.getMessageArray().map((one) => {
  try { one.QueryInterface(Ci.nsIScriptError); return [one.sourceName, one.errorMessage]; } catch { return null; }
}).filter(Boolean);
const said = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).getEvents()
  .filter((one) => ["error", "warn"].includes(one.level)).map((one) => [one.filename, String(one.arguments[0])]);
return [...thrown, ...said].filter(([source]) => source.startsWith("http")).map(([, text]) => text);"""
"""Reads only messages of pages; messages of the browser's own scripts have other sources."""
_STORES: Final = "Services.prefs.setBoolPref('dom.storage.enabled', {});"
_FORGET: Final = """
const done = arguments[arguments.length - 1];
Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, () => {
  Services.console.reset();
  Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).clearEvents();
  done();
});"""
_UNUSED_SECONDS: Final = 5
"""After this time every engine has warned about files that were preloaded and not used."""


def until(condition: Callable[[], Any], what: str, seconds: float = ANSWER_SECONDS) -> None:
    """Wait for a condition, without an event loop, because tests drive these browsers synchronously.

    Each check takes an engine milliseconds of CPU time, so the pauses grow with the wait.
    """
    end, pause = time.monotonic() + seconds, 0.05
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


class _PageLeft(Exception):
    """The page was left before it answered."""


def _of_one_page(question: Callable[[], Any]) -> Any:
    """The answer of the last page: if a page is left before it answers, the next page is asked."""
    answers: list[Any] = []

    def is_answered() -> bool:
        with suppress(_PageLeft):
            answers.append(question())
        return bool(answers)

    until(is_answered, "a page that stays")
    return answers[0]


class Engine(Protocol):
    """A browser."""

    def visit(self, url: str) -> None:
        """Open a page in a new tab; return when its files are loaded."""

    def ask(self, script: str) -> Any:
        """The value that a function body returns in the newest page."""

    def complaints(self) -> list[str]:
        """Errors, warnings and blocked requests in the consoles of all pages, once none was added for some seconds."""

    def resize(self, width: int, height: int) -> None:
        """Give the window of the newest page this size, or the smallest that the engine allows."""

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other: characters, or the names in `KEYS`."""

    def touch(self, x: float, y: float) -> None:
        """Touch a point of the viewport."""

    def forget(self) -> None:
        """Close all pages, and drop their storage and their console."""


KEYS: Final[Mapping[str, str]] = {"Tab": "\ue004", "Enter": "\ue007", "ArrowDown": "\ue015", "Space": " "}
"""Name → code of WebDriver."""


def _pressed(keys: Sequence[str]) -> list[dict[str, Any]]:
    """WebDriver's actions of a keyboard."""
    codes = [KEYS.get(key, key) for key in keys]
    steps = [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
    return [{"type": "key", "id": "keyboard", "actions": steps}]


def _touched(x: float, y: float) -> list[dict[str, Any]]:
    """WebDriver's actions of a finger."""
    steps = [
        {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerUp", "button": 0},
    ]
    return [{"type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"}, "actions": steps}]


def tap(engine: Engine, selector: str) -> None:
    """Touch the element that a selector names; touch it again if the page moved it meanwhile."""
    shown(engine, selector)
    for _ in range(MOST_TAPS):
        x, y = engine.ask(
            f"const found = document.querySelector({json.dumps(selector)}); window.tapped = false;"
            "found.addEventListener('click', () => { window.tapped = true; }, { once: true });"
            "found.scrollIntoView({ block: 'center' });"
            "const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];"
        )
        engine.touch(x, y)
        with suppress(AssertionError):
            # A page that was opened meanwhile was opened by the touch.
            until(lambda: engine.ask("return window.tapped ?? true"), "a click", MISSED_SECONDS)
            return
    raise AssertionError(f"{selector}: no touch reached it")


def tab_to(engine: Engine, selector: str) -> None:
    """Press Tab until the element that a selector names has the focus."""
    shown(engine, selector)
    for _ in range(MOST_TABS):
        if engine.ask(f"return document.activeElement?.matches({json.dumps(selector)}) ?? false"):
            return
        engine.press("Tab")
    raise AssertionError(f"{selector}: not reached by Tab")


MOST_TABS: Final = 80
MOST_TAPS: Final = 5
MISSED_SECONDS: Final = 5


def shown(engine: Engine, selector: str) -> None:
    """Wait until the page shows the element that a selector names."""
    until(lambda: engine.ask(f"return Boolean(document.querySelector({json.dumps(selector)}))"), selector)


class Chromium:
    """A context in the browser of the other tests."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._begin()

    def _begin(self) -> None:
        self._heard: list[str] = []
        self._context = self._browser.new_context(has_touch=True, reduced_motion="reduce")
        self._context.set_default_timeout(1000 * ANSWER_SECONDS)

    def _hear(self, message: ConsoleMessage) -> None:
        # A page about something that does not exist has status 404 itself.
        own = message.location["url"] == self.page.url and "404" in message.text
        if message.type in ("error", "warning") and not own:
            self._heard.append(message.text)

    def visit(self, url: str) -> None:
        self.page = self._context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self._heard.append(str(error)))
        self.page.goto(url)

    def ask(self, script: str) -> Any:
        while True:
            try:
                return self.page.evaluate(f"() => {{ {script} }}")
            except Error as error:
                if "context was destroyed" not in error.message:
                    raise
                # The page is being left; the question is repeated on the next one.
                self.page.wait_for_load_state()

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def touch(self, x: float, y: float) -> None:
        self.page.touchscreen.tap(x, y)

    def complaints(self) -> list[str]:
        self.page.wait_for_timeout(_UNUSED_SECONDS * 1000)
        return self._heard

    def forget(self) -> None:
        self._context.close()
        self._begin()

    def close(self) -> None:
        self._context.close()


class Firefox:
    """Marionette: messages are `length:[kind, id, …]` over TCP."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
        self._read = self._socket.makefile("rb")
        self._sent = 0
        self._receive()
        self._send("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})

    def _receive(self) -> Any:
        length = b""
        while (digit := self._read.read(1)) != b":":
            length += digit
        return json.loads(self._read.read(int(length)))

    def _send(self, command: str, parameters: Mapping[str, Any]) -> Any:
        self._sent += 1
        body = json.dumps([0, self._sent, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(body), body))
        _, _, error, value = self._receive()
        if error is not None and any(words in error["message"] for words in ("was unloaded", "destroyed before query")):
            raise _PageLeft(error["message"])
        assert error is None, error
        return value

    def _run(self, context: str, script: str) -> Any:
        self._send("Marionette:SetContext", {"value": context})
        return self._send("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def visit(self, url: str) -> None:
        self._send("Marionette:SetContext", {"value": "content"})
        tab = self._send("WebDriver:NewWindow", {"type": "tab", "focus": True})
        self._send("WebDriver:SwitchToWindow", {"handle": tab["handle"]})
        self._send("WebDriver:Navigate", {"url": url})

    def ask(self, script: str) -> Any:
        return _of_one_page(lambda: self._run("content", script))

    def resize(self, width: int, height: int) -> None:
        self._send("Marionette:SetContext", {"value": "content"})
        self._send("WebDriver:SetWindowRect", {"width": width, "height": height})

    def _perform(self, actions: list[dict[str, Any]]) -> None:
        self._send("Marionette:SetContext", {"value": "content"})
        with suppress(_PageLeft):  # it leaves because of them
            self._send("WebDriver:PerformActions", {"actions": actions})

    def press(self, *keys: str) -> None:
        self._perform(_pressed(keys))

    def touch(self, x: float, y: float) -> None:
        self._perform(_touched(x, y))

    def complaints(self) -> list[str]:
        time.sleep(_UNUSED_SECONDS)
        return list(self._run("chrome", _CONSOLE))

    @contextmanager
    def storing_nothing(self) -> Iterator[None]:
        """Deny storage to pages within the context."""
        self._run("chrome", _STORES.format("false"))
        try:
            yield
        finally:
            self._run("chrome", _STORES.format("true"))

    def forget(self) -> None:
        self._send("Marionette:SetContext", {"value": "content"})
        left = self._send("WebDriver:GetWindowHandles", {})
        last = self._send("WebDriver:NewWindow", {"type": "tab", "focus": True})["handle"]
        for handle in left:
            self._send("WebDriver:SwitchToWindow", {"handle": handle})
            self._send("WebDriver:CloseWindow", {})
        self._send("WebDriver:SwitchToWindow", {"handle": last})
        self._send("Marionette:SetContext", {"value": "chrome"})
        self._send("WebDriver:ExecuteAsyncScript", {"script": _FORGET, "args": []})

    def close(self) -> None:
        self._read.close()
        self._socket.close()


class WebKit:
    """WebDriver. Pages under WebDriver write no console, so a second browser without it opens the same pages."""

    def __init__(self, port: int, folder: Path, screen: Mapping[str, str]) -> None:
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_SECONDS)
        self._folder = folder
        self._screen = screen
        self._visited: list[str] = []
        options = {"binary": str(_MINIBROWSER[-1]), "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        self._session = ""
        self._session = f"/session/{self._send('/session', wanted)['sessionId']}"

    def _send(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self._client.post(self._session + path, json=body)
        if "before the unload event" in answer.text:
            raise _PageLeft(answer.text)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def visit(self, url: str) -> None:
        self._visited.append(url)
        self._send("/url", {"url": url})

    def ask(self, script: str) -> Any:
        return _of_one_page(lambda: self._send("/execute/sync", {"script": script, "args": []}))

    def resize(self, width: int, height: int) -> None:
        self._send("/window/rect", {"width": width, "height": height})

    def _perform(self, actions: list[dict[str, Any]]) -> None:
        with suppress(_PageLeft):  # it leaves because of them
            self._send("/actions", {"actions": actions})

    def press(self, *keys: str) -> None:
        self._perform(_pressed(keys))

    def touch(self, x: float, y: float) -> None:
        self._perform(_touched(x, y))

    def complaints(self) -> list[str]:
        console = self._folder / "console"
        command = ["stdbuf", "-oL", str(_MINIBROWSER[-1]), "--enable-write-console-messages-to-stdout=1"]
        with _process([*command, *self._visited, _LAST_PAGE], console, **self._screen):
            until(lambda: _LAST_WORD in console.read_text("utf-8", "replace"), "WebKit's console", CONSOLE_SECONDS)
            time.sleep(2 * _UNUSED_SECONDS)
        lines = console.read_text("utf-8", "replace").splitlines()
        heard = [line for line in lines if line.startswith("CONSOLE") and (" ERROR" in line or " WARN" in line)]
        return [line for line in heard if _LAST_WORD not in line]

    def forget(self) -> None:
        for page in self._visited[:1]:  # the storage of the first page can be reached; a picture's cannot
            self._send("/url", {"url": page})
            self.ask("localStorage.clear(); sessionStorage.clear();")
        self._send("/url", {"url": "about:blank"})
        self._visited.clear()
        (self._folder / "console").unlink(missing_ok=True)

    def close(self) -> None:
        self._client.delete(self._session)
        self._client.close()


_LAST_WORD: Final = "the last page has come"
_LAST_PAGE: Final = f"data:text/html,<script>console.error('{_LAST_WORD}')</script>"


@contextmanager
def _process(command: list[str], log: Path, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **environment})
        try:
            yield process
        finally:
            process.terminate()
            process.wait(START_SECONDS)


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A Firefox with a new profile."""
    with tempfile.TemporaryDirectory(prefix="playmolt-firefox-", ignore_cleanup_errors=True) as name:
        profile = Path(name)
        set_ones = {"marionette.port": 0, "app.update.enabled": False}
        lines = (f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in set_ones.items())
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        command = ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote"]
        with _process([*command, "-profile", name], profile / "log", HOME=name):
            port = profile / "MarionetteActivePort"
            until(lambda: port.exists() and bool(port.read_text()), "Firefox", START_SECONDS)
            browser = Firefox(int(port.read_text()))
            try:
                yield browser
            finally:
                browser.close()


@contextmanager
def webkit() -> Iterator[WebKit]:
    """A WebKit on a new virtual screen."""
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="playmolt-webkit-", ignore_cleanup_errors=True))
        folder = Path(name)
        display = folder / "display"
        stack.enter_context(_process(["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24"], display))
        until(lambda: _number(display), "a screen", START_SECONDS)
        port = free_port()
        screen = {"DISPLAY": f":{_number(display)}", "HOME": name, "GDK_BACKEND": "x11"}
        stack.enter_context(_process(["WebKitWebDriver", f"--port={port}"], folder / "log", **screen))
        until(lambda: _listens(port), "WebKit", START_SECONDS)
        browser = WebKit(port, folder, screen)
        stack.callback(browser.close)
        yield browser


def _number(display: Path) -> str:
    """The number of the virtual screen, once it exists. Before it, Xvfb prints the numbers that other processes use."""
    found = re.search(r"^(\d+)\n\Z", display.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


OTHERS: Final[Mapping[str, tuple[bool, Callable[[], Any]]]] = {
    "firefox": (shutil.which("firefox-esr") is not None, firefox),
    "webkit": (bool(_MINIBROWSER) and bool(shutil.which("WebKitWebDriver")) and bool(shutil.which("Xvfb")), webkit),
}
"""Optional engines: name → whether the machine has it, and a function that starts it."""

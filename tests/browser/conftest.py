"""A platform, a browser, and a reader of its pages. Errors in the console of a page fail the test that opened it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import httpx
import pytest
from playmolt_cli.jury.chain import node_of
from playmolt_cli.local.folder import Run
from playmolt_schemas.skill import page_texts
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.chromium import chromium
from tests.browser.players import SECONDS, Bots
from tests.platforms import Stack

OPERATOR_KEY = "the-operator-of-the-pages"
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
WAIT_MS = 90_000

CALM: Literal["reduce"] = "reduce"
"""The motion setting of the browser. Without it, a `Live` tag redraws the whole page sixty times a second."""
PLAIN_HOST = "arena.example"
"""A name of this machine that browsers do not trust, so that its pages over HTTP are insecure contexts."""
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")

Reader = Callable[..., Page]


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """A running platform."""
    folder = Path(tempfile.mkdtemp(prefix="playmolt-browser-"))
    folder.chmod(0o755)  # Postgres runs as another user
    own = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_OPERATOR_KEY": OPERATOR_KEY, "PLAYMOLT_PEOPLE": "true"}
    with Stack(folder / "data", (), own) as stack:
        yield stack.run
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def platform(run: Run) -> str:
    """The URL of its gateway."""
    return run.gateway


@pytest.fixture(scope="session")
def chain(run: Run) -> str:
    """The URL of the chain node on which its juries vote."""
    return node_of(run)


class Ended(NamedTuple):
    """Ids of finished games."""

    trial: str
    ox: str


@pytest.fixture(scope="session")
def bots(platform: str) -> Iterator[Bots]:
    players = Bots(platform)
    yield players
    players.close()


@pytest.fixture(scope="session")
def ended(bots: Bots) -> Ended:
    trial, ox = bots.seat("trial", 6), bots.seat("ox", 5)
    return Ended(trial.result(SECONDS), ox.result(SECONDS))


def archive_of(platform: str, game: str, **query: str) -> str:
    """The path of the archive's list of one agent's games, because games of other tests could fill the first page.

    A house bot plays only one game.
    """
    state = httpx.get(f"{platform}/api/games/{game}/state", timeout=SECONDS).json()
    return f"/games?{urlencode({**query, 'agent': state['participants'][0]['id']})}"


def answer(page: Page, *, yes: bool) -> str:
    """Answer the dialog that a page shows, and return its text."""
    asking = page.get_by_role("alertdialog")
    question = asking.locator("p").inner_text()
    asking.locator("button:not(.first)" if yes else "button.first").click()
    return question


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser. While it runs, asynchronous tests cannot, because the event loop of its library counts as running."""
    program = chromium()
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=str(program.path),
            args=[*_ARGUMENTS, f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1"],
            env={**os.environ, **program.environment},
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this folder."""
    with launched() as started:
        yield started


MISSED = """
const read = Response.prototype.json;
Response.prototype.json = async function () {
  const found = await read.call(this);
  if (!/\\/assets\\/.*\\.(en|ko|zh)\\.json$/.test(this.url)) return found;
  return new Proxy(found, { get(texts, key) {
    if (typeof key === "string" && !(key in texts)) missedText(key);
    return texts[key];
  } });
};
"""
"""Reports each key that a page requests and its texts lack."""


@pytest.fixture
def reader(browser: Browser, platform: str) -> Iterator[Reader]:
    """Opens a page in a language on a screen: `reader("/", language="ko", screen=PHONE)`.

    With `moving`, animations run.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []
    missed: set[str] = set()

    def heard(message: ConsoleMessage) -> None:
        # Refusals that a test provokes appear here, too; all other messages are faults of the page.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def missing(key: str) -> None:
        missed.add(key)

    def opened(
        path: str,
        *,
        language: str = "en",
        screen: dict[str, int] | None = None,
        scheme: str = "light",
        moving: bool = False,
    ) -> Page:
        context = browser.new_context(
            base_url=platform, viewport=screen or DESK, locale=language, color_scheme=scheme, accept_downloads=True,
            reduced_motion="no-preference" if moving else CALM,
        )  # fmt: skip
        contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        context.expose_function("missedText", missing)
        context.add_init_script(MISSED)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        page.wait_for_selector("h1")
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")  # otherwise a request that is answered now fails in the next test
        context.close()
    assert complaints == []
    # A page loads only the texts of its modules. Some ask for texts that no page has, to see whether they exist.
    assert missed & page_texts("en").keys() == set()

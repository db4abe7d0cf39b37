"""The order in which tests run, and the pieces into which they are divided: one worker runs all tests of a piece."""

from collections import Counter
from collections.abc import Iterator

import pytest

TOGETHER = {
    "lab/tests/bundle": (),
    "services/trial-engine/tests/chain": (),
    "tests/browser": (),
    "tests/clients": ("test_parquet_readers.py", "test_ratings.py", "test_ro_crate.py", "test_trace_receivers.py"),
    "tests/deploy": (
        "test_arrows.py", "test_connections.py", "test_hardening.py", "test_image.py", "test_listing.py",
        "test_references.py",
        "test_release.py", "test_restore.py", "test_rollout.py", "test_settings.py", "test_tls.py", "test_wheels.py",
    ),
    "tests/integration/gateway/audit": (),
    "tests/integration/gateway": (),
    "tests/integration/jury": ("test_anvil.py", "test_kills.py", "test_panels.py"),
    "tests/integration/legal": ("test_day_budgets.py", "test_erased_texts.py", "test_erasing.py", "test_sealing.py"),
    "tests/integration/platform": (
        "test_bench.py", "test_json_commands.py", "test_packs.py", "test_restart.py", "test_soak.py",
        "test_tracing.py", "test_upgrade.py",
    ),
}  # fmt: skip
"""Folders whose files share a platform or a bundle → the files that do not use it. The files that share it are one
piece, because two workers would start the platform twice. Every other file is a separate piece."""
PARTS = {
    "tests/browser": (
        ("test_jury.py", "test_legal.py", "test_manners.py", "test_readers.py", "test_watch.py"),
        ("test_me.py", "test_moderation.py", "test_play.py"),
    ),
    "tests/clients": (("test_inspect.py", "test_dataset.py"),),
}  # fmt: skip
"""Folder → groups of its files. Each group is a piece with its own platform, named by its first file, because a single
piece would take longer than all other tests. The remaining files of the folder are one more piece."""
EACH = ("cli/tests/test_demo.py", "tests/integration/log/test_failover.py")
"""Files whose tests each start a platform: each test is a piece."""
PROCESSES = (
    "cli/tests/bots/test_check.py", "cli/tests/jury/test_verdict.py", "cli/tests/local/test_embedded.py",
    "cli/tests/local/test_folder.py", "cli/tests/local/test_nats_users.py",
    "cli/tests/local/test_supervisor.py", "cli/tests/log/test_commands.py", "cli/tests/log/test_page_verifier.py",
    "cli/tests/match/test_models_play.py", "cli/tests/terminal/test_pipes.py", "cli/tests/test_demo.py",
    "cli/tests/test_overlay.py", "core/tests/llm/test_models.py", "core/tests/log/test_chain.py",
    "core/tests/ops/test_forks.py", "core/tests/ops/test_telemetry.py", "schemas/tests/test_process_limits.py",
    "schemas/tests/test_registry.py", "sdk/tests/test_conformance.py",
    "sdk/tests/test_credentials.py", "lab/tests/bundle/test_seal.py",
    "lab/tests/bundle/test_alone.py", "lab/tests/own_measures/test_own_measures.py", "lab/tests/service/",
    "services/agora-runner/tests/workers/test_laboratory.py",
    "services/agora-runner/tests/workers/test_plan_examiner.py", "services/gateway/tests/test_uploads.py",
    "services/gateway/tests/uploads/test_bounds.py",
    "services/gateway/tests/signin/", "services/trial-engine/tests/chain/",
)  # fmt: skip
"""Files and folders of unit tests that start processes."""
SLOW = (
    "cli/tests/agora/test_plan.py", "cli/tests/match/test_match.py", "cli/tests/scores/test_fit.py",
    "core/tests/effects/test_memory_leases.py",
    "core/tests/llm/test_learnt_concurrency.py", "core/tests/llm/test_memory_limits.py", "schemas/tests/test_export.py",
    "sdk/tests/test_client.py", "sdk/tests/test_loop.py", "sdk/tests/test_stream.py",
    "lab/tests/bundle/test_interviews.py", "lab/tests/bundle/test_studies.py", "lab/tests/bundle/test_verify.py",
    "cli/tests/agora/test_prompt_symmetry.py", "services/agora-runner/tests/coding/test_judging.py",
    "services/agora-runner/tests/experiment/test_experiment.py",
    "lab/tests/measures/inference/test_families.py",
    "lab/tests/measures/inference/test_hypotheses.py",
    "services/agora-runner/tests/plan/test_plan.py", "lab/tests/planning/test_power.py",
    "lab/tests/simulation/", "services/agora-runner/tests/world/test_stage1_numbers.py",
    "services/gateway/tests/http/test_clients.py", "services/gateway/tests/http/test_door.py",
    "services/gateway/tests/http/test_fast_http.py", "services/gateway/tests/test_mcp.py",
    "services/gateway/tests/test_open_waits.py", "services/legal-orchestrator/tests/test_guardrails.py",
    "services/legal-orchestrator/tests/test_model_worker.py", "services/legal-orchestrator/tests/test_prompts.py",
    "services/legal-orchestrator/tests/test_redecision.py", "services/legal-orchestrator/tests/test_report.py",
    "services/legal-orchestrator/tests/test_report_characters.py",
    "services/legal-orchestrator/tests/test_report_pages.py", "services/spectator/tests/test_slow.py",
    "services/tournament-engine/tests/test_machine.py", "services/tournament-engine/tests/test_pairing.py",
    "services/tournament-engine/tests/test_redecision.py",
    "services/trial-engine/tests/jury/test_check.py", "services/trial-engine/tests/jury/test_repetition.py",
    "services/trial-engine/tests/jury/test_rules_machine.py",
)  # fmt: skip
"""Files and folders of unit tests that compute for more than 2.5 s or wait for more than 4 s."""
LONGEST = (
    "tests/integration/platform", "tests/integration/gateway", "tests/clients", "tests/browser",
    "tests/browser/test_me.py", "tests/browser/test_jury.py", "tests/clients/test_inspect.py",
    "tests/clients/test_ro_crate.py", "tests/clients/test_trace_receivers.py", "tests/clients/test_ratings.py",
    "tests/integration/platform/test_bench.py",
    "cli/tests/test_demo.py", "tests/integration/jury", "tests/integration/legal",
    "tests/integration/agora", "tests/integration",
    "tests/sixth_game", "tests/deploy", "tests/deploy/", "services/trial-engine/tests/chain", "lab/tests/bundle",
)  # fmt: skip
"""Pieces that wait for processes, the longest first. They run before all others, so that the pieces left at the end are
short and need only the CPU; otherwise workers would be idle."""


def piece(nodeid: str) -> str:
    """The piece of a test."""
    file = nodeid.partition("::")[0]
    if file in EACH:
        return nodeid
    folder = next((folder for folder in TOGETHER if file.startswith(f"{folder}/")), None)
    if folder is None or file.removeprefix(f"{folder}/") in TOGETHER[folder]:
        return file
    parts = PARTS.get(folder, ())
    return next((f"{folder}/{part[0]}" for part in parts if file.removeprefix(f"{folder}/") in part), folder)


def is_fast(file: str) -> bool:
    """Whether `make test-fast` runs a file: unit tests that start no process and are not slow."""
    return not file.startswith(("tests/", *PROCESSES, *SLOW))


def _rank(name: str) -> int:
    """The rank of a piece: its place in LONGEST, or the place of its folder or file there.

    The separate files of a folder come after the folder's piece. Of the pieces that are not in LONGEST, those that
    `make test-fast` leaves out come first.
    """
    if name in TOGETHER and name in LONGEST:
        return LONGEST.index(name)
    ranks = [rank for rank, prefix in enumerate(LONGEST) if prefix not in TOGETHER and name.startswith(prefix)]
    return min(ranks, default=len(LONGEST) + is_fast(name))


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Order the tests: long pieces first, then pieces with more tests. Within a piece, the order stays the same."""
    pieces = [piece(item.nodeid) for item in items]
    sizes, first = Counter(pieces), {name: place for place, name in reversed([*enumerate(pieces)])}
    places = sorted(range(len(items)), key=lambda at: (_rank(pieces[at]), -sizes[pieces[at]], first[pieces[at]]))
    return [items[at] for at in places]


class Shared:
    """Ends the session and package fixtures of a piece after its last test.

    An idle platform uses a twentieth of a core, and memory, while its worker runs other tests.
    """

    def __init__(self) -> None:
        self._begun: list[tuple[pytest.FixtureDef[object], pytest.FixtureRequest]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        if fixturedef.scope in ("session", "package") and piece(f"{fixturedef.baseid}/") in TOGETHER:
            self._begun.append((fixturedef, request))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        try:
            return (yield)
        finally:
            if nextitem is None or piece(nextitem.nodeid) != piece(item.nodeid):
                while self._begun:
                    fixture, request = self._begun.pop()
                    fixture.finish(request)  # type: ignore[arg-type] -- it is the one that the hook was given

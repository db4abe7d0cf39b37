"""Whether the two languages and the conditions say the same (agora.md, Symmetry): what `agora check` prints.

Every text and every rendered prompt of Korean is laid beside its English one, and within a language each condition
beside the others. Only declared slots may differ; a difference in tone has to be declared (`symmetry.toml`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product, zip_longest
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_agora_runner.folder.outline import outline
from playmolt_agora_runner.folder.symmetry import NO_DIFFERENCE, DeclaredDifference, SymmetryResult
from playmolt_agora_runner.plan.plan_texts import PackagedDifference, PlanText, knowledge, notions
from playmolt_agora_runner.turn import prompts, texts
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.turn.texts import Library
from playmolt_agora_runner.world import worlds
from playmolt_agora_runner.world.state import Observation
from playmolt_schemas.stored.agora.turn import Language, PhaseName

_PLACES: Final[Mapping[PhaseName, tuple[str, ...]]] = {
    "stage1": ("plaza", "market", "alley_a", "alley_b", "alley_c"),
    "phase1": ("plaza", "market", "alley_a", "alley_b", "alley_c"),
    "phase2": ("plaza", "market", "alley"),
}
_SECTION: Final = re.compile(r"^(?=\[|### |---$)", re.MULTILINE)
_PLAIN: Final = {"texts": dict.fromkeys(("status", "reminder", "tips", "macro"), False), "trade_stars": False}
"""Stage 1 without what speaks of survival."""
_ENERGIES: Final = (15, 25, 40, 75, 160)
"""One in each band of the status lines."""
_IDENTITY: Final = 3
"""Which part of a user message says who one is: the context before it has two marks."""
_HINT: Final = "make them alike or declare the difference in symmetry.toml"


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What the check found.

    `version` names the texts; `prompts` were rendered and `pairs` of texts compared, among them a plan's
    `seed_events` and `questions` and those of its folder, which declares differences of its own.
    """

    version: str
    prompts: int
    pairs: int
    seed_events: int = 0
    questions: int = 0
    exceptions: tuple[PackagedDifference, ...]
    declared: tuple[DeclaredDifference, ...] = ()
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing differs that was not declared."""
        return not self.faults

    def lines(self) -> tuple[str, ...]:
        head = f"texts {self.version}: {self.prompts} prompts rendered, {self.pairs} pairs compared"
        head += f", {self.seed_events} of them seed events of the plan" if self.seed_events else ""
        head += f", {self.questions} of them texts of questions asked aside" if self.questions else ""
        declared = (
            f'declared {each.code}, {each.text}: "{each.ko}" / "{each.en}". {each.reason}' for each in self.exceptions
        )
        own = (f'declared {each.text}: "{each.ko}" / "{each.en}". {each.reason}' for each in self.declared)
        end = "symmetric" if self.ok else f"{len(self.faults)} undeclared differences"
        return (head, *declared, *own, *(f"difference in {fault}" for fault in self.faults), end)


def check(
    library: Library | None = None,
    seed_texts: Sequence[PlanText] = (),
    questions: Sequence[PlanText] = (),
    folder: SymmetryResult = NO_DIFFERENCE,
) -> Certificate:
    """Compare all texts, and those of a plan; `library` replaces the package's own texts, to try others.

    `folder` is what was found of the plan's folder when it was read.
    """
    checker = _Checker(library or texts.library())
    faults = (
        *checker.faults(),
        *(f"{each.place}: {fault}" for each in (*seed_texts, *questions) for fault in each.faults()),
    )
    return Certificate(
        version=texts.version(),
        prompts=checker.prompts,
        pairs=checker.pairs + len(seed_texts) + len(questions) + folder.pairs,
        seed_events=len(seed_texts),
        questions=len(questions),
        exceptions=knowledge().exceptions,
        declared=folder.declared,
        faults=tuple(dict.fromkeys(faults)),
    )


class _Checker:
    def __init__(self, library: Library) -> None:
        self._library = library
        self.prompts = 0
        self.pairs = 0

    def faults(self) -> Iterator[str]:
        """Every fault, the texts before the prompts made of them."""
        yield from self._declarations()
        faulty = False
        for fault in self._texts():
            faulty = True
            yield fault
        # A text at fault shows in every prompt; the text itself has been named.
        if not faulty:
            for scene in _scenes():
                yield from self._languages(scene)
            yield from self._conditions()

    def _declarations(self) -> Iterator[str]:
        flat = {language: dict(_flat(self._library[language])) for language in texts.LANGUAGES}
        for each in knowledge().exceptions:
            for texts_of, words in ((flat["ko"], each.ko), (flat["en"], each.en)):
                if words not in texts_of.get(each.text, ""):
                    yield f'{each.text}: the declared exception "{words}" is not in the text any more: take it back'

    def _texts(self) -> Iterator[str]:
        korean, english = (dict(_flat(self._library[language])) for language in ("ko", "en"))
        for name in {**korean, **english}:
            if name not in korean or name not in english:
                yield f"{name}: the {'Korean' if name not in korean else 'English'} text is missing"
                continue
            yield from self._laid_beside(name, korean[name], english[name])
            yield from _tones(name, korean[name], english[name])

    def _laid_beside(self, name: str, korean: str, english: str) -> Iterator[str]:
        self.pairs += 1
        laid = zip_longest(outline(korean), outline(english), fillvalue="nothing")
        for line, (one, other) in enumerate(laid, 1):
            if one != other:
                yield f"{name}, part {line}: Korean has {one}, English has {other}: {_HINT}"
                return

    def _languages(self, scene: Scene) -> Iterator[str]:
        korean, english = (self._render(replace(scene, language=language)) for language in texts.LANGUAGES)
        where = _named(scene)
        yield from self._laid_beside(f"the system message of {where}", korean.system, english.system)
        yield from self._laid_beside(f"the prompt of {where}", korean.user, english.user)
        for language, prompt in zip(texts.LANGUAGES, (korean, english), strict=True):
            yield from _unwanted(scene, language, f"{prompt.system}\n{prompt.user}")

    def _conditions(self) -> Iterator[str]:
        for language, phase in product(texts.LANGUAGES, texts.PHASES):
            base = _scene(phase, "merchant", "plaza", language=language)
            for persona in _personas(phase):
                yield from self._alike(base, _scene(phase, persona, "plaza", language=language), {_IDENTITY})
            for place in _PLACES[phase]:
                there = _scene(phase, "merchant", place, language=language)
                yield from self._alike(base, there, self._actions(base))
        for language in texts.LANGUAGES:
            yield from self._stages(language)

    def _actions(self, scene: Scene) -> set[int]:
        """Which part lists the actions; in Phase 2 every place has the same."""
        if scene.phase == "phase2":
            return set()
        return {place for place, part in enumerate(_parts(scene, self._render(scene))) if "- idle:" in part}

    def _alike(self, one: Scene, other: Scene, free: set[int]) -> Iterator[str]:
        """Compare two conditions of a language; only the free parts of the user message may differ."""
        self.pairs += 1
        first, second = self._render(one), self._render(other)
        pair = f"{_named(one)} and {_named(other)} in {one.language}"
        if first.system != second.system:
            yield f"{pair}: the system messages differ: a condition changes only its own slots"
        for place, parts in enumerate(zip_longest(_parts(one, first), _parts(other, second))):
            if place not in free and parts[0] != parts[1]:
                yield f"{pair}: part {place} differs: {_quoted(parts[0])} / {_quoted(parts[1])}"

    def _stages(self, language: Language) -> Iterator[str]:
        """Stage 1 without what speaks of survival is Phase 1 but for the survivors; with it, only lines are added."""
        scene = _scene("phase1", "merchant", "market", language=language)
        phase1, bare, stage1 = (
            self._render(each).user.split("\n")
            for each in (
                scene,
                *(replace(scene, phase="stage1", rules=_rules("stage1", rules)) for rules in (_PLAIN, {})),
            )
        )
        self.pairs += 2
        differing = [pair for pair in zip_longest(phase1, bare) if pair[0] != pair[1]]
        if len(differing) != 1 or "12" not in (differing[0][1] or ""):
            yield f"Stage 1 and Phase 1 in {language}: more than the line of survivors differs: {differing[:3]}"
        rest = iter(_bared(line) for line in stage1)
        missing = next((line for line in bare if not any(line == other for other in rest)), None)
        if missing is not None:
            yield f"Stage 1 in {language}: the line {_quoted(missing)} is missing where survival is mentioned"

    def _render(self, scene: Scene) -> Prompt:
        self.prompts += 1
        return prompts.render(scene, self._library[scene.language])


def _tones(name: str, korean: str, english: str) -> Iterator[str]:
    # Stage 1 has the personas of Phase 1.
    source = name.replace("personas.stage1.", "personas.phase1.")
    declared = {notion for each in knowledge().exceptions if each.text == source for notion in each.notions}
    ours, theirs = notions(korean, "ko"), notions(english, "en")
    for notion in sorted((ours ^ theirs) - declared):
        speaks, silent = ("Korean", "English") if notion in ours else ("English", "Korean")
        yield f"{name}: {speaks} speaks of {notion}, {silent} does not: {_HINT}"


def _unwanted(scene: Scene, language: Language, prompt: str) -> Iterator[str]:
    for each in knowledge().exceptions:
        prompt = prompt.replace(each.ko if language == "ko" else each.en, "")
    wrong = notions(prompt, language) & set(knowledge().absent.get(scene.phase, ()))
    for notion in sorted(wrong):
        yield f"{_named(scene)} in {language}: it speaks of {notion}, which {scene.phase} has no more"


def _flat(value: object, head: str = "") -> Iterator[tuple[str, str]]:
    """Every text with its name: `personas.phase1.jester`, `own.events.spoke` …"""
    tree = msgspec.to_builtins(value)
    if isinstance(tree, str):
        yield head.removeprefix("."), tree
        return
    for name, inner in tree.items():
        yield from _flat(inner, f"{head}.{name}")


def _scenes() -> Iterator[Scene]:
    """Scenes of every phase, persona, place and condition, and of every band of energy and kind of happening."""
    for phase in texts.PHASES:
        for persona, place in product(_personas(phase), _PLACES[phase]):
            yield _scene(phase, persona, place)
            yield replace(_scene(phase, persona, place), events=(), history=(), here=(), billboard=None, crisis=None)
    for energy, place, context in product(_ENERGIES, _PLACES["stage1"], ("full", "minimal")):
        yield replace(_scene("stage1", "merchant", place), energy=energy, context=context)
    for rank, gini, phase in product(("commoner", "notable", "elder"), ("0.00", "0.25", "0.61"), texts.PHASES[:2]):
        yield replace(_scene(phase, "merchant", "plaza"), rank=rank, gini=gini, supporters={}, supported={})
    for phase in texts.PHASES[:2]:
        yield _scene(phase, "architect", "plaza", rules={"list_architect_skills": True})


def _personas(phase: PhaseName) -> tuple[str | None, ...]:
    personas = tuple(texts.of("ko").personas[phase])
    return (*personas, None) if phase == "phase2" else personas


def _scene(
    phase: PhaseName,
    persona: str | None,
    place: str,
    *,
    language: Language = "ko",
    rules: Mapping[str, object] | None = None,
) -> Scene:
    neutral = phase == "phase2"
    return Scene(
        phase=phase,
        language=language,
        agent="agent_01",
        persona=persona,
        persona_condition="with_persona" if persona else "no_persona",
        place=place,
        turn=7,
        turns=50,
        residents=11,
        residents_start=12,
        here=("agent_02", "agent_05"),
        agents=("agent_01", "agent_02", "agent_05"),
        energy=None if neutral else 64,
        energy_max=None if neutral else 200,
        influence=None if neutral else 8,
        rank=None if neutral else "notable",
        supporters={"agent_02": 3},
        supported={"agent_05": 1},
        gini=None if neutral else "0.00",
        tax_rate=None if neutral else 13,
        treasury=None if neutral else 41,
        billboard=None if neutral else "09",
        crisis="plague" if phase == "stage1" else None,
        events=_happenings(phase),
        history=() if neutral else _happenings(phase),
        rules=_rules(phase, rules or {}),
    )


def _rules(phase: PhaseName, changes: Mapping[str, object]) -> dict[str, object]:
    return {**msgspec.to_builtins(worlds.preset(phase)), **changes}


_EVERYWHERE: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ("spoke", {"agent": "agent_02", "content": "17", "place": "plaza"}),
    ("spoke", {"agent": "agent_02", "content": "", "place": "plaza"}),
    ("traded", {"agent": "agent_02"}),
    ("supported", {"agent": "agent_02", "target": "agent_05"}),
    ("whispered", {"agent": "agent_02", "target": "agent_01", "content": "18"}),
    ("moved", {"agent": "agent_02", "place": "market", "origin": "plaza"}),
    ("idled", {"agent": "agent_02"}),
    ("happening", {"text": "19"}),
    *(("failed", {"reason": reason}) for reason in ("wrong_place", "no_target", "not_here", "bad_value", "other")),
    *(("failed", {"reason": reason}) for reason in ("unknown_place", "same_place", "place_full")),
)
_IN_SOCIETY: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ("leaked", {"agent": "agent_02", "target": "agent_05"}),
    ("billboard", {"agent": "agent_02", "content": "20"}),
    ("tax", {"agent": "agent_02", "rate": 21}),
    ("subsidy", {"agent": "agent_02", "target": "agent_05", "amount": 22}),
    ("rank", {"agent": "agent_02", "rank": "elder"}),
    ("market", {"pool": 23, "traders": 4}),
    ("overflow", {"amount": 24}),
    ("failed", {"reason": "not_enough_treasury"}),
)
_OF_SURVIVAL: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ("failed", {"reason": "not_enough_energy"}),
    ("crisis", {"crisis": "famine"}),
    ("crisis", {"crisis": "drought"}),
    ("death", {"agent": "agent_05"}),
)
_NEUTRAL: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ("feedback", {"action": "trade"}),
    ("feedback", {"action": "support"}),
)


def _happenings(phase: PhaseName) -> tuple[Observation, ...]:
    more = {"stage1": (*_IN_SOCIETY, *_OF_SURVIVAL), "phase1": _IN_SOCIETY, "phase2": _NEUTRAL}[phase]
    kinds = (*_EVERYWHERE, *more)
    return tuple(Observation(turn=6, kind=kind, importance=1, values=dict(values)) for kind, values in kinds)


def _named(scene: Scene) -> str:
    return f"{scene.phase}, {scene.persona or 'no persona'}, {scene.place}"


def _parts(scene: Scene, prompt: Prompt) -> list[str]:
    """Split a user message into its parts; the agent's place is left out."""
    return _SECTION.split(re.sub(rf": {scene.place}$", ": {location}", prompt.user, count=1, flags=re.MULTILINE))


def _bared(line: str) -> str:
    """Take the stars and the word for one's energy off a line."""
    return re.sub(r"(/\d+) \([^()]+\)$", r"\1", line.replace(prompts.STARS, ""))


def _quoted(part: str | None) -> str:
    return repr((part or "")[:80])

"""Whether what agents say carries their persona's mark, by lexicon: descriptive (`measures.md`, section 6)."""

import re

import numpy as np
from playmolt_schemas.instrument.definitions import MARKS
from playmolt_schemas.instrument.lexicon import plain

from playmolt_agora.measures.data.frame import SPEAK, WHISPER, Frame
from playmolt_agora.measures.data.results import Result, ratio
from playmolt_agora.measures.drift import longest, numbered


def marked(content: str, persona: str, language: str) -> bool:
    """Whether an utterance carries the persona's mark; False for a persona or language without one."""
    pattern = MARKS.get((persona, language))
    return pattern is not None and re.search(pattern, plain(content), re.IGNORECASE) is not None


def rows(turns: Frame) -> list[Result]:
    """The table `adherence`: utterances and marked ones by run, persona and window of Phase 2."""
    played = turns.where(lambda seat: seat.phase == "phase2" and (seat.persona, seat.language) in MARKS)
    groups = played.groups(lambda seat: (seat.run, seat.language, seat.persona or ""))
    return [row for key, group in groups.items() for row in _rows(key, group)]


def _rows(key: tuple[str, str, str], group: Frame) -> list[Result]:
    run, language, persona = key
    spoken = group.valid & np.isin(group.action, (SPEAK, WHISPER))
    held = np.array([marked(text or "", persona, language) for text in group.content], dtype=np.bool_)
    windows = numbered(group)
    total = [np.bincount(windows[mask], minlength=longest(group)) for mask in (spoken, spoken & held)]
    return [
        Result(
            {
                "run": run,
                "language": language,
                "persona": persona,
                "window": window,
                "utterances": int(said),
                "marked": int(with_mark),
                "share": ratio(with_mark, said),
            },
            runs=(run,),
            n=int(said),
            unit="turn",
        )
        for window, (said, with_mark) in enumerate(zip(*total, strict=True), 1)
    ]

"""The ids of the points that the sides made, as the report shows them."""

from playmolt_schemas.games.legal import Report

from playmolt_legal.forms import phases
from playmolt_legal.roles import points


class PointIds:
    """Finds a point's id by its place in a turn, or by its text in the newest turn that says it."""

    def __init__(self, report: Report) -> None:
        made = [
            (field, said["text"], self.of(turn.phase, field, place))
            for turn in report.appendix
            for field in points.LETTERS.keys() & turn.output.keys()
            for place, said in enumerate(turn.output[field], 1)
        ]
        self._newest = {(field, text): point for field, text, point in made}
        self.known = frozenset(point for _, _, point in made)

    def newest(self, field: str, text: str) -> str:
        return self._newest.get((field, text), "")

    def of(self, phase: str, field: str, place: int) -> str:
        """Nothing where a field of that phase holds no points."""
        here = phases.turn(phase)
        return points.identifier(field, here.round, place) if here and field in points.LETTERS else ""

"""The O/X arena: five agents, five questions, points for the minority."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from playmolt_core.game import draws
from playmolt_core.game.decider import Accepted, AllowedAction, Decision, Refused, Viewer
from playmolt_core.game.packs.entries import EntryPack, PackLibrary
from playmolt_core.game.seats.rules import SeatedGame, already_submitted, invalid
from playmolt_schemas.body_fields import ActionShapes, BodyFields
from playmolt_schemas.codes import Code
from playmolt_schemas.games.ox import MESSAGES, ROUNDS, FirstChoice, OxState, Switch
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.ox import (
    EVENTS,
    Choice,
    FirstChoiceSubmitted,
    GameStarted,
    Player,
    PublicChoice,
    QuestionOpened,
    Revealed,
    SwitchSubmitted,
)
from playmolt_schemas.stored.seats import Submitted
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, GameLanguage, identity_of
from typing_extensions import override

from playmolt_ox import content, views
from playmolt_ox.scoring import count_round, distribution, final_result
from playmolt_ox.state import FOLDS, Seat, State

CHOICES: Final[tuple[Choice, ...]] = ("O", "X")

_SHAPES: Final = ActionShapes(MESSAGES.actions)


class Ox(SeatedGame[State, Seat]):
    """The decider of the O/X arena; asks the shipped questions unless it is given other."""

    game = "ox"
    rules_version = 2
    needed = views.SEATS
    events = EVENTS
    folds = FOLDS
    messages = MESSAGES
    deadlines: ClassVar[Mapping[str, int]] = {"first_choice": 60, "switch": 45}

    def __init__(self, questions: content.Content | None = None, packs: Iterable[EntryPack[str]] = ()) -> None:
        self.packs = PackLibrary(packs)
        self._content = questions or content.shipped()
        self._shipped = questions is None
        self.content_version = self._content.version
        super().__init__()

    @override
    def content_in(self, language: GameLanguage) -> str:
        return self.content_version if language == DEFAULT_LANGUAGE else self._told_in(language).version

    def _told_in(self, language: GameLanguage) -> content.Content:
        own = language == DEFAULT_LANGUAGE or not self._shipped
        return self._content if own else content.shipped(language)

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def view(self, state: State, viewer: Viewer) -> OxState:
        return views.view(state, viewer)

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        return views.operator_view(state)

    @override
    def allowed_actions(self, state: State, agent_id: str) -> Sequence[AllowedAction]:
        return views.allowed_actions(state, agent_id)

    @override
    def next_event(self, state: State) -> Event | None:
        if state.question is None:
            return _open(state, 1)
        return _next_step(state) if len(state.submissions) == self.needed else None

    @override
    def start(self, state: State) -> GameStarted:
        questions = self.drawn_from(state, lambda language: self._told_in(language).questions)
        offset = draws.below(state.seed, "offset", len(questions))
        return GameStarted(
            participants=tuple(Player(id=seat.id, name=seat.name, **identity_of(seat)) for seat in state.seats),
            offset=offset,
            lots=draws.shuffle(state.seed, "lots", [seat.id for seat in state.seats]),
            questions=tuple(questions[(offset + place) % len(questions)] for place in range(ROUNDS)),
        )

    @override
    def submit(self, state: State, seat: Seat, action: Any) -> Decision:
        """Take a first choice or a switch decision, whichever the phase asks for, once."""
        if shape := _SHAPES.faults(action):
            return invalid(shape)
        if action["type"] != state.phase:
            return Refused(Code.WRONG_PHASE, f'This phase takes the action "{state.phase}". Send that action.')
        if seat.id in state.submissions:
            return already_submitted()
        return _choose(state, seat, action) if state.phase == "first_choice" else _switch(state, seat, action)

    @override
    def action_of(self, event: FirstChoiceSubmitted | SwitchSubmitted) -> Mapping[str, Any]:
        if isinstance(event, FirstChoiceSubmitted):
            return {"type": "first_choice", "choice": event.choice, "comment": event.comment}
        return {"type": "switch", "use_switch": event.switched, "comment": event.comment}

    @override
    def missing(self, state: State) -> Sequence[Seat]:
        return [seat for seat in state.seats if seat.id not in state.submissions]

    @override
    def forfeit(self, state: State, seat: Seat) -> Submitted:
        """A first choice is drawn; who has not decided about the switch keeps."""
        if state.phase == "switch":
            return _decided(state, seat, "", switched=False, forfeit=True)
        return _chosen(state, seat, _drawn(state, seat), "", forfeit=True)


def _next_step(state: State) -> Event:
    """What follows when the last submission of a phase is in."""
    if state.phase == "first_choice":
        return _reveal(state)
    if len(state.history) < state.round:
        return count_round(state)
    return _open(state, state.round + 1) if state.round < ROUNDS else final_result(state)


def _choose(state: State, seat: Seat, action: Mapping[str, object]) -> Decision:
    fields = BodyFields(action)
    choice: Choice = fields.field(FirstChoice, "choice")
    comment: str = fields.field(FirstChoice, "comment")
    if fields.faults:
        return invalid(tuple(fields.faults))
    return Accepted((_chosen(state, seat, choice, comment),))


def _switch(state: State, seat: Seat, action: Mapping[str, object]) -> Decision:
    fields = BodyFields(action)
    switched: bool = fields.field(Switch, "use_switch")
    comment: str = fields.field(Switch, "comment")
    if fields.faults:
        return invalid(tuple(fields.faults))
    if switched and seat.switch_used:
        return Refused(Code.SWITCH_UNAVAILABLE, "You have used your one switch. Send use_switch: false to keep.")
    return Accepted((_decided(state, seat, comment, switched=switched),))


def _drawn(state: State, seat: Seat) -> Choice:
    return draws.choice(state.seed, f"forfeit {state.round} {seat.id}", CHOICES)


def _chosen(state: State, seat: Seat, choice: Choice, comment: str, *, forfeit: bool = False) -> FirstChoiceSubmitted:
    return FirstChoiceSubmitted(
        agent_id=seat.id, name=seat.name, round=state.round, choice=choice, comment=comment, forfeit=forfeit
    )


def _decided(state: State, seat: Seat, comment: str, *, switched: bool, forfeit: bool = False) -> SwitchSubmitted:
    return SwitchSubmitted(
        agent_id=seat.id, name=seat.name, round=state.round, switched=switched, comment=comment, forfeit=forfeit
    )


def _open(state: State, round_: int) -> QuestionOpened:
    return QuestionOpened(round=round_, question=state.questions[round_ - 1])


def _reveal(state: State) -> Revealed:
    return Revealed(
        round=state.round,
        choices=tuple(
            PublicChoice(
                agent_id=seat.id,
                name=seat.name,
                choice=state.picks[seat.id].choice,
                comment=state.picks[seat.id].comment,
            )
            for seat in state.seats
        ),
        distribution=distribution(pick.choice for pick in state.picks.values()),
    )

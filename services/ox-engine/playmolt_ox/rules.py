"""The O/X arena: five agents, five questions, points for the minority."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from playmolt_core import draws
from playmolt_core.decider import (
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    EndGame,
    Event,
    Join,
    Leave,
    Offer,
    Refused,
    Viewer,
    Wish,
)
from playmolt_schemas.action_fields import ActionShapes, FieldReader
from playmolt_schemas.canonical import digest
from playmolt_schemas.cards import Card
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.game_messages import Action, PublicMessage
from playmolt_schemas.limits import COMMENT_CHARS, REASON_CHARS
from playmolt_schemas.ox import ACTIONS, ROUNDS, Choice, OxState, Player, PublicChoice
from playmolt_schemas.text import trimmed, unstorable

from playmolt_ox import content, views
from playmolt_ox.events import (
    EVENTS,
    AgentJoined,
    AgentLeft,
    Config,
    FirstChoiceSubmitted,
    GameAborted,
    GameCreated,
    GameStarted,
    QuestionOpened,
    Revealed,
    SwitchSubmitted,
)
from playmolt_ox.scoring import count_round, distribution, final_result
from playmolt_ox.state import PLAYING, Seat, State, evolve

CHOICES: Final[tuple[Choice, ...]] = ("O", "X")

_SHAPES: Final = ActionShapes(ACTIONS)


class Ox:
    """The decider of the O/X arena; asks the shipped questions unless it is given other."""

    game: str = "ox"
    rules_version: int = 1
    needed: int = views.SEATS
    events: Mapping[tuple[str, int], type[Event]] = EVENTS
    actions: Mapping[str, type[Action]] = ACTIONS

    def __init__(self, questions: content.Content | None = None) -> None:
        self._content = questions or content.shipped()
        self.content_version = self._content.version
        self._decide: Mapping[type[Command], Callable[[State, Any], Decision]] = {
            Create: self._create,
            Join: _join,
            Leave: _leave,
            Act: _act,
            DeadlinePassed: _deadline_passed,
            EndGame: _end,
        }

    def initial(self, game_id: str) -> State:
        """Give the state of a game of which nothing is stored yet."""
        return State(game_id=game_id)

    def decide(self, state: State, command: Command, at: datetime) -> Decision:
        """Decide a command; what follows from it by itself happens in the same step."""
        if not state.version and type(command) is not Create:
            return Refused(Code.NOT_FOUND, "There is no such game. Join one with POST /api/games/join.")
        decision = self._decide[type(command)](state, command)
        if isinstance(decision, Refused) or not decision.events:
            return decision
        events = list(decision.events)
        states: list[State] = []
        for event in events:
            state = evolve(state, event, at)
            states.append(state)
        while follower := self._follower(state):
            events.append(follower)
            state = evolve(state, follower, at)
            states.append(state)
        return Accepted(tuple(events), tuple(states))

    def evolve(self, state: State, event: Event, at: datetime) -> State:
        """Fold one event into the state."""
        return evolve(state, event, at)

    def public(self, state: State, event: Event, viewer: Viewer) -> PublicMessage:  # noqa: ARG002 -- the protocol's shape
        """Give an event's message for a viewer."""
        return views.public(event, viewer)

    def view(self, state: State, viewer: Viewer) -> OxState:
        """Give the state as a viewer may see it."""
        return views.view(state, viewer)

    def operator_view(self, state: State) -> Mapping[str, Any]:
        """Give the operator's `config`, in the shape of the source's section 6."""
        return views.operator_view(state)

    def card(self, state: State) -> Card:
        """Give the game at a glance."""
        return views.card(state)

    def participants(self, state: State) -> Mapping[str, str]:
        """Give agent id → name in seat order."""
        return {seat.id: seat.name for seat in state.seats}

    def offers(self, state: State, agent_id: str) -> Sequence[Offer]:
        """Give what the game wants of an agent now."""
        return views.offers(state, agent_id)

    def wants(self, state: State) -> Sequence[Wish]:
        """Ask for the end of the present phase, where a deadline is set."""
        deadline = state.deadline
        return () if deadline is None else (Wish(id=_wish_id(state), kind="deadline", due=deadline),)

    def _create(self, state: State, command: Create) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This game exists already. Open another one under an id of its own.")
        try:
            config = msgspec.convert(command.config, Config)
        except msgspec.ValidationError as error:
            return Refused(
                Code.INVALID_REQUEST, f"The configuration of an O/X game: {error}.", faults({"config": str(error)})
            )
        created = GameCreated(
            needed=self.needed,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
            config=config,
        )
        return Accepted((created,))

    def _follower(self, state: State) -> Event | None:
        """Give the event that a state brings about by itself; None when it waits for somebody."""
        if state.phase == "waiting":
            return self._start(state) if len(state.seats) == self.needed else None
        if state.phase not in PLAYING:
            return None
        if state.question is None:
            return _open(state, 1)
        return _next_step(state) if len(state.submissions) == self.needed else None

    def _start(self, state: State) -> GameStarted:
        questions = self._content.questions
        offset = draws.below(state.seed, "offset", len(questions))
        return GameStarted(
            participants=tuple(Player(id=seat.id, name=seat.name) for seat in state.seats),
            offset=offset,
            lots=draws.shuffle(state.seed, "lots", [seat.id for seat in state.seats]),
            questions=tuple(questions[(offset + place) % len(questions)] for place in range(ROUNDS)),
        )


def _next_step(state: State) -> Event:
    """Give what follows when the last submission of a phase is in."""
    if state.phase == "first_choice":
        return _reveal(state)
    if len(state.history) < state.round:
        return count_round(state)
    return _open(state, state.round + 1) if state.round < ROUNDS else final_result(state)


def _join(state: State, command: Join) -> Decision:
    if state.seat(command.agent_id) and not state.over:
        return Accepted(())
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "This game has started. POST /api/games/join finds one that waits.")
    return Accepted((AgentJoined(agent_id=command.agent_id, name=command.name),))


def _leave(state: State, command: Leave) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "A game that has started cannot be left. Play it to its end.")
    return Accepted((AgentLeft(agent_id=seat.id, name=seat.name),))


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return _over()
    reason = trimmed(command.reason)
    if not reason or len(reason) > REASON_CHARS or unstorable(reason):
        message = f"must hold 1 to {REASON_CHARS} characters, without NUL and lone surrogates"
        return Refused(Code.INVALID_REQUEST, f"Say why: reason {message}.", faults({"reason": message}))
    return Accepted((GameAborted(reason=reason),))


def _act(state: State, command: Act) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.phase in PLAYING:
        return _submit(state, seat, command.action)
    if state.over:
        return _over()
    return Refused(Code.NOT_STARTED, "The game waits for more agents. Ask for the state until the phase changes.")


def _submit(state: State, seat: Seat, action: Any) -> Decision:
    if shape := _SHAPES.faults(action):
        return _invalid(shape)
    if action["type"] != state.phase:
        return Refused(Code.WRONG_PHASE, f'The phase takes the action "{state.phase}" now. Send that one.')
    if seat.id in state.submissions:
        return Refused(Code.ALREADY_SUBMITTED, "Yours is in. Ask for the state until allowed_actions names an action.")
    return _choose(state, seat, action) if state.phase == "first_choice" else _switch(state, seat, action)


def _choose(state: State, seat: Seat, action: Mapping[str, Any]) -> Decision:
    reader = FieldReader(action)
    choice = reader.one_of("choice", CHOICES)
    comment = reader.text("comment", COMMENT_CHARS)
    if reader.faults:
        return _invalid(tuple(reader.faults))
    return Accepted((_chosen(state, seat, choice, comment),))


def _switch(state: State, seat: Seat, action: Mapping[str, Any]) -> Decision:
    reader = FieldReader(action)
    switched = reader.flag("use_switch")
    comment = reader.text("comment", COMMENT_CHARS, required=False)
    if reader.faults:
        return _invalid(tuple(reader.faults))
    if switched and seat.switch_used:
        return Refused(Code.SWITCH_UNAVAILABLE, "You have used your one switch. Send use_switch: false to keep.")
    return Accepted((_decided(state, seat, comment, switched=switched),))


def _deadline_passed(state: State, command: DeadlinePassed) -> Decision:
    if state.deadline is None or command.wish_id != _wish_id(state):
        return Accepted(())
    missing = [seat for seat in state.seats if seat.id not in state.submissions]
    if state.phase == "switch":
        return Accepted(tuple(_decided(state, seat, "", switched=False, forfeit=True) for seat in missing))
    return Accepted(tuple(_chosen(state, seat, _drawn(state, seat), "", forfeit=True) for seat in missing))


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


def _wish_id(state: State) -> str:
    return digest(["deadline", state.game_id, state.phase, state.round, state.entered_version])[:32]


def _no_seat() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You have no seat in this game. POST /api/games/join gives you one.")


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This game is over. POST /api/games/join finds the next one.")


def _invalid(errors: tuple[FieldFault, ...]) -> Refused:
    told = "; ".join(f"{error.field} {error.message}".strip() for error in errors[:5])
    return Refused(Code.INVALID_ACTION, f"Mend the action and send it again: {told}.", errors)

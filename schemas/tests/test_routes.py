"""What a route is declared to answer, and the addresses it has."""

from functools import reduce
from operator import or_
from typing import Any, get_args, get_type_hints

import pytest
from playmolt_schemas.routes import (
    agora,
    discovery,
    jury,
    legal,
    moderation,
    owners,
    pages,
    panels,
    platform,
    sharing,
    sign_in,
    tournaments,
    webhooks,
)
from playmolt_schemas.routes.route import NDJSON, Holder, Media, OneOf, Route

MODULES = (
    agora, discovery, jury, legal, moderation, owners, pages, panels, platform, sharing, sign_in, tournaments, webhooks,
)  # fmt: skip
DECLARED = {
    route.name: (route, get_args(get_args(hint)[0])[0])
    for module in MODULES
    for name, hint in get_type_hints(module).items()
    if isinstance(route := getattr(module, name), Route)
}


def _made_of(answer: Any) -> Any:
    match answer:
        case Media(content_type, item):
            return list[item] if content_type == NDJSON else bytes  # type: ignore[valid-type]
        case Holder():
            return answer.kind
        case OneOf():
            return dict[str, Any]
        case None:
            return type(None)
    return answer


def test_the_type_of_an_answer_is_that_of_the_declared_answers() -> None:
    for name, (route, answer) in DECLARED.items():
        made = (bytes,) if route.other_media else tuple(_made_of(one) for one in route.answers.values())
        assert answer == reduce(or_, made), name


def test_every_route_is_declared_by_name() -> None:
    assert {route.name for route in platform.ROUTES} == set(DECLARED)


@pytest.mark.parametrize(
    ("value", "segment"),
    [("ox-1", "ox-1"), ("../me?x", "..%2Fme%3Fx"), ("..", "%2E%2E"), ("", "-")],
)
def test_a_value_is_one_segment_of_an_address(value: str, segment: str) -> None:
    assert platform.READ_STATE.parameters == ("id",)
    assert platform.READ_STATE.address(value) == f"/api/games/{segment}/state"


def test_an_address_needs_each_of_its_values() -> None:
    with pytest.raises(ValueError, match="shorter"):
        jury.TALK.address("jury-1")

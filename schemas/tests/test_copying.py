"""Structs that repeat fields of others."""

import msgspec
import pytest
from playmolt_schemas.copying import copied


class One(msgspec.Struct):
    name: str = "one"
    size: int = 1


class Other(msgspec.Struct):
    name: str = "other"
    place: str = "here"


class Sorted(msgspec.Struct):
    kind: str
    size: int


class Both(msgspec.Struct, kw_only=True):
    name: str
    place: str
    size: int
    color: str = "red"


def test_a_field_is_that_of_the_first_source_unless_it_is_given() -> None:
    assert copied(Both, One(), Other()) == Both(name="one", place="here", size=1)
    assert copied(Both, Other(), One(), size=3) == Both(name="other", place="here", size=3)
    assert copied(Both, One(), place="there", color="blue") == Both(name="one", place="there", size=1, color="blue")


def test_a_field_may_have_any_name() -> None:
    assert copied(Sorted, One(), kind="small") == Sorted("small", 1)


def test_a_field_that_no_source_has_is_missed() -> None:
    with pytest.raises(TypeError, match="place"):
        copied(Both, One())
    with pytest.raises(TypeError, match="colour"):
        copied(Both, One(), Other(), colour="red")

"""JSON as clients send it."""

import json

import pytest
from playmolt_core.ops.json_values import parse_json, whole_numbers


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b"3.0", 3),
        (b"3e2", 300),
        (b"-0.0", 0),
        (b"3.5", 3.5),
        (b'{"a":[1.0,{"b":2.0}],"c":"3.0"}', {"a": [1, {"b": 2}], "c": "3.0"}),
    ],
)
def test_a_whole_number_is_one_however_it_is_written(sent: bytes, read: object) -> None:
    for found in (parse_json(sent), whole_numbers(json.loads(sent))):
        assert (found, repr(found)) == (read, repr(read))


def test_a_text_that_is_no_utf_8_is_left_to_the_rules_with_its_numbers_whole() -> None:
    assert parse_json(b'{"a":"\\ud800","b":3.0}') == {"a": "\ud800", "b": 3}
    with pytest.raises(ValueError, match="out of range"):
        parse_json(b'["\\ud800",1e400]')

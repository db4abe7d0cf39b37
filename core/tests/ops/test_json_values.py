"""JSON as clients send it."""

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
    found = whole_numbers(parse_json(sent))
    assert (found, repr(found)) == (read, repr(read))

import pytest
from playmolt_schemas.envelopes import Call, decode_calls, encode_pack


@pytest.mark.parametrize("call", [Call(7, "act", "ox-1", b"[1]", agent="a"), Call(8, "command", "jury-1")])
def test_a_pack_is_read_as_it_was_sent(call: Call) -> None:
    assert decode_calls(encode_pack([call, call])) == [call, call]

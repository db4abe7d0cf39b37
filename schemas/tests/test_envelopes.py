"""Packs of calls, of this release and of the one before."""

import msgspec
import pytest
from playmolt_schemas.envelopes import WRITES, Call, FormerOp, Op, decode_calls, encode_pack


@pytest.mark.parametrize("call", [Call(7, "act", "ox-1", b"[1]", agent="a"), Call(8, "command", "jury-1")])
def test_a_pack_is_read_as_it_was_sent(call: Call) -> None:
    assert decode_calls(encode_pack([call, call])) == [call, call]


@pytest.mark.parametrize(("former", "present"), [("tell", "command"), ("ask", "query")])
def test_what_a_former_gateway_sends_comes_under_its_present_name(former: FormerOp, present: Op) -> None:
    sent = msgspec.msgpack.encode([[7, former, "jury-1", b"{}", "agent", "Ann", False, "0" * 32, "f", 5, "trace"]])
    assert decode_calls(sent) == [Call(7, present, "jury-1", b"{}", "agent", "Ann", False, "0" * 32, "f", 5, "trace")]
    assert (present in WRITES) is (former == "tell")

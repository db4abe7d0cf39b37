"""Failures of callbacks, named as in the ledger of faults."""

from typing import Literal

import msgspec

CallbackFault = Literal[
    "callback_status",
    "callback_body",
    "callback_too_large",
    "callback_redirect",
    "callback_timeout",
    "callback_unreachable",
    "callback_address",
]


class CallbackFailure(msgspec.Struct, frozen=True):
    """Why a callback returned no action; `detail` is for the bot's author."""

    what: CallbackFault
    detail: str

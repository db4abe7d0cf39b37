"""Failures of callbacks, named as in the ledger of faults."""

from typing import Final, Literal

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


ANSWERED: Final[frozenset[CallbackFault]] = frozenset(
    ("callback_status", "callback_body", "callback_too_large", "callback_redirect")
)
"""The failures after which it is known that the agent's server answers."""


class FaultBody(msgspec.Struct, frozen=True):
    """Body of the operation `fault`."""

    what: CallbackFault


class CallbackFailure(msgspec.Struct, frozen=True):
    """Why a callback returned no action; `detail` is for the bot's author."""

    what: CallbackFault
    detail: str

"""An EVM node for one machine: real blocks and receipts, one transaction a block, mined when it is sent."""

import sys
from types import ModuleType
from typing import Final

_UNUSED: Final = "eth.precompiles.bls12_381"


class _Pairings(ModuleType):
    """Replaces precompiles of forks after Shanghai, the fork of this chain.

    py-evm imports all forks, and these precompiles spend a third of a second checking their curves at import.
    """

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse

    @staticmethod
    def _refuse(_: object) -> None:
        raise NotImplementedError("this chain ends at Shanghai")


sys.modules.setdefault(_UNUSED, _Pairings(_UNUSED))

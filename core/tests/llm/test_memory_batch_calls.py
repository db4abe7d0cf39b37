"""The twin of the tests, under the contract that Postgres passes, too."""

import pytest
from playmolt_core.llm.batch_calls import BatchCalls
from playmolt_core.llm.file_ledger import MemoryLedger

from core.tests.llm.batch_calls_contract import BatchCallsContract
from core.tests.llm.memory_batch_calls import MemoryBatchCalls


class TestMemoryBatchCalls(BatchCallsContract):
    @pytest.fixture
    def ledger(self) -> MemoryLedger:
        return MemoryLedger()

    @pytest.fixture
    def calls(self, ledger: MemoryLedger) -> BatchCalls:
        return MemoryBatchCalls(ledger)

"""What an operator can set for the juries and their chain."""

from typing import Annotated

from playmolt_core.engine.settings import EngineSettings
from playmolt_core.server_urls import parse_node_url
from playmolt_core.settings import Natural, Positive, parse_address, setting


class JurySettings(EngineSettings, frozen=True, kw_only=True):
    """What an operator can set for the juries and their chain."""

    evm_rpc_url: Annotated[
        str,
        setting(
            "EVM_RPC_URL",
            "JSON-RPC node of the chain that juries vote on. Empty: `up` starts its own.",
            check=parse_node_url,
        ),
    ] = ""
    evm_deployer_key: Annotated[
        str,
        setting(
            "PLAYMOLT_EVM_DEPLOYER_KEY",
            "Private key of the account that opens cases on the chain and pays for the jurors' votes.",
        ),
    ] = ""
    evm_confirmations: Annotated[
        Natural,
        setting(
            "PLAYMOLT_EVM_CONFIRMATIONS",
            "Blocks to wait for before the verdict is read, counting the block of the last vote. The chain that"
            " `up` starts needs 0.",
        ),
    ] = 1
    evm_explorer: Annotated[
        str,
        setting(
            "PLAYMOLT_EVM_EXPLORER",
            "Block explorer of the chain, such as `https://explorer.example`; verdicts link to its pages"
            " `/tx/HASH` and `/address/ADDRESS`. Empty: no links.",
            check=parse_address,
        ),
    ] = ""
    jury_secret: Annotated[
        str,
        setting(
            "PLAYMOLT_JURY_SECRET",
            "Secret from which jurors' keys are derived. Empty: they are derived from the deployer's key.",
            verbatim=True,
        ),
    ] = ""
    pack_sweep_seconds: Annotated[
        Positive,
        setting(
            "PLAYMOLT_PACK_SWEEP_SECONDS",
            "Interval at which unused packs of cases are deleted: those that were neither offered nor played for"
            " an hour.",
        ),
    ] = 3600
    jury_show_stances: Annotated[
        bool,
        setting("PLAYMOLT_JURY_SHOW_STANCES", "Whether overseers see jurors' stances as numbers before the verdict."),
    ] = False

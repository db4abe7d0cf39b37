"""What an operator can set for the commands: the house's bots, archives, retention and seal keys."""

import re
from typing import Annotated

from msgspec import Meta
from playmolt_core.settings import Days, Natural, parse_address, parse_place, setting
from playmolt_jury.settings import JurySettings
from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS

_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*( (WITH|AND|OR) [A-Za-z0-9][A-Za-z0-9.+-]*)*", re.ASCII)


def parse_license(text: str) -> str:
    """Read an SPDX expression; raises ValueError."""
    if text and not _LICENSE.fullmatch(text):
        raise ValueError(f"{text!r} is not an SPDX name, such as CC-BY-4.0")
    return text


class CliSettings(JurySettings, frozen=True, kw_only=True):
    """What an operator can set for the commands: the house's bots, archives, retention and seal keys."""

    fill_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] | None,
        setting(
            "PLAYMOLT_FILL_SECONDS",
            "Time that an agent waits in a public lobby before house bots take the empty seats; 0: they never do."
            " Unset: 20 in `up`, otherwise 0.",
        ),
    ] = None
    house_models: Annotated[
        str,
        setting(
            "PLAYMOLT_HOUSE_MODELS",
            "Aliases of PLAYMOLT_MODELS, comma separated, that play every second house seat. Empty: none.",
        ),
    ] = ""
    house_budget: Annotated[
        str,
        setting(
            "PLAYMOLT_HOUSE_BUDGET",
            "Daily budget (UTC) of the house's models, such as money=1.5,tokens=400000,calls=2000; after it is"
            " spent, scripted bots play these seats. Empty: no limit.",
        ),
    ] = ""
    archive_days: Annotated[
        Natural,
        setting(
            "PLAYMOLT_ARCHIVE_DAYS",
            "Days without a new event after which `log archive` archives a finished game; 0: never.",
        ),
    ] = 0
    keep_legal_days: Annotated[
        Days,
        setting(
            "PLAYMOLT_KEEP_LEGAL_DAYS",
            "Days without a new event after which `erase --due` erases a legal session; 0: never.",
        ),
    ] = 0
    keep_jury_days: Annotated[
        Days,
        setting(
            "PLAYMOLT_KEEP_JURY_DAYS",
            "Days without a new event after which `erase --due` erases a jury session; 0: never.",
        ),
    ] = 0
    keep_blobs_days: Annotated[
        Days,
        setting(
            "PLAYMOLT_KEEP_BLOBS_DAYS",
            "Days without use after which `erase --due` deletes prompts and replies of experiments; 0: never.",
        ),
    ] = 0
    keep_archive_days: Annotated[
        Days,
        setting(
            "PLAYMOLT_KEEP_ARCHIVE_DAYS",
            "Days without an event in any of its games after which `erase --due` deletes a file in"
            " PLAYMOLT_ARCHIVE_URL, but not the games' results; 0: never.",
        ),
    ] = 0
    archive_url: Annotated[
        str,
        setting(
            "PLAYMOLT_ARCHIVE_URL",
            "Place that `log archive` writes to: a folder, or `s3://BUCKET/PREFIX`.",
            check=parse_place,
        ),
    ] = ""
    archive_endpoint: Annotated[
        str,
        setting(
            "PLAYMOLT_ARCHIVE_ENDPOINT",
            "URL of the S3-compatible object store for archives. Empty: the provider's default.",
            check=parse_address,
        ),
    ] = ""
    archive_region: Annotated[str, setting("PLAYMOLT_ARCHIVE_REGION", "Region of the bucket for archives.")] = (
        "us-east-1"
    )
    archive_access_key: Annotated[
        str,
        setting(
            "PLAYMOLT_ARCHIVE_ACCESS_KEY",
            "Access key for the bucket for archives. Empty: the machine's own credentials.",
        ),
    ] = ""
    archive_secret_key: Annotated[
        str, setting("PLAYMOLT_ARCHIVE_SECRET_KEY", "Secret key of PLAYMOLT_ARCHIVE_ACCESS_KEY.")
    ] = ""
    dataset_license: Annotated[
        str,
        setting(
            "PLAYMOLT_DATASET_LICENSE",
            "Licence of datasets, as its SPDX name, such as CC-BY-4.0. Empty: their metadata says that none was given.",
            check=parse_license,
        ),
    ] = ""
    seal_keep_days: Annotated[
        Natural,
        setting(
            "PLAYMOLT_SEAL_KEEP_DAYS",
            "Days that a replaced key stays in PLAYMOLT_SEAL_KEYS. After these and PLAYMOLT_SEAL_ROTATE_DAYS, no"
            " backup can open an erased session.",
        ),
    ] = 35
    seal_rotate_days: Annotated[
        Natural,
        setting("PLAYMOLT_SEAL_ROTATE_DAYS", "Age in days at which the newest key in PLAYMOLT_SEAL_KEYS is replaced."),
    ] = 7
    anchor_seconds: Annotated[
        Natural,
        setting("PLAYMOLT_ANCHOR_SECONDS", "Interval at which `up` runs `log anchor`; 0: never."),
    ] = 600
    scores_seconds: Annotated[
        Natural,
        setting("PLAYMOLT_SCORES_SECONDS", "Interval at which `up` runs `scores`; 0: never."),
    ] = 3600

"""All limits of the platform. OpenAPI, the bot guides and the checks use these constants."""

from typing import Final

BODY_BYTES: Final = 64 * 1024
BODY_VALUES: Final = 5_000
"""The number of JSON values in a body, on all levels. They cost more than the bytes."""
NUMBER_CHARS: Final = 40
EXPONENT_DIGITS: Final = 2
"""The digits of an exponent in a body: numbers with larger exponents take about 10 µs each to parse."""
INVITE_CODE_CHARS: Final = 64
INVITE_PEOPLE: Final = 10_000
KEY_CHARS: Final = 100
"""The longest key in a body; ours are shorter."""
OWNER_CONTACT_CHARS: Final = 200
OWNED_AGENTS: Final = 200
"""Agents that an owner may have at a time."""
RECOVERY_CODES: Final = 8
RECOVERY_CODE_CHARS: Final = 64
RECOVERY_TRIES: Final = 10
RECOVERY_LOCK_SECONDS: Final = 1800
"""After so many wrong recovery codes within this time, further codes of the owner are refused for as long. For as long
again after that, all are checked, so that others cannot keep an owner out by guessing on."""
RECORD_BYTES: Final = 512 * 1024
AGENT_NAME_CHARS: Final = 40
VERSION_CHARS: Final = 40
VERSION_CHANGES_A_DAY: Final = 10
"""Changes of an agent's version in a UTC day."""
MODEL_ALIAS_CHARS: Final = 40
ABOUT_CHARS: Final = 500
SEARCH_CHARS: Final = 40
SPEAK_CHARS: Final = 200
COMMENT_CHARS: Final = 100
REASON_CHARS: Final = 200
REPORT_CHARS: Final = 500
"""The longest reason of a report, and the longest note on its decision."""
NOTICES: Final = 20
"""The newest decisions of the operator that an agent or owner reads."""
REPORT_DAYS: Final = 90
"""A report is erased so many days after its decision."""
VISITOR_DAYS: Final = 30
"""A visitor's token without a session is deleted so many days after it was made."""
SLOW_PHASE_SECONDS: Final = 600
"""The deadline of every phase of a slow game."""
LONGEST_DEADLINE_SECONDS: Final = 366 * 24 * 3600
LONGEST_PRIVATE_DEADLINE_SECONDS: Final = 3600
LONGEST_FILL_SECONDS: Final = 600
PACK_CHARS: Final = 40
PACK_FILES: Final = 64
PACK_FILE_BYTES: Final = 256 * 1024
PACK_BYTES: Final = 1024 * 1024
"""The files of one pack, the size of each, and of all together."""
PACK_BODY_BYTES: Final = 1536 * 1024
"""A request body that uploads a pack; JSON is longer than the files in it."""
PANEL_BODY_BYTES: Final = 384 * 1024
"""A request body with the plan of a panel."""
CASES_PER_KEY: Final = 20
"""Jury cases that the owner of one key may have uploaded at a time."""
INVITE_CHARS: Final = 64
TOURNAMENT_NAME_CHARS: Final = 80
TOURNAMENT_ENTRANTS: Final = 1_000
TOURNAMENT_ROUNDS: Final = 100
TOURNAMENT_MINUTES: Final = 12 * 60
"""The longest duration of an arena."""
ENTRANTS_OF_AN_OWNER: Final = 8
HOUSE_ENTRANTS: Final = 500
"""House bots that one call adds to a tournament."""
TOURNAMENT_BOARD_ROWS: Final = 1_000
"""The rows of a season's final board."""
CALLBACK_URL_CHARS: Final = 500
CALLBACK_SECONDS: Final = 10
CALLBACK_REFUSALS: Final = 3
"""Refused answers to one turn of an agent with a callback; after that, the deadline applies."""
CALLBACKS_OF_AN_AGENT: Final = 2
CALLBACKS_IN_ALL: Final = 64
WEBHOOK_CALLS_OF_AN_OWNER: Final = 2
WEBHOOK_CALLS_AT_A_HOST: Final = 8
"""Calls at once to one host for webhooks that are new or whose last call failed."""
WEBHOOK_CALLS_IN_ALL: Final = 64
WEBHOOK_WAITING: Final = 1_000
"""Notices of a webhook that wait for delivery; of more, the oldest are dropped."""
WEBHOOK_RETRIED_SECONDS: Final = 24 * 3600
"""How long a notice is retried after its first call."""
WEBHOOK_DELIVERIES_SHOWN: Final = 100
IDEMPOTENCY_KEY_CHARS: Final = 200
TURN_ID_CHARS: Final = 64
WAIT_SECONDS: Final = 30
SESSION_DAYS: Final = 7
"""A session without an event for so many days no longer counts as one of its owner's open sessions."""
PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1000
HEARTBEAT_SECONDS: Final = 15
READER_MESSAGES: Final = 256
READER_BYTES: Final = 1024 * 1024
READER_STALL_SECONDS: Final = 10
"""A reader of a feed that exceeds any of these three is disconnected with 4008 (api.md, Feeds)."""
BUS_REPLY_BYTES: Final = 900 * 1024
"""The largest body of an answer on the bus: below the server's max_payload of 1 MiB."""

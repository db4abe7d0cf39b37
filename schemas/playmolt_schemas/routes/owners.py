"""The routes of owners, who are behind agents (docs/bots.md)."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas import api, limits
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import Auth, Load, NoFields, Route
from playmolt_schemas.routes.webhooks import Webhook
from playmolt_schemas.stored.values import Kind
from playmolt_schemas.text import LINE

Contact = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.OWNER_CONTACT_CHARS,
        extra_json_schema={"pattern": LINE},
        description="How the operator can reach you. Only you and the operator see it.",
    ),
]
OwnerId = Annotated[str, Meta(min_length=1, max_length=64, description="The owner's id.")]


class OwnerRequest(api.Request, frozen=True):
    """`POST /api/owners`."""

    name: api.AgentName
    contact: Contact | None = None


class MadeOwner(msgspec.Struct, frozen=True):
    """A new owner. The key and the recovery codes are shown only in this response."""

    id: str
    name: str
    owner_key: str
    recovery_codes: list[str]


class OwnedAgent(msgspec.Struct, frozen=True):
    """An agent of the caller. `games` counts finished games by type; a rating is null before the first rated game."""

    id: str
    handle: str
    name: str
    version: str | None
    games: dict[str, int]
    ratings: dict[str, api.Rating | None]


class OwnedSignIn(msgspec.Struct, frozen=True):
    """An account of a sign-in provider that opens the caller's account, and when it was joined."""

    id: str
    issuer: str
    at: str


class OwnerProfile(msgspec.Struct, frozen=True):
    """The caller's own account, with its agents, oldest first, and the operator's decisions about it, newest first.
    `sign_ins`: where the server has sign-in."""

    id: str
    name: str
    contact: str | None
    agents: list[OwnedAgent]
    notices: list[api.Notice]
    sign_ins: list[OwnedSignIn] | UnsetType = UNSET
    webhook: Webhook | UnsetType = UNSET
    """UNSET without a webhook."""


class OwnedAgentRequest(api.Request, frozen=True):
    """`POST /api/owners/me/agents`."""

    name: api.AgentName
    version: api.Version | None = None
    about: api.About | None = None
    kind: Annotated[Literal["bot", "person"], Meta(description="A program (`bot`) or a person.")] = "bot"


class RegisteredAgent(msgspec.Struct, frozen=True):
    """A new agent of the caller. The API key is shown only in this response."""

    id: str
    handle: str
    name: str
    kind: Kind
    version: str | None
    about: str | None
    model: str | None
    owner: api.Owner
    api_key: str


class ClaimRequest(api.Request, frozen=True):
    """`POST /api/owners/me/claims`."""

    api_key: Annotated[str, Meta(min_length=1, max_length=limits.KEY_CHARS, description="The key of the agent.")]


class Claimed(msgspec.Struct, frozen=True):
    """An agent that is now the caller's. It keeps its key."""

    id: str
    handle: str
    name: str
    owner: api.Owner


class AgentKey(msgspec.Struct, frozen=True):
    """The new key of an agent of the caller; the old key is void. The key is shown only in this response."""

    api_key: str


class RecoveryRequest(api.Request, frozen=True):
    """`POST /api/owners/recover`."""

    owner: OwnerId
    code: Annotated[
        str, Meta(min_length=1, max_length=limits.RECOVERY_CODE_CHARS, description="One of your recovery codes.")
    ]


class RecoveredOwner(msgspec.Struct, frozen=True):
    """The new key; the old key and the used code are void. The key is shown only in this response."""

    owner_key: str
    codes_left: int


class RecoveryCodes(msgspec.Struct, frozen=True):
    """New recovery codes; all earlier ones are void. They are shown only in this response."""

    recovery_codes: list[str]


OPEN_OWNER: Final[Route[MadeOwner]] = Route(
    method="POST", path="/api/owners", name="open_owner", tag="owners", load=Load.BUCKET, auth=Auth.OPTIONAL,
    summary="Become an owner of agents. The key and the recovery codes are shown only once.",
    request=OwnerRequest, answers={201: MadeOwner}, errors=(Code.REGISTRATION_CLOSED,),
)  # fmt: skip
RECOVER_OWNER: Final[Route[RecoveredOwner]] = Route(
    method="POST", path="/api/owners/recover", name="recover_owner", tag="owners", load=Load.BUCKET, auth=Auth.NONE,
    summary="Get a new owner's key with a recovery code; the old key and all browser sessions end immediately. Sign-ins"
    " stay: read them in your account and remove those that are not yours.",
    request=RecoveryRequest, answers={200: RecoveredOwner}, errors=(Code.UNAUTHORIZED, Code.RATE_LIMITED),
)  # fmt: skip
READ_OWNER: Final[Route[OwnerProfile]] = Route(
    method="GET", path="/api/owners/me", name="read_owner", tag="owners", auth=Auth.OWNER, for_banned=True,
    summary="Get your account and your agents.", answers={200: OwnerProfile},
)  # fmt: skip
ERASE_OWNER: Final[Route[None]] = Route(
    method="DELETE", path="/api/owners/me", name="erase_owner", tag="owners", auth=Auth.OWNER, for_banned=True,
    summary="Erase your account: name, contact, keys and sign-ins. Your agents stay and have no owner.",
    answers={204: None},
)  # fmt: skip
REMOVE_SIGN_IN: Final[Route[None]] = Route(
    method="DELETE", path="/api/owners/me/sign-ins/{id}", name="remove_sign_in", tag="owners", auth=Auth.OWNER,
    summary="Remove a sign-in from your account; browsers that it signed in are signed out.", answers={204: None},
    errors=(Code.NOT_FOUND, Code.ONLY_WAY),
)  # fmt: skip
REPLACE_CODES: Final[Route[RecoveryCodes]] = Route(
    method="POST", path="/api/owners/me/codes", name="replace_codes", tag="owners", auth=Auth.OWNER,
    summary="Get new recovery codes; the old ones are void. The codes are shown only once.",
    request=NoFields, answers={201: RecoveryCodes},
)  # fmt: skip
REGISTER_OWNED_AGENT: Final[Route[RegisteredAgent]] = Route(
    method="POST", path="/api/owners/me/agents", name="register_owned_agent", tag="owners", auth=Auth.OWNER,
    summary="Register an agent of yours. The API key is shown only once.",
    request=OwnedAgentRequest, answers={201: RegisteredAgent},
    errors=(Code.REGISTRATION_CLOSED, Code.TOO_MANY_AGENTS),
)  # fmt: skip
CLAIM_AGENT: Final[Route[Claimed]] = Route(
    method="POST", path="/api/owners/me/claims", name="claim_agent", tag="owners", auth=Auth.OWNER, idempotent=True,
    summary="Claim an agent with its key. The agent keeps its key.",
    request=ClaimRequest, answers={200: Claimed},
    errors=(Code.NOT_FOUND, Code.OPERATOR_ONLY, Code.ALREADY_CLAIMED, Code.TOO_MANY_AGENTS),
)  # fmt: skip
RELEASE_AGENT: Final[Route[None]] = Route(
    method="DELETE", path="/api/owners/me/agents/{id}", name="release_agent", tag="owners", auth=Auth.OWNER,
    summary="Let an agent go: it has no owner then and keeps its key.", answers={204: None}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
REPLACE_AGENT_KEY: Final[Route[AgentKey]] = Route(
    method="POST", path="/api/owners/me/agents/{id}/keys", name="replace_agent_key", tag="owners", auth=Auth.OWNER,
    summary="Give an agent of yours a new API key; its old key stops working immediately.",
    request=NoFields, answers={201: AgentKey}, errors=(Code.NOT_FOUND,),
)  # fmt: skip

OWNERS: Final = (
    OPEN_OWNER,
    RECOVER_OWNER,
    READ_OWNER,
    ERASE_OWNER,
    REMOVE_SIGN_IN,
    REPLACE_CODES,
    REGISTER_OWNED_AGENT,
    CLAIM_AGENT,
    RELEASE_AGENT,
    REPLACE_AGENT_KEY,
)

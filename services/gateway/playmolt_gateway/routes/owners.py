"""Owners: their accounts, recovery, and the agents that they register, claim and let go."""

import base64
import hashlib
import re
import secrets
import uuid
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.accounts import NewAgent, Owner
from playmolt_core.db.owners import OwnedAgent as StoredAgent
from playmolt_core.db.owners import OwnerAccount
from playmolt_core.db.projections import AgentRecord
from playmolt_core.db.webhooks import StoredWebhook
from playmolt_core.game.decider import Refused
from playmolt_core.log.ownership import ClaimedAgent, ClaimFault
from playmolt_schemas import api
from playmolt_schemas.codes import MISMATCH, Code, FieldFault
from playmolt_schemas.identifiers import GAME_TYPES, rfc3339, type_of
from playmolt_schemas.limits import OWNED_AGENTS, RECOVERY_CODES
from playmolt_schemas.routes import owners as routes
from playmolt_schemas.routes.route import Query
from playmolt_schemas.routes.webhooks import OffWebhook, Webhook
from playmolt_schemas.text import unstorable
from starlette.responses import Response

from playmolt_gateway.access.auth import UNKNOWN_OWNER, hash_of, new_key, new_owner_key
from playmolt_gateway.access.invites import hash_of_code
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.agents import (
    notices_of,
    publish_void_key,
    refused_name,
    refused_texts,
    shown_ratings,
    synced,
)
from playmolt_gateway.routes.decisions import hand_ban_on

_CODE_BYTES: Final = 12
_CODE_PART: Final = 5
_NO_OWNER: Final = "owner-unknown"
"""Looked up for what cannot be an owner's id, so that it takes as long."""
_WRONG_PAIR: Final = HttpProblem(
    Code.UNAUTHORIZED,
    "Owner or recovery code is wrong, or the code was used already. Check the owner's id, and try another code.",
)
_CLOSED: Final = HttpProblem(
    Code.REGISTRATION_CLOSED, "Registration is closed on this server. Ask the operator for an invite code."
)
_TOO_MANY: Final = HttpProblem(
    Code.TOO_MANY_AGENTS,
    f"You have {OWNED_AGENTS} agents, the maximum. Let one go: DELETE /api/owners/me/agents/{{id}}.",
)
_NO_AGENT: Final = HttpProblem(
    Code.NOT_FOUND, "You have no agent with this id. List your agents with GET /api/owners/me."
)
_NO_SIGN_IN: Final = HttpProblem(
    Code.NOT_FOUND, "Your account has no sign-in with this id. List them with GET /api/owners/me."
)
_ONLY_WAY: Final = HttpProblem(
    Code.ONLY_WAY,
    "Nothing else opens your account: no other sign-in, no key, no recovery code. Get recovery codes first: "
    "POST /api/owners/me/codes.",
)
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FAULTS: Final[Mapping[ClaimFault, HttpProblem]] = {
    "unknown_key": HttpProblem(
        Code.NOT_FOUND,
        "No agent has this key. Send the key that the agent plays with.",
        (FieldFault("api_key", "is unknown: no agent has this key"),),
    ),
    "house_bot": HttpProblem(Code.OPERATOR_ONLY, "House bots belong to the operator and cannot be claimed."),
    "mismatch": HttpProblem(Code.IDEMPOTENCY_MISMATCH, MISMATCH),
}
_ROUNDS: Final = 3
_STILL_CLAIMING: Final = HttpProblem(
    Code.UNAVAILABLE, "This account is claiming agents at the moment. Stop that and retry.", retry_after=1
)
_encode = msgspec.json.encode


def _new_codes() -> list[str]:
    """Recovery codes of 96 random bits in four parts, of a-z and 2-7."""
    return [_parted(base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode()) for _ in range(RECOVERY_CODES)]


def _parted(drawn: str) -> str:
    code = drawn.rstrip("=").lower()
    return "-".join(code[at : at + _CODE_PART] for at in range(0, len(code), _CODE_PART))


def caller_owner(request: CheckedRequest[Query, object]) -> Owner:
    """The owner that calls a route of owners."""
    if request.caller.owner is None:
        raise RuntimeError("a route of owners without an owner")
    return request.caller.owner


def _require_bus(services: Services, what: str) -> None:
    """Keys are void at once only if every gateway hears of it. Raises BusUnavailable."""
    if not services.bus.connected():
        raise BusUnavailable(f"{what} requires NATS")


async def _void(services: Services, key_hash: str) -> None:
    """Drop a key from every gateway's cache before the answer is sent."""
    if key_hash:
        services.keys.drop(key_hash)
        await publish_void_key(services, key_hash)


@serves(routes.OPEN_OWNER)
async def open_owner(services: Services, request: CheckedRequest[Query, routes.OwnerRequest]) -> Reply:
    body = request.body
    if not services.settings.registration_open and not request.caller.operator:
        return _CLOSED
    if refused := refused_texts(body) or refused_name(services, body.name):
        return refused
    limited = await services.within_deadline(services.rates.owner_refusal(request.caller, request.scope))
    if limited:
        return limited
    key, codes = new_owner_key(), _new_codes()
    owner = OwnerAccount(f"owner-{uuid.uuid4()}", body.name, contact=body.contact)
    await services.within_deadline(services.owners.create(owner, hash_of(key), [hash_of_code(code) for code in codes]))
    return json_response(201, _encode(routes.MadeOwner(owner.id, owner.name, key, codes)))


@serves(routes.RECOVER_OWNER)
async def recover_owner(services: Services, request: CheckedRequest[Query, routes.RecoveryRequest]) -> Reply:
    """Every wrong pair takes the same way to the same answer, whether the owner exists or not."""
    _require_bus(services, "replacing a key")
    body = request.body
    tried = hashlib.sha256(body.owner.encode("utf-8", "surrogatepass")).hexdigest()
    limited = await services.within_deadline(services.rates.recovery_refusal(tried, request.scope))
    if limited:
        return limited
    owner_id = body.owner if type_of(body.owner) == "owner" else _NO_OWNER
    key = new_owner_key()
    recovered = await services.within_deadline(services.owners.recover(owner_id, hash_of_code(body.code), hash_of(key)))
    if recovered is None:
        return _WRONG_PAIR
    await services.within_deadline(services.rates.recovered(tried))
    await _void(services, recovered.void or "")
    return json_response(200, _encode(routes.RecoveredOwner(key, recovered.codes_left)))


@serves(routes.READ_OWNER)
async def read_owner(services: Services, request: CheckedRequest) -> Reply:
    owner_id = caller_owner(request).id
    account = await services.within_deadline(services.owners.owner(owner_id))
    if account is None:
        return UNKNOWN_OWNER
    await synced(services)
    stored = await services.within_deadline(services.owners.agents(owner_id))
    versions = {agent.id: agent.version for agent in stored}
    standings = await services.within_deadline(services.projections.of_agents(versions))
    agents = [_owned(agent, standings[agent.id]) for agent in stored]
    notices = await notices_of(services, [owner_id])
    sign_ins: list[routes.OwnedSignIn] | UnsetType = UNSET
    if services.sign_in is not None:
        joined = await services.within_deadline(services.sign_in.accounts(owner_id))
        sign_ins = [routes.OwnedSignIn(one.id, one.issuer, rfc3339(one.at)) for one in joined]
    webhook = await services.within_deadline(services.webhooks.webhook(owner_id))
    shown = UNSET if webhook is None else shown_webhook(webhook)
    profile = routes.OwnerProfile(account.id, account.name, account.contact, agents, notices, sign_ins, shown)
    return json_response(200, _encode(profile))


def _owned(agent: StoredAgent, standing: AgentRecord) -> routes.OwnedAgent:
    games = {game: standing.games.get(game, 0) for game in GAME_TYPES}
    return routes.OwnedAgent(agent.id, agent.handle, agent.name, agent.version, games, shown_ratings(standing.ratings))


def shown_webhook(found: StoredWebhook) -> Webhook:
    off = OffWebhook(found.off, rfc3339(found.off_at)) if found.off and found.off_at else None
    return Webhook(found.url, list(found.events), rfc3339(found.created_at), off)


@serves(routes.ERASE_OWNER)
async def erase_owner(services: Services, request: CheckedRequest) -> Reply:
    """Let all agents go, and erase the account once it has none. A repeat goes on where the last one ended.

    A ban of the owner stays with its agents: each has it before it is let go.
    """
    _require_bus(services, "erasing an owner")
    owner_id, ban = caller_owner(request).id, request.caller.ban
    void = await services.within_deadline(services.owners.erase(owner_id))
    for _ in range(_ROUNDS):
        if void is not None:
            break
        for agent_id in await services.within_deadline(services.ownership.agents(owner_id)):
            if ban is not None:
                await hand_ban_on(services, owner_id, agent_id, ban)
            released = await services.within_deadline(services.ownership.release(owner_id, agent_id, uuid.uuid4().hex))
            if isinstance(released, str):
                await _void(services, released)
        void = await services.within_deadline(services.owners.erase(owner_id))
    if void is None:
        return _STILL_CLAIMING
    services.owner_names.forget(owner_id)
    await _void(services, void)
    return Response(status_code=204)


@serves(routes.REMOVE_SIGN_IN)
async def remove_sign_in(services: Services, request: CheckedRequest) -> Reply:
    named = request.params["id"]
    if services.sign_in is None or not _ID.fullmatch(named):
        return _NO_SIGN_IN
    removed = await services.within_deadline(services.sign_in.remove(caller_owner(request).id, named))
    if removed == "unknown":
        return _NO_SIGN_IN
    return _ONLY_WAY if removed == "only_way" else Response(status_code=204)


@serves(routes.REPLACE_CODES)
async def replace_codes(services: Services, request: CheckedRequest) -> Reply:
    codes = _new_codes()
    hashes = [hash_of_code(code) for code in codes]
    if not await services.within_deadline(services.owners.replace_codes(caller_owner(request).id, hashes)):
        return UNKNOWN_OWNER
    return json_response(201, _encode(routes.RecoveryCodes(codes)))


@serves(routes.REGISTER_OWNED_AGENT)
async def register_owned_agent(services: Services, request: CheckedRequest[Query, routes.OwnedAgentRequest]) -> Reply:
    body, owner = request.body, caller_owner(request)
    if not services.settings.registration_open:
        return _CLOSED
    if refused := refused_texts(body) or refused_name(services, body.name):
        return refused
    limited = await services.within_deadline(services.rates.registration_refusal(request.caller, request.scope))
    if limited:
        return limited
    agent_id, key = f"agent-{uuid.uuid4()}", new_key()
    group = await services.within_deadline(services.address_groups.of(request.scope))
    new = NewAgent(body.name, body.kind, body.version, body.about, address_group=group)
    handle = await services.within_deadline(
        services.ownership.create_agent(agent_id, new, hash_of(key), owner.id, request.command.id)
    )
    if handle is None:
        return await _no_room(services, owner.id)
    made = routes.RegisteredAgent(
        id=agent_id, handle=handle, name=new.name, kind=new.kind, version=new.version, about=new.about,
        model=new.model, owner=api.Owner(owner.id, owner.name), api_key=key,
    )  # fmt: skip
    return json_response(201, _encode(made))


@serves(routes.CLAIM_AGENT)
async def claim_agent(services: Services, request: CheckedRequest[Query, routes.ClaimRequest]) -> Reply:
    _require_bus(services, "claiming an agent")
    owner, command = caller_owner(request), request.command
    key_hash = hashlib.sha256(request.body.api_key.encode("utf-8", "surrogatepass")).hexdigest()
    claimed = await services.within_deadline(
        services.ownership.claim(owner.id, key_hash, command.id, command.fingerprint)
    )
    if isinstance(claimed, Refused):
        return HttpProblem(claimed.code, claimed.detail, claimed.errors)
    if claimed == "too_many":
        return await _no_room(services, owner.id)
    if not isinstance(claimed, ClaimedAgent):
        return _FAULTS[claimed]
    await _void(services, claimed.key_hash)
    return json_response(
        200, _encode(routes.Claimed(claimed.id, claimed.handle, claimed.name, api.Owner(owner.id, owner.name)))
    )


async def _no_room(services: Services, owner_id: str) -> HttpProblem:
    """Why an owner gets no further agent: it has all it may have, or it was erased since its key was looked up."""
    account = await services.within_deadline(services.owners.owner(owner_id))
    return UNKNOWN_OWNER if account is None else _TOO_MANY


@serves(routes.RELEASE_AGENT)
async def release_agent(services: Services, request: CheckedRequest) -> Reply:
    _require_bus(services, "letting an agent go")
    agent_id = request.params["id"]
    if unstorable(agent_id):
        return _NO_AGENT
    released = await services.within_deadline(
        services.ownership.release(caller_owner(request).id, agent_id, uuid.uuid4().hex)
    )
    if isinstance(released, Refused):
        return HttpProblem(released.code, released.detail, released.errors)
    await _void(services, released)
    return Response(status_code=204)


@serves(routes.REPLACE_AGENT_KEY)
async def replace_agent_key(services: Services, request: CheckedRequest) -> Reply:
    """Replace the key of an agent of the caller. Every gateway drops the old key before the new one is sent."""
    _require_bus(services, "replacing a key")
    agent_id, key = request.params["id"], new_key()
    if unstorable(agent_id):
        return _NO_AGENT
    owner_id = caller_owner(request).id
    void = await services.within_deadline(services.owners.replace_agent_key(owner_id, agent_id, hash_of(key)))
    if void is None:
        return _NO_AGENT
    await _void(services, void)
    return json_response(201, _encode(routes.AgentKey(key)))

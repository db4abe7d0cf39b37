"""The operator's calls, health, metrics, documents, and the table of routes."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest
from fastapi.routing import APIRoute
from playmolt_gateway.routes.documents import openapi_bytes
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import ENGINES, GAME_TYPES, SESSION_TYPES
from playmolt_schemas.routes.agora import SHARE, UNSHARE
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Auth
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from starlette.routing import Route as Mounted


class TestOperator:
    async def test_stuck_games(self, platform: Any) -> None:
        platform.bus.engine = lambda _game, _call: (200, {"games": []})
        await platform.send("GET", "/api/admin/games?stuck=true&limit=5", headers=platform.operator)
        for _, call in platform.bus.calls:
            assert (call.op, json.loads(call.body)) == ("games", {"open": True, "idle_seconds": 600, "limit": 6})

    async def test_all_games_with_what_the_operator_needs(self, platform: Any) -> None:
        line = {
            "game_id": "ox-1", "gameType": "ox", "phase": "end", "round": 5, "seated": 5, "needed": 5,
            "created_at": "a", "over": True, "updated_at": "b", "version": 40, "language": "ko", "pace": "quick",
        }  # fmt: skip
        platform.bus.engine = lambda game, _call: (200, {"games": [line] if game == "ox" else []})
        page = (await platform.send("GET", "/api/admin/games", headers=platform.operator)).json()
        assert page == {"games": [line], "next_cursor": None}

    async def test_a_game(self, platform: Any, game: str) -> None:
        platform.bus.engine = lambda _game, _call: (200, {"config": {"seed": "1"}})
        response = await platform.send("GET", f"/api/admin/games/{game}", headers=platform.operator)
        assert response.json() == {"config": {"seed": "1"}}
        assert (platform.last().op, platform.last().operator) == ("operator", True)

    async def test_ending_a_game(self, platform: Any, game: str) -> None:
        path = f"/api/admin/games/{game}/end"
        await platform.send("POST", path, headers=platform.operator, json={"reason": "  stuck  "})
        call = platform.last()
        assert (call.op, call.target, call.body, call.operator) == ("end", game, b'{"reason":"stuck"}', True)

    @pytest.mark.parametrize("kind", ["agora", *SESSION_TYPES])
    async def test_runs_and_sessions_as_well(self, platform: Any, problem: Any, kind: str) -> None:
        session = f"{kind}-00000000-0000-7000-8000-000000000001"
        await platform.send(
            "POST", f"/api/admin/games/{session}/end", headers=platform.operator, json={"reason": "stuck"}
        )
        assert (platform.last().op, platform.last().target) == ("end", session)
        await platform.send("GET", f"/api/admin/games/{session}", headers=platform.operator)
        assert (platform.last().op, platform.last().target) == ("operator", session)
        platform.bus.engine = lambda _game, _call: (200, {"games": []})
        await platform.send("GET", f"/api/admin/games?gameType={kind}&stuck=true", headers=platform.operator)
        assert platform.bus.calls[-1][0] == kind
        unknown = await platform.send("GET", f"/api/admin/games/night-{session[6:]}", headers=platform.operator)
        assert problem(unknown) == (404, "not_found")

    @pytest.mark.parametrize("reason", ["", "  ", "a" * 201, "a\x00", "\ud800"])
    async def test_a_reason_is_needed(self, platform: Any, problem: Any, game: str, reason: str) -> None:
        body = json.dumps({"reason": reason}).encode()
        response = await platform.send("POST", f"/api/admin/games/{game}/end", headers=platform.operator, content=body)
        assert problem(response) == (400, "invalid_request")
        assert response.json()["errors"][0]["field"] == "reason"

    async def test_agents(self, platform: Any) -> None:
        ids = [platform.agent(f"Agent {n}")[0] for n in range(3)]
        page = (await platform.send("GET", "/api/admin/agents?limit=2", headers=platform.operator)).json()
        assert page["agents"] == [{"id": ids[n], "name": f"Agent {n}", "owner": None} for n in range(2)]
        path = f"/api/admin/agents?cursor={page['next_cursor']}"
        assert (await platform.send("GET", path, headers=platform.operator)).json()["agents"][0]["id"] == ids[2]

    async def test_lag_is_the_relays_word(self, platform: Any, problem: Any) -> None:
        assert problem(await platform.send("GET", "/api/admin/lag", headers=platform.operator)) == (503, "unavailable")
        platform.bus.answers["relay.lag"] = b'{"log":7}'
        assert (await platform.send("GET", "/api/admin/lag", headers=platform.operator)).json() == {"log": 7}

    async def test_the_whole_log_is_the_relays_word(self, platform: Any, problem: Any) -> None:
        path = "/api/admin/log?after=5&limit=10"
        assert problem(await platform.send("GET", path, headers=platform.operator)) == (503, "unavailable")
        platform.bus.answers["relay.log"] = b'{"records":[],"next_after":5}'
        response = await platform.send("GET", path, headers=platform.operator)
        assert response.json() == {"records": [], "next_after": 5}
        assert platform.bus.asked["relay.log"] == b'{"after":"5","limit":10}'

    async def test_a_cursor_of_another_log_is_a_fault_of_its_field(self, platform: Any) -> None:
        platform.bus.answers["relay.log"] = b'{"after":"a place in this log has 3 numbers"}'
        response = await platform.send("GET", "/api/admin/log?after=5", headers=platform.operator)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
        assert response.json()["errors"] == [{"field": "after", "message": "a place in this log has 3 numbers"}]
        response = await platform.send("GET", "/api/admin/log?after=5.x", headers=platform.operator)
        assert [each["field"] for each in response.json()["errors"]] == ["after"]


class TestHealth:
    async def test_alive(self, platform: Any) -> None:
        platform.bus.is_connected = False
        platform.store.away = True
        assert (await platform.send("GET", "/healthz")).status_code == 200

    async def test_ready_while_everything_answers(self, platform: Any) -> None:
        response = await platform.send("GET", "/readyz")
        assert response.status_code == 200
        assert set(response.json()["parts"]) == {
            *(f"engine.{game}" for games in ENGINES.values() for game in games),
            "nats", "postgres", "relay", "spectator", "feeds", "accepting",
        }  # fmt: skip

    async def test_a_standby_is_named(self, platform: Any) -> None:
        platform.store.away = platform.store.read_only = True
        for path in ("/readyz", "/readyz?self"):
            response = await platform.send("GET", path)
            assert (response.status_code, response.json()["reason"]) == (503, "read_only")
            assert response.json()["parts"]["postgres"] is False
        assert "playmolt_database_read_only 1" in (await platform.send("GET", "/metrics")).text
        platform.store.away = platform.store.read_only = False
        assert "playmolt_database_read_only 0" in (await platform.send("GET", "/metrics")).text

    @pytest.mark.parametrize("part", ["nats", "postgres", "engine.ox", "relay", "spectator", "feeds", "accepting"])
    async def test_each_missing_part_is_named(self, platform: Any, problem: Any, part: str) -> None:
        platform.bus.is_connected = part != "nats"
        platform.store.away = part == "postgres"
        platform.bus.games -= {part.removeprefix("engine.")}
        platform.bus.names -= {part}
        platform.bus.moving = part != "feeds"
        if part == "accepting":
            platform.gateway.close()
        response = await platform.send("GET", "/readyz")
        assert problem(response) == (503, "unavailable")
        assert [name for name, there in response.json()["parts"].items() if not there] == [part]
        own = (await platform.send("GET", "/readyz?self")).status_code
        assert own == (503 if part in ("nats", "postgres", "accepting") else 200)

    async def test_metrics_count_by_route_and_status(self, platform: Any, game: str) -> None:
        _, key = platform.agent()
        await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=key)
        await platform.send("POST", f"/api/games/{game}/actions", json={})
        await platform.send("GET", "/api/games?limit=0")
        await platform.send("GET", "/nowhere")
        text = (await platform.send("GET", "/metrics")).text
        for expected in (
            '_requests_total{route="act",status="200"} 1',
            '_requests_total{route="act",status="401"} 1',
            '_requests_total{route="list_games",status="400"} 1',
            '_requests_total{route="none",status="404"} 1',
            '_request_seconds_count{route="act"} 2',
            '_request_seconds_bucket{route="act",le="+Inf"} 2',
            "_in_flight 1",
        ):
            assert f"playmolt_gateway{expected}\n" in text
        assert game not in text


class TestCors:
    async def test_anybody_may_get(self, platform: Any, game: str) -> None:
        for path in ("/api/games?limit=0", "/healthz", "/nowhere"):
            assert (await platform.send("GET", path)).headers["access-control-allow-origin"] == "*"
        ask = {"Origin": "https://x.example", "Access-Control-Request-Method": "GET"}
        preflight = await platform.send("OPTIONS", f"/api/games/{game}/state", headers=ask)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-methods"] == "GET, HEAD"
        assert "authorization" in preflight.headers["access-control-allow-headers"]

    async def test_nobody_may_post_from_elsewhere(self, platform: Any, game: str) -> None:
        ask = {"Origin": "https://x.example", "Access-Control-Request-Method": "POST"}
        for path in (f"/api/games/{game}/actions", "/api/agents"):
            assert (await platform.send("OPTIONS", path, headers=ask)).status_code == 405
            assert "access-control-allow-origin" not in (await platform.send("POST", path, json={})).headers


class TestDocuments:
    async def test_openapi_is_served_as_generated(self, platform: Any) -> None:
        assert (await platform.send("GET", "/openapi.json")).content == openapi_bytes()
        assert platform.gateway.api.openapi() == json.loads(openapi_bytes())

    async def test_the_page_of_the_api_needs_no_network(self, platform: Any) -> None:
        response = await platform.send("GET", "/docs")
        assert response.headers["content-type"].startswith("text/html")
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        found = _Links()
        found.feed(response.text)
        assert not [link for link in found.outside if not link.startswith("/")]
        assert found.inside <= found.ids, "every link within the page has its target"
        for route in ROUTES:
            assert f"{route.method} {route.path}" in response.text

    async def test_the_page_of_the_api_has_the_readers_language_and_is_sent_small(self, platform: Any) -> None:
        titles = {}
        for language in ("en", "ko", "zh"):
            response = await platform.send("GET", f"/docs?lang={language}")
            assert response.status_code == 200
            assert f'<html lang="{language}">' in response.text
            assert response.headers["content-encoding"] in ("br", "gzip")
            titles[language] = response.text.partition("<title>")[2].partition("</title>")[0]
        assert titles["en"] != titles["ko"]

    async def test_llms_txt_names_the_calls_of_a_bot(self, platform: Any) -> None:
        text = (await platform.send("GET", "/llms.txt")).text.replace("GAME_ID", "{id}")
        paths = {route.path for route in ROUTES}
        named = {path.rstrip(".") for path in re.findall(r"/api/[a-z/{}]+", text)}
        assert named
        assert named <= paths | {"/api/games"}
        assert "{{" not in text
        for name in ("join_game", "wait_for_turn", "act", "register_agent"):
            assert next(route.path for route in ROUTES if route.name == name) in named

    @pytest.mark.parametrize("game_type", GAME_TYPES)
    async def test_guides_are_served_filled_in(self, platform: Any, game_type: str) -> None:
        texts = {}
        for language in ("en", "ko", "zh"):
            response = await platform.send("GET", f"/skills/{game_type}.md?lang={language}")
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/markdown")
            assert response.headers["content-language"] == language
            assert "{{" not in response.text
            assert "/api/games/join" in response.text
            texts[language] = response.text
        assert len(set(texts.values())) == 3
        assert (await platform.send("GET", f"/skills/{game_type}.md")).text == texts["en"]
        assert (await platform.send("GET", f"/skills/{game_type}.md?lang=fr")).status_code == 400

    async def test_guides_name_the_address_they_are_served_from(self, make_platform: Any) -> None:
        """A forwarded address is a trusted proxy's alone, and none is one that a shell would take for more."""
        said = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "arena.example"}

        async def served(settings: dict[str, Any], **headers: str) -> tuple[set[str], set[str]]:
            answer = await make_platform(**settings).send("GET", "/skills/ox.md", headers=headers)
            named = set(re.findall(r"\w+://[^/\s`\"${]+", answer.text))
            watched = {address for address in named if address.startswith("ws")}
            return named - watched, watched

        near = {"spectator_port": 8081}
        assert await served(near, Host="10.1.2.3:80") == (
            {"http://10.1.2.3:80", "http://10.1.2.3:8081"}, {"ws://10.1.2.3:8081"},
        )  # fmt: skip
        assert await served(near, Host="10.1.2.3:80", **said) == await served(near, Host="10.1.2.3:80")
        behind = {"spectator_port": 0, "trusted_proxies": "127.0.0.1"}
        assert await served(behind, Host="x", **said) == ({"https://arena.example"}, {"wss://arena.example"})
        for evil in ("a;reboot", "$(reboot)", "a b", 'a"', "-" * 300):
            (named, _) = await served(behind, **said | {"X-Forwarded-Host": evil})
            assert not any("reboot" in address for address in named)
        public = {"public_url": "https://arena.example/", "spectator_url": "https://watch.example"}
        assert await served(public, Host="10.1.2.3:80") == (
            {"https://arena.example", "https://watch.example"}, {"wss://watch.example"},
        )  # fmt: skip


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.inside: set[str] = set()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("rel", "canonical") in attrs:  # a name of the page; nothing loads it
            return
        for name, value in attrs:
            if name in ("src", "href") and value:
                if value.startswith("#"):
                    self.inside.add(value[1:])
                else:
                    self.outside.append(value)
            if name == "id" and value:
                self.ids.add(value)


PUBLIC_OF_RUNS = {"list_runs", "read_run_events"}


class TestRoutes:
    def test_every_declared_route_is_mounted_and_no_other(self, make_platform: Any) -> None:
        mounted = {
            (method, route.path)
            for route in make_platform().gateway.api.router.routes
            if isinstance(route, APIRoute | Mounted)
            for method in route.methods or ()
        }
        heads = {("HEAD", route.path) for route in ROUTES if route.method == "GET" and not route.writes}
        assert mounted == {(route.method, route.path) for route in ROUTES} | heads

    def test_names_are_unique_and_posts_declare_their_bodies(self) -> None:
        assert len({route.name for route in ROUTES}) == len(ROUTES)
        for route in ROUTES:
            assert (route.request is not None) == (route.method in ("POST", "PUT", "PATCH"))
            once = (
                "register_agent", "rotate_key", "jury_bring_case", "open_visitor", "open_invite", "link_file",
                "open_owner", "recover_owner", "replace_codes", "register_owned_agent", "replace_agent_key",
                "sign_out", "take_house_seats",
            )  # fmt: skip
            assert route.idempotent == (route.method == "POST" and route.name not in once)
            operators = route.path.startswith("/api/admin") or (
                route.tag == "agora" and route.name not in PUBLIC_OF_RUNS and route not in (SHARE, UNSHARE)
            )
            assert operators == (route.auth is Auth.OPERATOR)

    def test_the_document_is_valid_openapi(self) -> None:
        """Structure by the rules of OpenAPI 3.1, every schema by its own meta-schema, every reference resolved."""
        document = json.loads(openapi_bytes())
        assert document["openapi"].startswith("3.1")
        resource = DRAFT202012.create_resource(document)
        resolver = Registry().with_resource("", resource).resolver("")
        for node in _nodes(document):
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                assert resolver.lookup(node["$ref"]).contents
            if isinstance(node, dict) and isinstance(node.get("discriminator"), dict):
                assert all(resolver.lookup(part).contents for part in node["discriminator"]["mapping"].values())
        schemas = list(document["components"]["schemas"].values())
        for path, methods in document["paths"].items():
            in_path = set(re.findall(r"{(\w+)}", path))
            for operation in methods.values():
                declared = [p for p in operation["parameters"] if p["in"] == "path"]
                assert {p["name"] for p in declared} == in_path
                assert all(p["required"] for p in declared)
                assert len({(p["in"], p["name"]) for p in operation["parameters"]}) == len(operation["parameters"])
                assert all(response["description"] for response in operation["responses"].values())
                assert all(set(choice) <= {"agent", "visitor", "owner", "operator"} for choice in operation["security"])
                schemas += [p["schema"] for p in operation["parameters"]]
        for schema in schemas:
            jsonschema.Draft202012Validator.check_schema(schema)
        ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
        assert sorted(ids) == sorted(route.name for route in ROUTES)

    def test_optional_fields_of_requests_have_no_default(self) -> None:
        """Generators of clients require a field that has one."""
        document = json.loads(openapi_bytes())
        components = document["components"]["schemas"]
        waiting = [
            operation.get("requestBody") for methods in document["paths"].values() for operation in methods.values()
        ]
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict):
                assert "default" not in node, node
                name = str(node.get("$ref", "")).rpartition("/")[2]
                if name and name not in seen:
                    seen.add(name)
                    waiting += [{key: part for key, part in components[name].items() if key != "title"}]
                waiting += node.values()
            elif isinstance(node, list):
                waiting += node
        assert {"RegisterRequest", "JoinRequest", "OpenRequest", "OpenSessionRequest", "Plan", "RoomSeat"} <= seen
        assert components["RegisterRequest"]["required"] == ["name"]
        assert components["RegisterRequest"]["properties"]["kind"]["description"].endswith('Default: "bot".')

    def test_every_query_parameter_has_bounds(self) -> None:
        document = json.loads(openapi_bytes())
        components = document["components"]["schemas"]
        parameters = [
            (f"{method} {path} {parameter['name']}", parameter["schema"])
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            for parameter in operation["parameters"]
            if parameter["in"] in ("query", "header") and parameter["name"] != "wait"  # a longer one is shortened
        ]

        def bounded(schema: Any) -> bool:
            if "$ref" in schema:
                return bounded(components[schema["$ref"].rpartition("/")[2]])
            if "anyOf" in schema:
                return all(map(bounded, schema["anyOf"]))
            if schema.keys() & {"enum", "const"} or schema["type"] in ("boolean", "null"):
                return True
            ends = {"integer": {"minimum", "maximum"}, "number": {"minimum", "maximum"}}.get(schema["type"])
            return ends <= schema.keys() if ends else bool(schema.keys() & {"maxLength", "pattern"})

        assert len(parameters) > 100
        assert [name for name, schema in parameters if not bounded(schema)] == []

    def test_generators_of_clients_can_read_it(self) -> None:
        """No schema is a boolean, a tuple has a length, a component is named by letters and digits alone; a list is no
        one of several types, and nothing that may be of several has a default. What a value is *not* has no class."""
        document = json.loads(openapi_bytes())
        nodes = [node for node in _nodes(document) if isinstance(node, dict)]
        excluded = [node["not"] for node in nodes if "not" in node]
        for name, schema in document["components"]["schemas"].items():
            assert re.fullmatch("[A-Za-z0-9]+", name)
            assert not name.startswith("Routes")  # a module's
            assert schema["title"] == name
        assert {"Turn", "SessionTurn", "JuryCase"} <= document["components"]["schemas"].keys()
        tuples = 0
        for node in nodes:
            assert not isinstance(node.get("items"), bool)
            assert not {"const", "default"} <= node.keys() or node["type"] != "boolean"
            for several in (node.get("anyOf", ()), node.get("oneOf", ()), node.get("type", "")):
                kinds = [kind for kind in several if kind not in ("null", {"type": "null"})]
                if not isinstance(several, str) and len(kinds) > 1 and not any(node is one for one in excluded):
                    assert "default" not in node
                    assert not any(kind == "array" or "items" in kind for kind in kinds)
            for named in ("properties", "$defs", "schemas"):
                assert not any(isinstance(schema, bool) for schema in node.get(named, {}).values())
            if "prefixItems" in node:
                tuples += 1
                assert node["minItems"] == node["maxItems"] == len(node["prefixItems"])
        assert tuples > 2

    def test_every_refusal_is_in_the_document(self) -> None:
        document = json.loads(openapi_bytes())
        for route in ROUTES:
            responses = document["paths"][route.path][route.method.lower()]["responses"]
            for code in route.refusals():
                schema = responses[str(code.status)]["content"]["application/problem+json"]["schema"]
                assert code.wire in schema["properties"]["code"]["enum"]
        used = {code for route in ROUTES for code in route.refusals()}
        assert used == set(Code) - {
            Code.METHOD_NOT_ALLOWED,
            Code.HEADERS_TOO_LARGE,
            Code.UNSUPPORTED_CODING,
            Code.UNKNOWN_HOST,
            Code.UNSUPPORTED_VERSION,
        }

    async def test_answers_fit_the_document(self, platform: Any) -> None:
        document = json.loads(openapi_bytes())
        document = json.loads(json.dumps(document).replace("#/components/schemas/", "#/$defs/"))
        store = {"$defs": document["components"]["schemas"]}
        refused = await platform.send("GET", "/api/games?limit=0")
        made = await platform.send("POST", "/api/agents", json={"name": "Ada"})
        for response, path, method in ((refused, "/api/games", "get"), (made, "/api/agents", "post")):
            answer = document["paths"][path][method]["responses"][str(response.status_code)]
            schema = answer["content"][response.headers["content-type"]]["schema"]
            jsonschema.Draft202012Validator(schema | store).validate(response.json())
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator({"$ref": "#/$defs/Registered"} | store).validate({"id": 1})


def _nodes(value: Any) -> Any:
    yield value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from _nodes(child)


async def test_the_first_fault_counts(platform: Any) -> None:
    """A series that is born with its first fault has no growth, and an alert on it never fires."""
    page = (await platform.send("GET", "/metrics")).text
    for status in (500, 503):
        assert f'playmolt_gateway_requests_total{{route="act",status="{status}"}} 0' in page

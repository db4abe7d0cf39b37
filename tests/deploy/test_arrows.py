"""Who may open a connection to whom: the arrows of the architecture and no others."""

from ipaddress import ip_address, ip_network

import pytest

from tests.deploy.manifests import COMPONENT, Json, of_kind, render, templates, with_component

Arrow = tuple[str, str, int]

PORTS = (
    53,
    80,
    443,
    4222,
    4317,
    4318,
    5432,
    6222,
    6443,
    7777,
    8000,
    8080,
    8081,
    8082,
    8083,
    8222,
    8545,
    8888,
    9187,
    13133,
    50051,
)
ENGINES = ("trial-engine", "ox-engine", "legal-orchestrator", "agora-runner", "tournament-engine")
ON_THE_LOG = ("gateway", *ENGINES, "relay")
SERVICES = (*ON_THE_LOG, "spectator")
WITH_MODELS = ("trial-engine", "legal-orchestrator", "agora-runner")
JOBS = ("migrations", "log-anchor", "log-verify", "scores")
DAILY = ("archive", "retention", "seal")
NAMESPACES = {
    "edge": {"playmolt/edge": "true"},
    "monitoring": {"playmolt/monitoring": "true"},
    "models": {"playmolt/models": "true"},
    "cnpg-system": {"kubernetes.io/metadata.name": "cnpg-system"},
    "kube-system": {"kubernetes.io/metadata.name": "kube-system"},
    "another": {"kubernetes.io/metadata.name": "another"},
}
ADDRESSES = {
    "internet": "203.0.113.7", "internet6": "2001:db8::7", "private": "10.20.30.40", "shared": "100.64.0.9",
    "private6": "fd00::7", "link6": "fe80::7", "node-dns": "169.254.20.10", "metadata": "169.254.169.254",
    "apiserver": "10.96.0.1", "balancer": "192.0.2.9",
}  # fmt: skip


def every(sources: tuple[str, ...], target: str, *ports: int) -> set[Arrow]:
    return {(source, target, port) for source in sources for port in ports}


PUBLIC = ("internet", "internet6", "balancer")
RESOLVERS = ("kube-system", "node-dns", "metadata")
EVERYBODY = (*SERVICES, *JOBS, "agora-lab", "house", "nats", "postgres", "otel-collector")
COMMON: set[Arrow] = {
    *every(("house",), "gateway", 8080),
    *every(("edge",), "gateway", 8080),
    *every(("edge",), "spectator", 8081),
    *every(SERVICES, "nats", 4222),
    *every(ON_THE_LOG, "postgres", 5432),
    *every((*JOBS, "agora-lab"), "postgres", 5432),
    *every(("agora-runner",), "agora-lab", 8083),
    *every(("nats",), "nats", 6222),
    *every((*SERVICES, "agora-lab"), "otel-collector", 4318),
    # Models, and bots that are called.
    *(arrow for public in PUBLIC for arrow in every((*WITH_MODELS, "gateway"), public, 443)),
    *every(WITH_MODELS, "models", *PORTS),
    *every(("otel-collector",), "monitoring", *PORTS),
    *(arrow for resolver in RESOLVERS for arrow in every(EVERYBODY, resolver, 53)),
}
DEVELOPMENT: set[Arrow] = COMMON | {
    *every(("trial-engine",), "chain", 8545),
    *(arrow for resolver in RESOLVERS for arrow in every(("chain",), resolver, 53)),
}
PRODUCTION: set[Arrow] = COMMON | {
    *every(DAILY, "postgres", 5432),
    *(arrow for public in PUBLIC for arrow in every(("archive", "retention"), public, 443)),
    *(arrow for resolver in RESOLVERS for arrow in every(DAILY, resolver, 53)),
    *every(("monitoring",), "gateway", 8080),
    *every(("monitoring",), "spectator", 8081),
    *(arrow for service in (*ENGINES, "relay") for arrow in every(("monitoring",), service, 8082)),
    *every(("monitoring",), "otel-collector", 8888),
    *every(("monitoring",), "postgres", 9187),
    *every(("monitoring",), "nats", 7777),
    *every(("postgres", "cnpg-system"), "postgres", 5432, 8000),
    *(arrow for public in PUBLIC for arrow in every(("postgres",), public, 443)),  # backups
    *every(("postgres",), "apiserver", 443, 6443),
}


def pods(objects: list[Json]) -> dict[str, dict[str, str]]:
    found = {
        template["metadata"]["labels"][COMPONENT]: template["metadata"]["labels"] for _, template in templates(objects)
    }
    for cluster in of_kind(objects, "Cluster"):
        labels = cluster["spec"]["inheritedMetadata"]["labels"]
        found[labels[COMPONENT]] = labels
    return found


def holds(selector: Json | None, labels: dict[str, str]) -> bool:
    assert selector is None or set(selector) <= {"matchLabels"}
    wanted: dict[str, str] = (selector or {}).get("matchLabels", {})
    return wanted.items() <= labels.items()


class Network:
    """What the policies of one overlay let through."""

    def __init__(self, objects: list[Json]) -> None:
        self.pods = pods(objects)
        self._policies = [one["spec"] for one in of_kind(objects, "NetworkPolicy")]

    def arrows(self) -> set[Arrow]:
        """Every connection that is allowed and has one of our pods at an end."""
        ends = (*self.pods, *NAMESPACES, *ADDRESSES)
        return {
            (source, target, port)
            for source in ends
            for target in ends
            if source in self.pods or target in self.pods
            for port in self._ports(source, target, "egress") & self._ports(target, source, "ingress")
        }

    def _ports(self, pod: str, peer: str, way: str) -> set[int]:
        """The ports on which a pod may reach a peer, or be reached by it."""
        if pod not in self.pods:
            return set(PORTS)
        mine = [
            policy
            for policy in self._policies
            if way.capitalize() in policy["policyTypes"] and holds(policy["podSelector"], self.pods[pod])
        ]
        if not mine:
            return set(PORTS)
        side = {"egress": "to", "ingress": "from"}[way]
        rules = [rule for policy in mine for rule in policy.get(way, [])]
        passing = [rule for rule in rules if any(self._is(one, peer) for one in rule[side])]
        open_ = [{one["port"] for one in rule["ports"]} if "ports" in rule else set(PORTS) for rule in passing]
        return set(PORTS).intersection(set().union(*open_))

    def _is(self, peer: Json, end: str) -> bool:
        if "ipBlock" in peer:
            return end in ADDRESSES and _within(peer["ipBlock"], ADDRESSES[end])
        if "namespaceSelector" in peer:
            return end in NAMESPACES and holds(peer["namespaceSelector"], NAMESPACES[end])
        return end in self.pods and holds(peer["podSelector"], self.pods[end])


def _within(block: Json, address: str) -> bool:
    inside = ip_address(address) in ip_network(block["cidr"])
    return inside and not any(ip_address(address) in ip_network(one) for one in block.get("except", []))


NOT_PUBLIC = {
    "0.0.0.0/0": {"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"},
    "::/0": {"fc00::/7", "fe80::/10"},
}


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_a_way_out_is_for_both_families_to_public_addresses_on_one_port(overlay: str) -> None:
    for policy in of_kind(render(overlay), "NetworkPolicy"):
        for rule in policy["spec"].get("egress", []):
            blocks = {peer["ipBlock"]["cidr"]: peer["ipBlock"] for peer in rule["to"] if "ipBlock" in peer}
            if not blocks.keys() & NOT_PUBLIC.keys():
                continue
            assert {cidr: set(block["except"]) for cidr, block in blocks.items()} == NOT_PUBLIC
            assert rule["ports"] == [{"port": 443, "protocol": "TCP"}]


@pytest.mark.parametrize(("overlay", "expected"), [("dev", DEVELOPMENT), ("prod", PRODUCTION)], ids=["dev", "prod"])
def test_every_arrow_of_the_architecture_is_open_and_no_other(overlay: str, expected: set[Arrow]) -> None:
    found = Network(render(overlay)).arrows()
    assert expected - found == set()
    assert found - expected == set()


def test_a_policy_that_is_missing_on_one_side_closes_the_arrow() -> None:
    objects = [one for one in render("dev") if one["metadata"]["name"] != "relay" or one["kind"] != "NetworkPolicy"]
    assert not [arrow for arrow in Network(objects).arrows() if arrow[0] == "relay" and arrow[1] not in RESOLVERS]


def test_without_the_default_everybody_could_reach_an_unnamed_pod() -> None:
    objects = [one for one in render("dev") if one["kind"] != "NetworkPolicy"]
    assert ("another", "postgres", 5432) in Network(objects).arrows()


def test_a_balancer_whose_proxies_are_no_pods_is_let_in_by_a_component() -> None:
    before, after = Network(render("prod")).arrows(), Network(with_component("edge-cidr")).arrows()
    assert after - before == {("balancer", "gateway", 8080), ("balancer", "spectator", 8081)}
    assert before <= after


def test_with_cilium_the_api_server_is_an_entity() -> None:
    objects = with_component("cilium")
    (policy,) = of_kind(objects, "CiliumNetworkPolicy")
    assert policy["metadata"]["name"] == "postgres-apiserver"
    assert policy["spec"]["egress"][0]["toEntities"] == ["kube-apiserver"]
    assert policy["spec"]["endpointSelector"] == {"matchLabels": {COMPONENT: "postgres"}}
    gone = Network(render("prod")).arrows() - Network(objects).arrows()
    assert gone == {("postgres", "apiserver", 443), ("postgres", "apiserver", 6443)}


def test_nothing_passes_by_default() -> None:
    (deny,) = [one for one in render("prod") if one["metadata"]["name"] == "default-deny"]
    assert deny["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}

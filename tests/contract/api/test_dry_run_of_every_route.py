"""Every route of the resource API that changes something takes ``dryRun=All``. The route table is the list of them."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.deliveries import PUSH, SECRET, hooked
from tests.contract.api.repositories import REPOSITORIES
from tests.contract.api.test_audit_of_every_route import ASKS, READING, REPOSITORY, Ask, Made, PreparedCall, ask, prepared
from tests.contract.api.test_sync_from_git import dashboard, synced
from tests.servers.git import GitServer, git
from tests.servers.git_host import signature

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.routing import Route
from dashwright.common.messaging.memory import MemoryBroker

REVIEW: Final = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WEBHOOK: Final = f"POST {REPOSITORY}/webhook"
TRIAL: Final = f"POST {REPOSITORY}/test"
KEEPS_NOTHING: Final = frozenset({REVIEW, TRIAL})
"""These ask for a response only, with or without a dry run."""
BESIDE: Final = frozenset({"git_host", "git_host_share", "user"})
"""Tables that count the requests to git hosts, which a dry run asks as well, and tell when users were last seen."""


async def team(_: Api, __: Made) -> str:
    """The repository of the fixture."""
    return "team"


async def hooked_repository(api: Api, _: Made) -> str:
    await hooked(api)
    return "boards"


# Calls of repositories that need a real one on a git host, and of routes that are on no record.
OWN: Final[Mapping[str, Ask]] = {
    f"POST {REPOSITORY}/files/{{path:rest}}": ask(json.loads(dashboard("new", "New")), name=team, path="deep/new.json"),
    f"PUT {REPOSITORY}/files/{{path:rest}}": ask(json.loads(dashboard("a", "Changed")), name=team, path="a.json"),
    f"DELETE {REPOSITORY}/files/{{path:rest}}": ask(name=team, path="b.json"),
    f"POST {REPOSITORY}/sync": ask({"incremental": True}, name=team),
    f"POST {REPOSITORY}/rollback": ask(name=team),
    f"POST {REPOSITORY}/export": ask({"branch": "exported"}, name=team),
    f"POST {REPOSITORY}/jobs": ask([{"action": "export", "export": {"branch": "exported"}}], name=team),
    TRIAL: ask(name=team),
    WEBHOOK: ask(name=hooked_repository),
    REVIEW: ask({"spec": {"resourceAttributes": {"verb": "list", "group": "dashboard.grafana.app", "resource": "dashboards"}}}),
}


@dataclass(frozen=True)
class Kept:
    """Everything that a request may leave behind: rows by table, branches, files, and messages to queues."""

    tables: Mapping[str, str]
    branches: str
    files: Mapping[str, bytes]
    messages: tuple[str, ...]

    def changed(self, after: "Kept") -> list[str]:
        """Return what differs: tables by name, and the rest by what it is."""
        tables = [name for name, digest in self.tables.items() if after.tables[name] != digest]
        rest = ("branches", "files", "messages")
        return tables + [name for name in rest if getattr(self, name) != getattr(after, name)]


@dataclass(frozen=True)
class System:
    """A gateway, a worker, and a repository ``team`` with two commits, of which both were synced and a third was not."""

    api: Api
    root: Path
    messages: list[str]

    async def kept(self) -> Kept:
        async with self.api.database.connection() as connection:
            names = [row["name"] for row in await connection.fetch("select tablename as name from pg_tables where schemaname = 'public'")]
            digest = "select md5(coalesce(string_agg(row::text, ',' order by row::text), '')) from {} as row"
            tables = {name: await connection.fetchval(digest.format(f'"{name}"')) for name in names if name not in BESIDE}
        branches = git(self.root / "git-server" / "team.git", "for-each-ref")
        ours = (self.root / "data", self.root / "git-server")  # copies of repositories are a cache
        found = (path for path in self.root.rglob("*") if path.is_file() and not any(path.is_relative_to(one) for one in ours))
        return Kept(tables, branches, {str(path): path.read_bytes() for path in found}, tuple(self.messages))


@pytest.fixture
async def system(git_api: Api, git_server: GitServer, broker: MemoryBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    work = git_server.make("team.git")
    spec = {"title": "Team", "type": "githost", "workflows": ["write", "branch"], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": git_server.url("team.git"), "branch": "main"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
    for title in ("A", "A2"):
        work.commit({"a.json": dashboard("a", title), "b.json": dashboard("b", "B")})
        assert (await synced(git_api))["state"] == "success"
    work.commit({"c.json": dashboard("c", "C")})
    messages: list[str] = []
    publish = broker.publish

    async def recorded(exchange: str, routing_key: str, *rest: Any, **options: Any) -> None:
        messages.append(f"{exchange} {routing_key}")
        await publish(exchange, routing_key, *rest, **options)

    monkeypatch.setattr(broker, "publish", recorded)
    return System(git_api, tmp_path, messages)


def tried(routes: list[Route]) -> dict[str, Route]:
    """Everything in the resource API that is not only read."""
    return {
        f"{route.method} {route.path}": route for route in routes if route.method not in READING and route.error_shape is ErrorShape.STATUS
    }


async def all_prepared(system: System) -> dict[str, PreparedCall]:
    asks, calls = {**ASKS, **OWN}, {}
    for name, route in tried(system.api.routes).items():
        assert name in asks, f"give {name} a call that this test can try"
        calls[name] = await prepared(system.api, route, asks[name])
    body = json.dumps(PUSH).encode()
    headers = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": signature(SECRET, body)}
    delivered = calls[WEBHOOK]
    calls[WEBHOOK] = PreparedCall("POST", delivered.path, PUSH, None, headers)
    # Their health is known for the whole test: a request that has to look first records what it saw.
    await system.api.sql(
        "update resource set status = jsonb_set(status::jsonb, '{health}', '{\"healthy\": true, \"checked\": 9000000000000}')::text "
        "where resource = 'repositories' returning 1"
    )
    await settled(system.api)
    return calls


async def settled(api: Api) -> None:
    """Wait until the worker has ended all jobs, and everything it was to publish is."""
    heard = asyncio.Event()
    running = "select count(*) from job where state in ('pending', 'working') and action <> 'evaluate'"
    open_ones = f"select ({running}) + (select count(*) from outbox)"
    async with asyncio.timeout(60), api.database.listen("change", lambda _: heard.set(), heard.set):
        while await api.sql(open_ones):
            heard.clear()
            with suppress(TimeoutError):  # the outbox is emptied without a notification
                await asyncio.wait_for(heard.wait(), timeout=0.1)


async def test_a_dry_run_keeps_nothing_of_what_the_call_does(system: System) -> None:
    """Each succeeds as a dry run and leaves rows, branches, files and queues as they are. Then each is done, and something is left."""
    calls = await all_prepared(system)
    before = await system.kept()
    for name, call in calls.items():
        status, answer = await call.send(system.api, query="dryRun=All")
        assert status < 300, (name, answer)
        assert (name, before.changed(await system.kept())) == (name, [])
    for name, call in calls.items():
        before = await system.kept()
        status, answer = await call.send(system.api)
        assert status < 300, (name, answer)
        assert name in KEEPS_NOTHING or before.changed(await system.kept()), name


async def test_only_all_is_a_dry_run_of_any_route(system: System) -> None:
    """Every route names the parameter in the API's description, and refuses another value: it must not write then."""
    calls = await all_prepared(system)
    for name, route in tried(system.api.routes).items():
        assert route.operation is not None
        assert "dryRun" in route.operation.query, name
    before = await system.kept()
    for name, call in calls.items():
        status, answer = await call.send(system.api, query="dryRun=all")
        assert (name, status, "dryRun 'all' is not understood" in answer["message"]) == (name, 400, True)
    assert before.changed(await system.kept()) == []

"""Every changing route of the resource API accepts ``dryRun=All``. The tests take the routes from the route table."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.deliveries import PUSH, SECRET, create_hooked_repository
from tests.contract.api.preferred_versions import in_preferred_versions
from tests.contract.api.repositories import REPOSITORIES
from tests.contract.api.test_audit_of_every_route import (
    BATCH,
    READ_METHODS,
    REPOSITORY,
    TEMPLATES,
    CallTemplate,
    CreatedValues,
    CreateValue,
    PreparedCall,
    batch,
    failed_batch,
    prepare_call,
    template,
    template_selecting,
)
from tests.contract.api.test_sync_from_git import dashboard, run_sync
from tests.servers.git import GitServer, git
from tests.servers.git_host import signature

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.routing import Route
from dashwright.common.messaging.memory import MemoryBroker

REVIEW: Final = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WEBHOOK: Final = f"POST {REPOSITORY}/webhook"
TEST_ROUTE: Final = f"POST {REPOSITORY}/test"
#: Routes that only return a response, with or without a dry run.
ROUTES_WITHOUT_EFFECT: Final = frozenset({REVIEW, TEST_ROUTE})
#: Tables that a dry run may change: they count requests to git hosts, and have the times when users were last seen.
VARYING_TABLES: Final = frozenset({"git_host", "git_host_share", "user"})


async def team(_: Api, __: CreatedValues) -> str:
    """Return the name of the fixture's repository."""
    return "team"


async def create_and_settle(api: Api, create_batch: CreateValue, created: CreatedValues) -> str:
    """Create a batch and wait until the worker has nothing to do for it."""
    name = str(await create_batch(api, created))
    async with asyncio.timeout(30):
        while await api.sql("select is_changed or not is_reported from batch where name = $1", name):
            pass
    return name


async def settled_batch(api: Api, created: CreatedValues) -> str:
    """Create a batch for which the worker has nothing to do, and return its name."""
    return await create_and_settle(api, batch, created)


async def settled_failed_batch(api: Api, created: CreatedValues) -> str:
    """Create a batch with a failed item, for which the worker has nothing to do, and return its name."""
    return await create_and_settle(api, failed_batch, created)


async def hooked_repository(api: Api, _: CreatedValues) -> str:
    """Create a repository that accepts deliveries of its git host, and return its name."""
    await create_hooked_repository(api)
    return "boards"


# Calls that need a real repository on a git host, and calls of routes whose changes are not audited.
OWN_CALLS: Final[Mapping[str, CallTemplate]] = {
    f"POST {REPOSITORY}/files/{{path:rest}}": template(json.loads(dashboard("new", "New")), name=team, path="deep/new.json"),
    f"PUT {REPOSITORY}/files/{{path:rest}}": template(json.loads(dashboard("a", "Changed")), name=team, path="a.json"),
    f"DELETE {REPOSITORY}/files/{{path:rest}}": template(name=team, path="b.json"),
    f"POST {REPOSITORY}/sync": template({"incremental": True}, name=team),
    f"POST {REPOSITORY}/rollback": template(name=team),
    f"POST {REPOSITORY}/export": template({"branch": "exported"}, name=team),
    f"POST {REPOSITORY}/jobs": template([{"action": "export", "export": {"branch": "exported"}}], name=team),
    TEST_ROUTE: template(name=team),
    WEBHOOK: template(name=hooked_repository),
    **{name: replace(TEMPLATES[name], created={"name": settled_batch}) for name in TEMPLATES if BATCH in name},
    f"DELETE {BATCH.removesuffix('/{name}')}": template_selecting(settled_batch),
    f"POST {BATCH}/retry": template(name=settled_failed_batch),
    REVIEW: template({"spec": {"resourceAttributes": {"verb": "list", "group": "dashboard.grafana.app", "resource": "dashboards"}}}),
}


@dataclass(frozen=True)
class Snapshot:
    """Everything that a request may leave behind: rows by table, branches, files, and messages to queues."""

    #: The MD5 digest of all rows, by table.
    tables: Mapping[str, str]
    branches: str
    files: Mapping[str, bytes]
    messages: tuple[str, ...]

    def changed(self, after: "Snapshot") -> list[str]:
        """Return the differences: changed rows by table, and other changed state by name."""
        tables = [name for name, digest in self.tables.items() if after.tables[name] != digest]
        other_state = ("branches", "files", "messages")
        return tables + [name for name in other_state if getattr(self, name) != getattr(after, name)]


@dataclass(frozen=True)
class DryRunEnvironment:
    """A gateway, a worker, and a repository ``team`` with two synced commits and a third one that is not synced."""

    api: Api
    root: Path
    messages: list[str]

    async def snapshot(self) -> Snapshot:
        """Return the present rows, branches, files and messages."""
        async with self.api.database.connection() as connection:
            names = [row["name"] for row in await connection.fetch("select tablename as name from pg_tables where schemaname = 'public'")]
            query = """select '{0}' as name, md5(coalesce(string_agg(row::text, ',' order by row::text), '')) as digest from "{0}" as row"""
            digests = " union all ".join(query.format(name) for name in sorted(names) if name not in VARYING_TABLES)
            tables = {row["name"]: row["digest"] for row in await connection.fetch(digests)}
        branches = git(self.root / "git-server" / "team.git", "for-each-ref")
        caches = (self.root / "data", self.root / "git-server")  # copies of repositories are a cache
        paths = (path for path in self.root.rglob("*") if path.is_file() and not any(path.is_relative_to(excluded) for excluded in caches))
        return Snapshot(tables, branches, {str(path): path.read_bytes() for path in paths}, tuple(self.messages))


@pytest.fixture
async def environment(
    git_api: Api, git_server: GitServer, broker: MemoryBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DryRunEnvironment:
    """Start the environment. It records the exchange and routing key of each message from now on."""
    work_tree = git_server.create_repository("team.git")
    spec = {"title": "Team", "type": "githost", "workflows": ["write", "branch"], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": git_server.url("team.git"), "branch": "main"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
    for title in ("A", "A2"):
        work_tree.commit({"a.json": dashboard("a", title), "b.json": dashboard("b", "B")})
        assert (await run_sync(git_api))["state"] == "success"
    work_tree.commit({"c.json": dashboard("c", "C")})
    messages: list[str] = []
    publish = broker.publish

    async def record_and_publish(exchange: str, routing_key: str, *arguments: Any, **options: Any) -> None:
        """Record a message and publish it."""
        messages.append(f"{exchange} {routing_key}")
        await publish(exchange, routing_key, *arguments, **options)

    monkeypatch.setattr(broker, "publish", record_and_publish)
    return DryRunEnvironment(git_api, tmp_path, messages)


def routes_under_test(routes: list[Route]) -> dict[str, Route]:
    """Return the routes of the resource API with which a client can change something, by method and path."""
    return {
        f"{route.method} {route.path}": route
        for route in in_preferred_versions(routes)
        if route.method not in READ_METHODS and route.error_shape is ErrorShape.STATUS
    }


async def prepare_all(environment: DryRunEnvironment) -> dict[str, PreparedCall]:
    """Create the objects of each route's call, and return the calls by method and path."""
    templates, calls = {**TEMPLATES, **OWN_CALLS}, {}
    for name, route in routes_under_test(environment.api.routes).items():
        assert name in templates, f"give {name} a call that this test can try"
        calls[name] = await prepare_call(environment.api, route, templates[name])
    body = json.dumps(PUSH).encode()
    headers = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": signature(SECRET, body)}
    calls[WEBHOOK] = PreparedCall("POST", calls[WEBHOOK].path, PUSH, None, headers)
    # The health of repositories is known during the test, because a request that has to check it first records the result.
    await environment.api.sql(
        "update resource set status = jsonb_set(status::jsonb, '{health}', '{\"healthy\": true, \"checked\": 9000000000000}')::text "
        "where resource = 'repositories' returning 1"
    )
    await wait_until_idle(environment.api)
    return calls


async def wait_until_idle(api: Api) -> None:
    """Wait until the worker has ended all jobs."""
    notified = asyncio.Event()
    running = "select count(*) from job where state in ('pending', 'working') and action <> 'evaluate'"
    async with asyncio.timeout(60), api.database.listen("change", lambda _: notified.set(), notified.set):
        while await api.sql(running):
            await notified.wait()
            notified.clear()


async def test_a_dry_run_of_each_route_changes_nothing(environment: DryRunEnvironment) -> None:
    """Each route succeeds as a dry run without changing rows, branches, files or queues. The real call then changes something."""
    calls = await prepare_all(environment)
    before = await environment.snapshot()
    for name, call in calls.items():
        status, response = await call.send(environment.api, query="dryRun=All")
        assert status < 300, (name, response)
        assert before.changed(await environment.snapshot()) == [], name
    for name, call in calls.items():
        before = await environment.snapshot()
        status, response = await call.send(environment.api)
        assert status < 300, (name, response)
        assert name in ROUTES_WITHOUT_EFFECT or before.changed(await environment.snapshot()), name


async def test_only_all_is_a_dry_run_of_any_route(environment: DryRunEnvironment) -> None:
    """The API's description of each route has the parameter ``dryRun``. The value ``all`` is refused, and nothing is written."""
    calls = await prepare_all(environment)
    for name, route in routes_under_test(environment.api.routes).items():
        assert route.operation is not None
        assert "dryRun" in route.operation.query, name
    before = await environment.snapshot()
    for name, call in calls.items():
        status, response = await call.send(environment.api, query="dryRun=all")
        assert status == 400, name
        assert "dryRun 'all' is unknown" in response["message"], name
    assert before.changed(await environment.snapshot()) == []

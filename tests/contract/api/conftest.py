"""A complete gateway over real sockets, with a test database, the in-memory broker and helpers for its clients."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs
from tests import light_passwords
from tests.contract.api.webhook_receiver import WebhookReceiver, receiving
from tests.servers import git
from tests.servers.git import GitServer
from yarl import URL

from dashwright.api import main
from dashwright.api.auth import key_material
from dashwright.api.http.routing import Route
from dashwright.api.main import Gateway
from dashwright.api.workers import panel_validation
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import Settings, load
from dashwright.jobs_worker.main import JobsWorker
from dashwright.jobs_worker.notifications import sender


def basic(login: str, password: str) -> str:
    """Return the Authorization header of a user."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


ADMIN = basic("admin", "admin")
# The password of all users that ``Api.person`` creates.
PASSWORD = "pw-of-everybody"
DEFAULT_SETTINGS = {"http_port": 0, "password_min_length": 4, "secret_key": "of tests only"}


@dataclass(frozen=True)
class Api:
    """A running gateway and its database. Calling it sends one request, as the server admin unless ``auth`` differs.

    ``data`` is the folder that may contain repositories.
    """

    session: aiohttp.ClientSession
    address: URL
    database: Database
    password_hash: str
    data: Path
    _gateway: Gateway

    @property
    def routes(self) -> list[Route]:
        """The routes that the gateway serves."""
        return self._gateway.routes

    async def stop(self) -> None:
        """Stop the gateway, which then writes its pending data."""
        await self._gateway.stop()

    async def __call__(self, method: str, path: str, body: Any = None, *, auth: str | None = ADMIN, **options: Any) -> tuple[int, Any]:
        """Return the status and the decoded body, which is a list if the response has lines of JSON.

        ``body`` is sent as JSON. If ``auth`` is None, no credentials are sent.
        """
        headers = {**({"Authorization": auth} if auth else {}), **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        async with self.session.request(method, path, headers=headers, **options) as response:
            if response.content_type == "application/x-ndjson":
                return response.status, [json.loads(line) async for line in response.content]
            return response.status, await response.json()

    async def message(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Return the status and the message of an error."""
        status, error = await self(method, path, body)
        return status, error["message"]

    async def sql(self, statement: str, *values: Any) -> Any:
        """Return the first value that a statement returns."""
        async with self.database.connection() as connection:
            return await connection.fetchval(statement, *values)

    async def organization(self, name: str) -> int:
        """Create an organization and return its id."""
        new_id: int = await self.sql("insert into org (name) values ($1) returning id", name)
        return new_id

    async def person(self, login: str, role: Role, *grants: tuple[str, str], org_id: int = 1, grants_in: int | None = None) -> str:
        """Create a member of an organization and return its credentials.

        The grants apply in that organization or in ``grants_in`` (0: everywhere).
        """
        statement = """insert into "user" (login, email, org_id, password) values ($1, $1, $2, $3) returning id"""
        user_id = await self.sql(statement, login, org_id, self.password_hash)
        await self.sql("insert into org_user (org_id, user_id, role) values ($1, $2, $3)", org_id, user_id, role.value)
        for action, scope in grants:
            await self.grant(user_id, action, scope, org_id if grants_in is None else grants_in)
        return basic(login, PASSWORD)

    async def grant(self, user_id: int, action: str, scope: str, org_id: int = 1) -> None:
        """Grant an action on a scope to a user of an organization."""
        statement = "insert into permission (user_id, org_id, action, scope, created_by) values ($1, $2, $3, $4, 'test')"
        await self.sql(statement, user_id, org_id, action, scope)

    async def legacy_key(
        self, name: str, *, role: Role = Role.VIEWER, org_id: int = 1, expires: int | None = None, secret: str = "s3cret"
    ) -> int:
        """Store an API key as Grafana's database has it and return its id. Its owner sends ``legacy_text(name)``."""
        new_id: int = await self.sql(
            "insert into api_key (org_id, name, key, role, expires) values ($1, $2, $3, $4, $5) returning id",
            org_id,
            name,
            key_material.hash_secret(secret, name),
            role.value,
            expires,
        )
        return new_id

    async def account(self, name: str, role: Role = Role.VIEWER, **options: Any) -> int:
        """Create a service account and return its id."""
        status, created = await self("POST", "/api/serviceaccounts", {"name": name, "role": role.value}, **options)
        assert status == 201, created
        new_id: int = created["id"]
        return new_id

    async def token(self, account_id: int, name: str, **form: Any) -> tuple[int, str]:
        """Create a token; return its id and its secret."""
        status, created = await self("POST", f"/api/serviceaccounts/{account_id}/tokens", {"name": name, **form})
        assert status == 200, created
        return created["id"], created["key"]


def legacy_text(name: str, *, org_id: int = 1, secret: str = "s3cret") -> str:
    """Return the string that the owner of a legacy key sends."""
    return base64.b64encode(f'{{"k":"{secret}","n":"{name}","id":{org_id}}}'.encode()).decode()


def case_id(value: object) -> str | None:
    """Return the id of a parameter that is a dict or a list: the beginning of its text. Other parameters have the ids of pytest."""
    return repr(value)[:60] if isinstance(value, dict | list) else None


StartApi = Callable[..., Awaitable[Api]]


@pytest.fixture
def _function_scoped_runner(shared_runner: asyncio.Runner) -> asyncio.Runner:
    """Replace the event loop that pytest-asyncio starts for each test by one for all tests."""
    return shared_runner


@pytest.fixture
def database(listening_database: Database) -> Database:
    """Replace the database by one whose connections remain open between tests."""
    return listening_database


@pytest.fixture(scope="session")
def _password_hash() -> str:
    """Return the hash of PASSWORD, computed once because hashing is slow."""
    return light_passwords.HASHER.hash(PASSWORD)


@pytest.fixture(scope="session")
def _usual_settings() -> Settings:
    """Return the settings of gateways without settings of their own, read once because reading is slow."""
    return load(**DEFAULT_SETTINGS)


@pytest.fixture
def _light_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make password hashing fast; its cost has tests of its own."""
    light_passwords.make_light(monkeypatch)


@pytest.fixture
def _no_cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the first round of each gateway's cleaner, which deletes nothing in a new database and takes as long as a short test."""

    async def clean() -> None:
        """Do nothing. An AsyncMock would take longer than most requests."""

    monkeypatch.setattr(main, "create_cleaner", lambda *_: SimpleNamespace(clean=clean))


@pytest.fixture
async def rabbitmq_broker(amqp_url: str) -> AsyncIterator[AmqpBroker]:
    """Connect to RabbitMQ. Modules whose gateways use RabbitMQ return this broker from their own fixture ``broker``."""
    broker = AmqpBroker(amqp_url)
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture
async def receiver() -> AsyncIterator[WebhookReceiver]:
    """Start a receiver of webhooks on this machine."""
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat failed notifications immediately."""
    monkeypatch.setattr(sender, "_FIRST_DELAY", timedelta(0))


@pytest.fixture
def unvalidated_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept evaluations without waiting for an expressions worker that validates their panels."""
    monkeypatch.setattr(panel_validation, "_TIMEOUT_SECONDS", 0.01)


@pytest.fixture
async def start_api(
    database: Database,
    broker: MemoryBroker,
    tmp_path: Path,
    _password_hash: str,
    _light_passwords: None,
    _no_cleaning: None,
    _usual_settings: Settings,
) -> AsyncIterator[StartApi]:
    """Return a function that starts a gateway with the given settings."""
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> Api:
            paths = {"data_dir": tmp_path, "permitted_paths": (tmp_path,)}
            # Reading settings takes as long as a whole test: gateways without settings of their own share one copy.
            loaded = load(**{**DEFAULT_SETTINGS, **paths, **settings}) if settings else _usual_settings.model_copy(update=paths)
            gateway = Gateway(loaded, database, broker, Clock())
            stack.push_async_callback(gateway.stop)
            address = URL(await gateway.start())
            session = aiohttp.ClientSession(address, cookie_jar=aiohttp.DummyCookieJar())
            await stack.enter_async_context(session)
            return Api(session, address, database, _password_hash, tmp_path, gateway)

        yield start


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    """Start a gateway with the usual settings."""
    return await start_api()


@pytest.fixture
async def git_server(tmp_path: Path) -> AsyncIterator[GitServer]:
    """Start a git server with an empty directory for repositories."""
    root = tmp_path / "git-server"
    root.mkdir()
    async with git.serving(root) as serving:
        yield serving


@pytest.fixture
async def git_api(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[Api]:
    """Start a gateway and a jobs worker that may reach this machine and does not schedule syncs."""
    data = tmp_path / "data"
    data.mkdir()
    settings = load(data_dir=data, permitted_paths=str(tmp_path), secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False)
    worker = JobsWorker(settings, database, broker, Clock())
    await worker.start()
    yield await start_api()
    await worker.stop()


@pytest.fixture
def silent_log() -> Iterator[None]:
    """Keep the log of the gateway out of standard output, to which a command in another thread writes at the same time."""
    with capture_logs():
        yield

"""Authentication at two complete gateways on one database, as clients use them."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import aiohttp
import pytest
from structlog.testing import capture_logs

from dashwright.api.auth import key_material
from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load

#: A collection of the resource API, whose namespace tests replace.
NAMESPACE = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/dashboards"
QUERY = "/api/ds/query"
TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248"
ADMIN = "Basic " + base64.b64encode(b"admin:admin").decode()


class RunningGateway:
    """A gateway, a client of it, and the invalidations it received."""

    def __init__(self, gateway: Gateway, session: aiohttp.ClientSession, invalidations: asyncio.Queue[str]) -> None:
        self.gateway = gateway
        self._session = session
        self._invalidations = invalidations

    async def wait_for(self, subject: str) -> None:
        """Wait until a cached identity, such as ``key:5``, is invalidated."""
        async with asyncio.timeout(10):
            while await self._invalidations.get() != subject:
                pass

    async def wait_for_notifications(self, database: Database) -> None:
        """Wait until every notification that was sent before this call is received."""
        payload = f"mark:{uuid4()}"
        await sql(database, "select pg_notify('identity', $1)", payload)
        await self.wait_for(payload)

    async def get(self, authorization: str | None, path: str = NAMESPACE, **headers: str) -> tuple[int, Any]:
        """Return the status and the body of a response."""
        sent_headers = headers if authorization is None else {"Authorization": authorization, **headers}
        async with self._session.get(path, headers=sent_headers) as response:
            return response.status, await response.json()

    async def change(self, authorization: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Send a request with a body. Return the status and the body of the response."""
        async with self._session.request(method, path, headers={"Authorization": authorization}, json=body) as response:
            return response.status, await response.json()


StartGateway = Callable[..., Awaitable[RunningGateway]]


@pytest.fixture
async def start_gateway(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StartGateway]:
    """Return a function that starts a gateway with the given settings, and returns it once it receives notifications."""
    async with AsyncExitStack() as stack:
        broker = MemoryBroker()
        await broker.start()
        stack.push_async_callback(broker.close)

        async def start(**settings: Any) -> RunningGateway:
            gateway = Gateway(
                load(http_port=0, data_dir=tmp_path, permitted_paths=str(tmp_path), secret_key="of tests only", **settings),
                database,
                broker,
                Clock(),
            )
            invalidations: asyncio.Queue[str] = asyncio.Queue()
            identities = gateway.authentication.identity_cache
            invalidate, resume = identities.invalidate, identities.resume

            def record_invalidation(subject: str) -> None:
                """Invalidate a subject and record it."""
                invalidate(subject)
                invalidations.put_nowait(subject)

            def record_resume() -> None:
                """Resume the cache and record that."""
                resume()
                invalidations.put_nowait("resume")

            monkeypatch.setattr(identities, "invalidate", record_invalidation)
            monkeypatch.setattr(identities, "resume", record_resume)
            address = await gateway.start()
            stack.push_async_callback(gateway.stop)
            session = await stack.enter_async_context(aiohttp.ClientSession(address, cookie_jar=aiohttp.DummyCookieJar()))
            running = RunningGateway(gateway, session, invalidations)
            await running.wait_for("resume")
            return running

        yield start


async def sql(database: Database, statement: str, *values: object) -> None:
    """Execute a statement."""
    async with database.connection() as connection:
        await connection.execute(statement, *values)


async def add_token(database: Database, text: str = TOKEN) -> None:
    """Create the service account 9, an Editor, with one token."""
    material = key_material.parse(text)
    assert material is not None
    await sql(database, """insert into "user" (id, login, email, org_id, is_service_account) values (9, 'sa', 'sa', 1, true)""")
    await sql(database, "insert into org_user (org_id, user_id, role) values (1, 9, 'Editor')")
    await sql(
        database,
        "insert into api_key (id, org_id, name, key, role, service_account_id) values (5, 1, 'ci', $1, 'Viewer', 9)",
        key_material.hash_secret(material.secret, material.salt),
    )


async def test_a_revoked_token_is_refused_by_every_gateway(start_gateway: StartGateway, database: Database) -> None:
    """A gateway that cached a token refuses it once the database has notified the gateway of the revocation."""
    first, second = await start_gateway(), await start_gateway()
    await add_token(database)
    for gateway in (first, second):
        await gateway.wait_for_notifications(database)
        assert (await gateway.get(f"Bearer {TOKEN}"))[0] == 200
        assert (await gateway.get(f"bearer {TOKEN}", **{"X-Grafana-Org-Id": "1"}))[0] == 200
    await sql(database, "update api_key set is_revoked = true where id = 5")
    for gateway in (first, second):
        await gateway.wait_for("key:5")
        status, body = await gateway.get(f"Bearer {TOKEN}")
        assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Revoked API key")


async def test_a_change_of_a_role_applies_at_every_gateway(start_gateway: StartGateway, database: Database) -> None:
    """A gateway that cached an identity applies a new role once the database has notified the gateway of the change."""
    first, second = await start_gateway(), await start_gateway()
    await add_token(database)
    for gateway in (first, second):
        await gateway.wait_for_notifications(database)
        assert (await gateway.get(f"Bearer {TOKEN}"))[0] == 200
    await sql(database, "update org_user set role = 'None' where user_id = 9")
    for gateway in (first, second):
        await gateway.wait_for("user:9")
        status, body = await gateway.get(f"Bearer {TOKEN}")
        assert (status, body["reason"]) == (403, "Forbidden")
        assert "dashboards:read" in body["message"]


PASSWORD: Final = "pw-of-anna"
ANNA: Final = "Basic " + base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
ROBOT: Final = f"Bearer {TOKEN}"
IN_SECOND_ORG: Final = {"X-Grafana-Org-Id": "2"}


@dataclass(frozen=True)
class Change:
    """A change by the first user at one gateway, and the responses to a caller at both gateways before and after the change."""

    method: str
    path: str
    body: Any
    #: Authorization of the caller whose access changes.
    caller: str
    #: Path that the caller requests.
    requested_path: str
    #: Statuses of the responses to the caller before and after the change.
    responses: tuple[int, int]
    #: Headers of the caller's requests.
    headers: dict[str, str] = field(default_factory=dict)


CHANGES: Final = {
    "a member's role": Change("PATCH", "/api/orgs/1/users/7", {"role": "Viewer"}, ANNA, "/api/org/users", (200, 403)),
    "a member's role in another organization": Change(
        "PATCH", "/api/orgs/2/users/7", {"role": "Viewer"}, ANNA, "/api/orgs/2/users", (200, 403)
    ),
    "a member's higher role in another organization": Change(
        "PATCH", "/api/orgs/2/users/7", {"role": "Admin"}, ANNA, "/api/org/quotas", (403, 200), IN_SECOND_ORG
    ),
    "a membership that ends": Change("DELETE", "/api/orgs/2/users/7", None, ANNA, NAMESPACE.replace("default", "org-2"), (200, 403)),
    "a membership that begins": Change(
        "POST", "/api/orgs/3/users", {"loginOrEmail": "anna", "role": "Viewer"}, ANNA, NAMESPACE.replace("default", "org-3"), (403, 200)
    ),
    "a disabled user": Change("POST", "/api/admin/users/7/disable", None, ANNA, "/api/user", (200, 401)),
    "a deleted user": Change("DELETE", "/api/admin/users/7", None, ANNA, "/api/user", (200, 401)),
    "a password": Change("PUT", "/api/admin/users/7/password", {"password": "another-one"}, ANNA, "/api/user", (200, 401)),
    "a promotion to server admin": Change(
        "PUT", "/api/admin/users/7/permissions", {"isGrafanaAdmin": True}, ANNA, "/api/users", (403, 200)
    ),
    "a grant": Change(
        "PUT",
        "/api/access-control/users/7/permissions?orgId=0",
        {"permissions": [{"action": "users:read"}]},
        ANNA,
        "/api/users",
        (403, 200),
    ),
    "a deleted organization": Change("DELETE", "/api/orgs/2", None, ANNA, "/api/org", (200, 401), IN_SECOND_ORG),
    "a deleted organization's namespace": Change("DELETE", "/api/orgs/2", None, ANNA, NAMESPACE.replace("default", "org-2"), (200, 403)),
    "a service account's role": Change("PATCH", "/api/serviceaccounts/9", {"role": "None"}, ROBOT, NAMESPACE, (200, 403)),
    "a disabled service account": Change("PATCH", "/api/serviceaccounts/9", {"isDisabled": True}, ROBOT, "/api/org", (200, 401)),
    "a deleted service account": Change("DELETE", "/api/serviceaccounts/9", None, ROBOT, "/api/org", (200, 401)),
    "a deleted token": Change("DELETE", "/api/serviceaccounts/9/tokens/5", None, ROBOT, "/api/org", (200, 401)),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_at_one_gateway_applies_at_the_other(start_gateway: StartGateway, database: Database, name: str) -> None:
    """A change at the first gateway applies at the second once the second has received the notification of the commit."""
    change = CHANGES[name]
    first, second = await start_gateway(), await start_gateway()
    password_hash = await first.gateway.authentication.passwords.hash(PASSWORD)
    await sql(database, "insert into org (id, name) values (2, 'Two'), (3, 'Three')")
    await sql(database, """insert into "user" (id, login, email, org_id, password) values (7, 'anna', 'anna', 1, $1)""", password_hash)
    await sql(database, "insert into org_user (org_id, user_id, role) values (1, 7, 'Admin'), (2, 7, $1)", _role_in_organization_2(change))
    await sql(database, "insert into org_user (org_id, user_id, role) values (2, 1, 'Admin')")
    await add_token(database)
    before, after = change.responses
    for gateway in (first, second):
        await gateway.wait_for_notifications(database)
        assert (await gateway.get(change.caller, change.requested_path, **change.headers))[0] == before
    status, response = await first.change(ADMIN, change.method, change.path, change.body)
    assert status == 200, response
    assert (await first.get(change.caller, change.requested_path, **change.headers))[0] == after
    await second.wait_for_notifications(database)
    assert (await second.get(change.caller, change.requested_path, **change.headers))[0] == after


def _role_in_organization_2(change: Change) -> str:
    """Return anna's role before the change: Admin, unless the change promotes her to this role."""
    return "Editor" if change.body == {"role": "Admin"} else "Admin"


async def test_a_foreign_namespace_is_forbidden_to_a_token(start_gateway: StartGateway, database: Database) -> None:
    """A token is refused in the namespace of another organization. The resource API ignores the header that names an organization."""
    gateway = await start_gateway()
    await add_token(database)
    status, body = await gateway.get(f"Bearer {TOKEN}", NAMESPACE.replace("default", "org-2"))
    assert (status, body["reason"]) == (403, "Forbidden")
    status, body = await gateway.get(f"Bearer {TOKEN}", NAMESPACE, **{"X-Grafana-Org-Id": "2"})
    assert status == 200


async def test_without_basic_auth_tokens_are_still_accepted(start_gateway: StartGateway, database: Database) -> None:
    """With basic authentication disabled, a token is accepted, also as a password. Any password of a user is rejected with one message."""
    gateway = await start_gateway(basic_auth=False)
    await add_token(database)
    as_password = "Basic " + base64.b64encode(f"api_key:{TOKEN}".encode()).decode()
    for authorization in (f"Bearer {TOKEN}", as_password):
        assert (await gateway.get(authorization))[0] == 200
    wrong_password = "Basic " + base64.b64encode(b"admin:adm").decode()
    for credentials in (ADMIN, wrong_password, None):
        status, body = await gateway.get(credentials)
        assert (status, body["message"]) == (401, "Unauthorized")


async def test_guessing_through_one_address_does_not_lock_out_another(start_gateway: StartGateway) -> None:
    """Behind a trusted proxy, failed logins are counted for each client.

    The correct password is refused only for the client that guessed.
    """
    attempts = 2
    gateway = await start_gateway(trusted_proxies="127.0.0.1", login_attempts=attempts)
    wrong_credentials = "Basic " + base64.b64encode(b"admin:wrong").decode()
    for _ in range(attempts + 1):
        assert (await gateway.get(wrong_credentials, **{"X-Forwarded-For": "203.0.113.9"}))[0] == 401
    status, body = await gateway.get(ADMIN, **{"X-Forwarded-For": "203.0.113.9"})
    assert (status, body["message"]) == (401, "Invalid username or password")
    assert (await gateway.get(ADMIN, **{"X-Forwarded-For": "203.0.113.10"}))[0] == 200
    assert (await gateway.get(ADMIN, **{"X-Forwarded-For": "203.0.113.9"}))[0] == 401


async def test_times_of_last_use_are_written_when_the_gateway_stops(start_gateway: StartGateway, database: Database) -> None:
    """A gateway that stops writes the times of last use that are not written yet."""
    gateway = await start_gateway(last_used_seconds=3600)
    await add_token(database)
    assert (await gateway.get(f"Bearer {TOKEN}"))[0] == 200
    assert (await gateway.get(ADMIN))[0] == 200
    await gateway.gateway.stop()
    async with database.connection() as connection:
        assert await connection.fetchval("select last_used_at is not null from api_key where id = 5")
        assert await connection.fetchval('select last_seen_at is not null from "user" where id = 1')


async def test_no_log_line_contains_a_secret(start_gateway: StartGateway, database: Database) -> None:
    """The credentials of accepted and rejected requests are not logged."""
    gateway = await start_gateway()
    await add_token(database)
    unknown = key_material.new_token()
    guessed_credentials = "Basic " + base64.b64encode(b"admin:hunter2").decode()
    with capture_logs() as lines:
        for authorization in (
            f"Bearer {TOKEN}",
            f"Bearer {unknown}",
            ADMIN,
            guessed_credentials,
            f"Bearer {TOKEN}x",
            "Digest hunter2",
            "Basic hunter2",
        ):
            await gateway.get(authorization)
            await gateway.get(authorization, QUERY)
    # At least one line for each credential.
    assert len(lines) >= 7
    text = str(lines)
    for secret in (TOKEN, TOKEN.split("_")[1], unknown, unknown.split("_")[1], ADMIN.split()[1], guessed_credentials.split()[1], "hunter2"):
        assert secret not in text

"""Authentication over a real database: imported credentials work, and a change on one gateway counts on the others at the next request."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from dashwright.api.auth import key_material
from dashwright.api.auth.authentication import Authentication
from dashwright.api.http.authentication import Credentials
from dashwright.api.stores.users import UserAccounts, ensure_first_user
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unauthorized
from dashwright.common.identity import CallerType, Identity, Role
from dashwright.common.settings import load

#: A token of a service account and the hash that Grafana stores of it.
TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248"
TOKEN_STORED = "cefc8c1727f206b0f8c72ced8dbde0c5941c7eecf3dcc7dc6935585cf6ea8939b5e2a3427aadf2ed10bae20bce16573f8bab"
#: An API key in Grafana's former format and the hash that Grafana stores of it.
LEGACY = "eyJrIjoiVjFxTHZ6dGdPSjg5Um92MjN1RlhjMkNqYkZUbm9jYkwiLCJuIjoiZ3JhZmFuYSIsImlkIjoxfQ=="
LEGACY_STORED = "02e7a8a565078bba0ec230a99921aca74bfcdd06d6e3202ee3bd4e8ffd1542dc3c79ce1aad9150792240bd4487bb87fa24ad"
#: Grafana's hash of the password ``admin`` with the salt ``abcdefghij``.
IMPORTED_PASSWORD = "038aae4bee0c5bdeba9de5c2cc26c00841abca898620785f9a1e6f50903b117682a810c00a1cfc02d2b432b7d660956a65af"

ADDRESS = "192.0.2.1"


def basic(login: str, password: str) -> str:
    """Return an ``Authorization`` header with a login and a password."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


ANN = basic("ann", "admin")
BEARER = f"Bearer {TOKEN}"
OLD_KEY = f"Bearer {LEGACY}"


class ObservedAuthentication:
    """An authentication whose identity cache records the notifications it gets."""

    def __init__(self, authentication: Authentication, monkeypatch: pytest.MonkeyPatch) -> None:
        self.authentication = authentication
        self._received: asyncio.Queue[str] = asyncio.Queue()
        for name in ("invalidate", "resume", "suspend"):
            monkeypatch.setattr(authentication.identity_cache, name, self._recording(name, getattr(authentication.identity_cache, name)))

    def _recording(self, name: str, act: Callable[..., None]) -> Callable[..., None]:
        """Return a function that acts like ``act``, and records its subject, or without one the name."""

        def record(*subject: str) -> None:
            act(*subject)
            self._received.put_nowait(subject[0] if subject else name)

        return record

    async def wait_for(self, payload: str) -> list[str]:
        """Wait for the payload and return those received before it."""
        before = []
        async with asyncio.timeout(10):
            while (received := await self._received.get()) != payload:
                before.append(received)
        return before

    async def settle(self, database: Database) -> None:
        """Wait until every notification sent so far is received."""
        payload = f"mark:{uuid4()}"
        await sql(database, "select pg_notify('identity', $1)", payload)
        await self.wait_for(payload)

    async def identify(self, authorization: str, org_id: int | None = None) -> Identity:
        """Return the identity of an ``Authorization`` header in an organization, by default in the one of the credential."""
        return await self.authentication.authenticator.identify(Credentials(authorization, ADDRESS), org_id)

    async def refusal(self, authorization: str, org_id: int | None = None) -> str:
        """Return the message id of the error for a credential."""
        with pytest.raises(Unauthorized) as refused:
            await self.identify(authorization, org_id)
        return refused.value.message_id


async def sql(database: Database, statement: str, *values: object) -> None:
    """Execute a statement."""
    async with database.connection() as connection:
        await connection.execute(statement, *values)


async def fetch_value(database: Database, statement: str, *values: object) -> object:
    """Return the first value of the first row of a query."""
    async with database.connection() as connection:
        return await connection.fetchval(statement, *values)


@pytest.fixture
async def imported_database(database: Database) -> Database:
    """Insert rows as an import writes them.

    They are the organizations 1 and 2, the user 1 (admin), the user 2 (ann, an Editor with a salted hash), the service account 3
    (a Viewer) with the token 1, and the legacy key 2.
    """
    async with database.connection() as connection:
        await ensure_first_user(connection, "admin", "no hash")
        await connection.execute("insert into org (id, name) values (2, 'Two')")
        await connection.execute(
            """
            insert into "user" (id, login, email, org_id, password, salt, is_service_account) values
                (2, 'ann', 'ann@x.org', 1, $1, 'abcdefghij', false), (3, 'sa-1-robot', 'sa-1-robot', 1, null, null, true)
            """,
            IMPORTED_PASSWORD,
        )
        await connection.execute("insert into org_user (org_id, user_id, role) values (1, 2, 'Editor'), (2, 2, 'Viewer'), (1, 3, 'Viewer')")
        await connection.execute(
            """
            insert into api_key (id, org_id, name, key, role, service_account_id) values
                (1, 1, 'robot', $1, 'Viewer', 3), (2, 1, 'grafana', $2, 'Admin', null)
            """,
            TOKEN_STORED,
            LEGACY_STORED,
        )
    return database


StartAuthentication = Callable[[], Awaitable[ObservedAuthentication]]


@pytest.fixture
async def start_authentication(imported_database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StartAuthentication]:
    """Yield a function that starts an authentication and waits until it listens."""
    async with AsyncExitStack() as stack:

        async def start() -> ObservedAuthentication:
            started = ObservedAuthentication(Authentication(load(), imported_database, Clock()), monkeypatch)
            await started.authentication.start()
            stack.push_async_callback(started.authentication.stop)
            await started.wait_for("resume")
            return started

        yield start


@pytest.fixture
async def authentication(start_authentication: StartAuthentication) -> ObservedAuthentication:
    """Start one authentication."""
    return await start_authentication()


async def test_a_legacy_key_and_a_token_are_accepted(authentication: ObservedAuthentication) -> None:
    """A legacy key has the role of its row, and a token authenticates its account. Both are also accepted as a password."""
    for authorization in (OLD_KEY, basic("api_key", LEGACY)):
        key = await authentication.identify(authorization)
        expected = ("api-key:2", "grafana", 1, Role.ADMIN, CallerType.API_KEY, 0, 2)
        assert (key.uid, key.login, key.org_id, key.role, key.kind, key.user_id, key.key_id) == expected
        assert key.may("apikeys:read")
    for authorization in (BEARER, basic("api_key", TOKEN), f"bEARER  {TOKEN} "):
        token = await authentication.identify(authorization)
        expected = ("service-account:3", "sa-1-robot", 1, Role.VIEWER, CallerType.SERVICE_ACCOUNT, 3, 1)
        assert (token.uid, token.login, token.org_id, token.role, token.kind, token.user_id, token.key_id) == expected
        assert token.may("dashboards:read")
        assert not token.may("dashboards:write")


async def test_a_migrated_key_authenticates_its_service_account(
    authentication: ObservedAuthentication, imported_database: Database
) -> None:
    """A key that was converted to a token of a service account keeps its text."""
    await sql(imported_database, "update api_key set service_account_id = 3 where id = 2")
    key = await authentication.identify(OLD_KEY)
    assert (key.uid, key.role, key.key_id) == ("service-account:3", Role.VIEWER, 2)


async def test_an_imported_password_logs_in_and_is_renewed(
    authentication: ObservedAuthentication, imported_database: Database, start_authentication: StartAuthentication
) -> None:
    """A verified password is stored as argon2 without salt, and is accepted afterwards, on any gateway."""
    assert await authentication.refusal(basic("ann", "wrong")) == "password-auth.failed"
    assert await fetch_value(imported_database, 'select password from "user" where id = 2') == IMPORTED_PASSWORD
    assert (await authentication.identify(basic("ANN@x.org", "admin"))).role is Role.EDITOR
    password_hash = await fetch_value(imported_database, 'select password from "user" where id = 2')
    assert str(password_hash).startswith("$argon2id$")
    assert await fetch_value(imported_database, 'select salt from "user" where id = 2') is None
    for gateway in (authentication, await start_authentication()):
        assert (await gateway.identify(ANN)).uid == "user:2"
        assert await gateway.refusal(basic("ann", "wrong")) == "password-auth.failed"
    assert await fetch_value(imported_database, 'select password from "user" where id = 2') == password_hash


async def test_a_service_account_has_no_password(authentication: ObservedAuthentication) -> None:
    """The login of a service account is refused with the message of a wrong password."""
    assert await authentication.refusal(basic("sa-1-robot", "")) == "password-auth.failed"


async def test_a_key_belongs_to_its_organization(authentication: ObservedAuthentication) -> None:
    """A request with a key may name the key's organization; another one is refused."""
    for authorization in (OLD_KEY, BEARER):
        assert (await authentication.identify(authorization, 1)).org_id == 1
        assert await authentication.refusal(authorization, 2) == "api-key.organization-mismatch"


async def test_a_user_without_membership_has_no_organization(authentication: ObservedAuthentication, imported_database: Database) -> None:
    """A user without a membership is authenticated without an organization, and refused in one that the request names."""
    await sql(imported_database, "delete from org_user where user_id = 2")
    ann = await authentication.identify(ANN)
    assert (ann.org_id, ann.role, dict(ann.permissions)) == (0, Role.NONE, {})
    assert await authentication.refusal(ANN, 1) == "organization.not-a-member"


async def test_grants_add_to_the_role_in_their_organization(authentication: ObservedAuthentication, imported_database: Database) -> None:
    """A grant applies in its organization, or with 0 globally and in all. Older names of actions are converted, unknown ones ignored."""
    grants = [
        (2, 1, "teams:read", "teams:id:5"),
        (2, 2, "teams:write", "*"),
        (2, 0, "orgs:read", "orgs:*"),
        (2, 1, "nothing:known", "*"),
        (3, 1, "teams:read", "*"),
        (3, 0, "users.quotas:read", "global.users:id:2"),
    ]
    for grant in grants:
        await sql(
            imported_database, "insert into permission (user_id, org_id, action, scope, created_by) values ($1, $2, $3, $4, 'test')", *grant
        )
    ann = await authentication.identify(ANN)
    assert ann.may("dashboards:write")
    assert ann.permissions["teams:read"] == {"teams:id:5"}
    assert ann.may("orgs:read", "org:id:7")
    assert not ann.has_action("teams:write")
    assert not ann.has_action("nothing:known")
    robot = await authentication.identify(BEARER)
    assert (robot.may("teams:read"), robot.may("users.quotas:list", "global.users:2")) == (True, True)

    async def rights_in(caller: Identity, org_id: int) -> tuple[Role, list[str]]:
        """Return the role of a caller in an organization, and those of the granted actions that the caller may perform there."""
        identity = await authentication.authentication.authenticator.identity_in(caller, org_id)
        assert (identity.org_id, identity.uid, identity.key_id) == (org_id, caller.uid, caller.key_id)
        return identity.role, sorted(set(identity.permissions) & {"teams:read", "teams:write", "orgs:read", "users.quotas:list"})

    assert await rights_in(ann, 1) == (Role.EDITOR, ["orgs:read", "teams:read"])
    assert await rights_in(ann, 2) == (Role.VIEWER, ["orgs:read", "teams:write"])
    assert await rights_in(ann, 0) == (Role.NONE, ["orgs:read"])
    assert await rights_in(ann, 9) == (Role.NONE, ["orgs:read"])
    assert await rights_in(robot, 2) == (Role.NONE, ["users.quotas:list"])
    assert await rights_in(robot, 0) == (Role.NONE, ["users.quotas:list"])
    assert await rights_in(await authentication.identify(OLD_KEY), 2) == (Role.NONE, [])


async def test_a_server_admin_is_admin_in_every_organization(imported_database: Database) -> None:
    """A server admin needs no membership in an organization. A disabled one is refused in all."""
    accounts = UserAccounts(imported_database)
    admin = Identity("user:1", "admin", 1, Role.ADMIN, 1, is_server_admin=True)
    for org_id in (0, 2, 9):
        identity = await accounts.identity_in(admin, org_id)
        assert (identity.role, identity.is_server_admin, identity.may("orgs:delete", f"org:id:{org_id}")) == (Role.NONE, True, True)
    await sql(imported_database, 'update "user" set is_disabled = true where id = 1')
    with pytest.raises(Unauthorized):
        await accounts.identity_in(admin, 2)


#: Changes that make a credential invalid: the credential, the statement, the payload of its notification, and the message id of the
#: error afterwards.
CHANGES: dict[str, tuple[str, str, str, str]] = {
    "key revoked": (OLD_KEY, "update api_key set is_revoked = true where id = 2", "key:2", "api-key.revoked"),
    "key deleted": (OLD_KEY, "delete from api_key where id = 2", "key:2", "api-key.invalid"),
    "key expired": (OLD_KEY, "update api_key set expires = 1 where id = 2", "key:2", "api-key.expired"),
    "key renamed": (OLD_KEY, "update api_key set name = 'other' where id = 2", "key:2", "api-key.invalid"),
    "token revoked": (BEARER, "update api_key set is_revoked = true where id = 1", "key:1", "api-key.revoked"),
    "token deleted": (BEARER, "delete from api_key where id = 1", "key:1", "api-key.invalid"),
    "account disabled": (BEARER, 'update "user" set is_disabled = true where id = 3', "user:3", "service-account.disabled"),
    "account deleted": (BEARER, 'delete from "user" where id = 3', "user:3", "api-key.invalid"),
    "password changed": (ANN, "update \"user\" set password = 'x', salt = null where id = 2", "user:2", "password-auth.failed"),
    "user disabled": (ANN, 'update "user" set is_disabled = true where id = 2', "user:2", "password-auth.failed"),
    "user deleted": (ANN, 'delete from "user" where id = 2', "user:2", "password-auth.failed"),
    "login changed": (ANN, "update \"user\" set login = 'anna' where id = 2", "user:2", "password-auth.failed"),
    "member removed": (ANN, "delete from org_user where user_id = 2 and org_id = 1", "user:2", "organization.not-a-member"),
    "organization deleted": (ANN, "delete from org where id = 1", "org:1", "organization.not-a-member"),
    "organization of a key deleted": (OLD_KEY, "delete from org where id = 1", "org:1", "api-key.invalid"),
    "bulk change": (
        OLD_KEY,
        "begin; set local dashwright.bulk = 'on'; delete from api_key; commit",
        "all",
        "api-key.invalid",
    ),
}


@pytest.mark.parametrize(("authorization", "change", "subject", "message_id"), CHANGES.values(), ids=CHANGES)
async def test_a_revoked_credential_is_refused_on_all_gateways(
    imported_database: Database, start_authentication: StartAuthentication, authorization: str, change: str, subject: str, message_id: str
) -> None:
    """Gateways with a cached identity refuse the credential once the change is committed."""
    gateways = [await start_authentication(), await start_authentication()]
    for gateway in gateways:
        await gateway.identify(authorization, 1)
        await gateway.settle(imported_database)  # an imported password was renewed
        await gateway.identify(authorization, 1)
        assert len(gateway.authentication.identity_cache) > 0
    await sql(imported_database, change)
    for gateway in gateways:
        await gateway.wait_for(subject)
        assert await gateway.refusal(authorization, 1) == message_id


#: Changes that revoke rights: the credential that loses them, the statement, and the payload of its notification.
RIGHTS: dict[str, tuple[str, str, str]] = {
    "role": (ANN, "update org_user set role = 'Viewer' where user_id = 2 and org_id = 1", "user:2"),
    "role of an account": (BEARER, "update org_user set role = 'None' where user_id = 3", "user:3"),
    "role of a key": (OLD_KEY, "update api_key set role = 'None' where id = 2", "key:2"),
    "grant": (ANN, "delete from permission where user_id = 2", "user:2"),
    "grant of an account": (BEARER, "delete from permission where user_id = 3", "user:3"),
    "server admin": (ANN, 'update "user" set is_admin = false where id = 2', "user:2"),
}


@pytest.mark.parametrize(("authorization", "change", "subject"), RIGHTS.values(), ids=RIGHTS)
async def test_revoked_rights_are_gone_at_the_next_request(
    imported_database: Database, start_authentication: StartAuthentication, authorization: str, change: str, subject: str
) -> None:
    """At the next request, a caller lacks revoked rights in the own organization and in views of others."""
    for user_id in (2, 3):
        await sql(
            imported_database,
            "insert into permission (user_id, org_id, action, scope, created_by) values ($1, 0, 'orgs:read', '*', 't')",
            user_id,
        )
    if "is_admin" in change:
        await sql(imported_database, 'update "user" set is_admin = true where id = 2')
    gateways = [await start_authentication(), await start_authentication()]

    async def rights(gateway: ObservedAuthentication) -> tuple[int, ...]:
        """Return how many actions the caller may perform in the own organization, without one, and in the organization 2."""
        caller = await gateway.identify(authorization)
        views = [await gateway.authentication.authenticator.identity_in(caller, org_id) for org_id in (0, 2)]
        return tuple(len(identity.permissions) for identity in (caller, *views))

    for gateway in gateways:
        await gateway.identify(authorization)
        await gateway.settle(imported_database)
    before = [await rights(gateway) for gateway in gateways]
    await sql(imported_database, change)
    for gateway, earlier_counts in zip(gateways, before, strict=True):
        await gateway.wait_for(subject)
        current_counts = await rights(gateway)
        assert sum(current_counts) < sum(earlier_counts)
        assert all(current_count <= earlier_count for current_count, earlier_count in zip(current_counts, earlier_counts, strict=True))


async def test_nothing_is_cached_while_the_listener_is_down(imported_database: Database, authentication: ObservedAuthentication) -> None:
    """After the listener's connection is closed, every request reads the database, until the listener is connected again."""
    for authorization in (ANN, OLD_KEY, BEARER):
        await authentication.identify(authorization)
    await authentication.settle(imported_database)
    await sql(
        imported_database,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
    )
    await authentication.wait_for("suspend")
    await sql(imported_database, "update api_key set is_revoked = true")
    for authorization in (OLD_KEY, BEARER):
        assert await authentication.refusal(authorization) == "api-key.revoked"
    await authentication.wait_for("resume")
    await authentication.identify(ANN)
    await sql(imported_database, 'update "user" set is_disabled = true where id = 2')
    await authentication.wait_for("user:2")
    assert await authentication.refusal(ANN) == "password-auth.failed"


async def test_identities_are_cached_only_while_listening(imported_database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity cache is empty before the start and disabled after the stop."""
    authentication = ObservedAuthentication(Authentication(load(), imported_database, Clock()), monkeypatch)
    await authentication.identify(OLD_KEY)
    assert len(authentication.authentication.identity_cache) == 0
    await authentication.authentication.start()
    await authentication.wait_for("resume")
    await authentication.identify(OLD_KEY)
    assert len(authentication.authentication.identity_cache) == 1
    await authentication.authentication.stop()
    assert not authentication.authentication.identity_cache.is_listening


async def test_no_secret_is_logged(authentication: ObservedAuthentication, imported_database: Database) -> None:
    """The log contains neither accepted nor rejected credentials."""
    with capture_logs() as lines:
        for authorization in (ANN, OLD_KEY, BEARER, basic("api_key", TOKEN)):
            await authentication.identify(authorization)
        await authentication.refusal(basic("ann", "hunter2"))
        await sql(imported_database, "update api_key set is_revoked = true")
        await authentication.wait_for("key:2")
        for authorization in (OLD_KEY, BEARER, "Bearer glsa_x", f"Bearer {key_material.new_token()}"):
            await authentication.refusal(authorization)
    # Each of the refusals at the end is logged: the search below examines lines.
    assert len(lines) >= 4
    text = str(lines)
    for secret in ("hunter2", TOKEN, TOKEN.split("_")[1], LEGACY, "V1qLvztgOJ89Rov23uFXc2CjbFTnocbL", TOKEN_STORED, "glsa_"):
        assert secret not in text
    for authorization in (ANN, basic("ann", "hunter2"), basic("api_key", TOKEN)):
        assert authorization.partition(" ")[2] not in text

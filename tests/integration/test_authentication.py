"""The gate over a real database: rows as they are imported log in, and what changes on one gateway counts on the next at once."""

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
from dashwright.common.identity import Caller, Identity, Role
from dashwright.common.settings import load

TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248"
TOKEN_STORED = "cefc8c1727f206b0f8c72ced8dbde0c5941c7eecf3dcc7dc6935585cf6ea8939b5e2a3427aadf2ed10bae20bce16573f8bab"
LEGACY = "eyJrIjoiVjFxTHZ6dGdPSjg5Um92MjN1RlhjMkNqYkZUbm9jYkwiLCJuIjoiZ3JhZmFuYSIsImlkIjoxfQ=="
LEGACY_STORED = "02e7a8a565078bba0ec230a99921aca74bfcdd06d6e3202ee3bd4e8ffd1542dc3c79ce1aad9150792240bd4487bb87fa24ad"
IMPORTED_PASSWORD = "038aae4bee0c5bdeba9de5c2cc26c00841abca898620785f9a1e6f50903b117682a810c00a1cfc02d2b432b7d660956a65af"

ADDRESS = "192.0.2.1"


def basic(login: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


ANN = basic("ann", "admin")
BEARER = f"Bearer {TOKEN}"
OLD_KEY = f"Bearer {LEGACY}"


class Listening:
    """A gate, and what its memory is told."""

    def __init__(self, authentication: Authentication, monkeypatch: pytest.MonkeyPatch) -> None:
        self.authentication = authentication
        self._told: asyncio.Queue[str] = asyncio.Queue()
        for name in ("forget", "begin", "suspend"):
            monkeypatch.setattr(authentication.identities, name, self._telling(name, getattr(authentication.identities, name)))

    def _telling(self, name: str, act: Callable[..., None]) -> Callable[..., None]:
        def tell(*subject: str) -> None:
            act(*subject)
            self._told.put_nowait(subject[0] if subject else name)

        return tell

    async def hears(self, word: str) -> list[str]:
        """What came before ``word``."""
        before = []
        async with asyncio.timeout(10):
            while (told := await self._told.get()) != word:
                before.append(told)
        return before

    async def settle(self, database: Database) -> None:
        """Returns when everything that was told so far is heard."""
        mark = f"mark:{uuid4()}"
        await sql(database, "select pg_notify('identity', $1)", mark)
        await self.hears(mark)

    async def ask(self, authorization: str, org_id: int | None = None) -> Identity:
        return await self.authentication.authenticator.identify(Credentials(authorization, ADDRESS), org_id)

    async def refusal(self, authorization: str, org_id: int | None = None) -> str:
        with pytest.raises(Unauthorized) as refused:
            await self.ask(authorization, org_id)
        return refused.value.message_id


async def sql(database: Database, statement: str, *values: object) -> None:
    async with database.connection() as connection:
        await connection.execute(statement, *values)


async def value(database: Database, statement: str, *values: object) -> object:
    async with database.connection() as connection:
        return await connection.fetchval(statement, *values)


@pytest.fixture
async def imported(database: Database) -> Database:
    """Rows as an import leaves them: organizations 1 and 2, the admin (1), ann (2, Editor, salted hash), the service account (3, Viewer)
    with the token 1, and the legacy key 2."""
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


Start = Callable[[], Awaitable[Listening]]


@pytest.fixture
async def start(imported: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Starts a gate that listens."""
    async with AsyncExitStack() as stack:

        async def begin() -> Listening:
            started = Listening(Authentication(load(), imported, Clock()), monkeypatch)
            await started.authentication.start()
            stack.push_async_callback(started.authentication.stop)
            await started.hears("begin")
            return started

        yield begin


@pytest.fixture
async def authentication(start: Start) -> Listening:
    return await start()


async def test_a_legacy_key_and_a_token_log_in_as_they_were_made(authentication: Listening) -> None:
    """Each with the role of its row; the token is its account. Both also stand in place of a password."""
    for authorization in (OLD_KEY, basic("api_key", LEGACY)):
        key = await authentication.ask(authorization)
        assert (key.uid, key.login, key.org_id, key.role, key.kind, key.user_id, key.key_id) == (
            "api-key:2",
            "grafana",
            1,
            Role.ADMIN,
            Caller.API_KEY,
            0,
            2,
        )
        assert key.may("apikeys:read")
    for authorization in (BEARER, basic("api_key", TOKEN), f"bEARER  {TOKEN} "):
        token = await authentication.ask(authorization)
        assert (token.uid, token.login, token.org_id, token.role, token.kind, token.user_id, token.key_id) == (
            "service-account:3",
            "sa-1-robot",
            1,
            Role.VIEWER,
            Caller.SERVICE_ACCOUNT,
            3,
            1,
        )
        assert token.may("dashboards:read")
        assert not token.may("dashboards:write")


async def test_a_key_that_was_handed_over_is_its_account_and_its_text_stays(authentication: Listening, imported: Database) -> None:
    """The holder of the key sends what they always sent."""
    await sql(imported, "update api_key set service_account_id = 3 where id = 2")
    key = await authentication.ask(OLD_KEY)
    assert (key.uid, key.role, key.key_id) == ("service-account:3", Role.VIEWER, 2)


async def test_an_imported_password_logs_in_and_is_renewed(authentication: Listening, imported: Database, start: Start) -> None:
    """Once verified it is stored as argon2 without salt; it goes on fitting, here and on a gateway that knows nothing of it."""
    assert await authentication.refusal(basic("ann", "wrong")) == "password-auth.failed"
    assert await value(imported, 'select password from "user" where id = 2') == IMPORTED_PASSWORD
    assert (await authentication.ask(basic("ANN@x.org", "admin"))).role is Role.EDITOR
    stored = await value(imported, 'select password from "user" where id = 2')
    assert str(stored).startswith("$argon2id$")
    assert await value(imported, 'select salt from "user" where id = 2') is None
    for gateway in (authentication, await start()):
        assert (await gateway.ask(ANN)).uid == "user:2"
        assert await gateway.refusal(basic("ann", "wrong")) == "password-auth.failed"
    assert await value(imported, 'select password from "user" where id = 2') == stored


async def test_a_service_account_has_no_password(authentication: Listening) -> None:
    """Its login is nobody's, with the same words as for a wrong password."""
    assert await authentication.refusal(basic("sa-1-robot", "")) == "password-auth.failed"


async def test_a_key_belongs_to_its_organization(authentication: Listening) -> None:
    """Named it may be; another one is refused."""
    for authorization in (OLD_KEY, BEARER):
        assert (await authentication.ask(authorization, 1)).org_id == 1
        assert await authentication.refusal(authorization, 2) == "api-key.organization-mismatch"


async def test_who_is_a_member_of_nothing_is_seen_globally(authentication: Listening, imported: Database) -> None:
    """They can still be told so; in an organization that is named they are no member."""
    await sql(imported, "delete from org_user where user_id = 2")
    ann = await authentication.ask(ANN)
    assert (ann.org_id, ann.role, dict(ann.permissions)) == (0, Role.NONE, {})
    assert await authentication.refusal(ANN, 1) == "organization.not-a-member"


async def test_grants_add_to_the_role_where_they_were_given(authentication: Listening, imported: Database) -> None:
    """In one organization, or with 0 in all of them and globally; older names mean the same, unknown ones nothing."""
    grants = [
        (2, 1, "teams:read", "teams:id:5"),
        (2, 2, "teams:write", "*"),
        (2, 0, "orgs:read", "orgs:*"),
        (2, 1, "nothing:known", "*"),
        (3, 1, "teams:read", "*"),
        (3, 0, "users.quotas:read", "global.users:id:2"),
    ]
    for grant in grants:
        await sql(imported, "insert into permission (user_id, org_id, action, scope, created_by) values ($1, $2, $3, $4, 'test')", *grant)
    ann = await authentication.ask(ANN)
    assert ann.may("dashboards:write")
    assert ann.permissions["teams:read"] == {"teams:id:5"}
    assert ann.may("orgs:read", "org:id:7")
    assert not ann.holds("teams:write")
    assert not ann.holds("nothing:known")
    robot = await authentication.ask(BEARER)
    assert (robot.may("teams:read"), robot.may("users.quotas:list", "global.users:2")) == (True, True)

    async def held(caller: Identity, org_id: int) -> tuple[Role, list[str]]:
        seen = await authentication.authentication.authenticator.seen_in(caller, org_id)
        assert (seen.org_id, seen.uid, seen.key_id) == (org_id, caller.uid, caller.key_id)
        return seen.role, sorted(set(seen.permissions) & {"teams:read", "teams:write", "orgs:read", "users.quotas:list"})

    assert await held(ann, 1) == (Role.EDITOR, ["orgs:read", "teams:read"])
    assert await held(ann, 2) == (Role.VIEWER, ["orgs:read", "teams:write"])
    assert await held(ann, 0) == (Role.NONE, ["orgs:read"])
    assert await held(ann, 9) == (Role.NONE, ["orgs:read"])
    assert await held(robot, 2) == (Role.NONE, ["users.quotas:list"])
    assert await held(robot, 0) == (Role.NONE, ["users.quotas:list"])
    assert await held(await authentication.ask(OLD_KEY), 2) == (Role.NONE, [])


async def test_a_server_admin_is_one_in_every_organization(imported: Database) -> None:
    """Also where they are no member; who has gone or is disabled is nobody anywhere."""
    accounts = UserAccounts(imported)
    admin = Identity("user:1", "admin", 1, Role.ADMIN, 1, is_server_admin=True)
    for org_id in (0, 2, 9):
        seen = await accounts.seen_in(admin, org_id)
        assert (seen.role, seen.is_server_admin, seen.may("orgs:delete", f"org:id:{org_id}")) == (Role.NONE, True, True)
    await sql(imported, 'update "user" set is_disabled = true where id = 1')
    with pytest.raises(Unauthorized):
        await accounts.seen_in(admin, 2)


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
    "many at once": (
        OLD_KEY,
        "begin; set local dashwright.bulk = 'on'; delete from api_key; commit",
        "all",
        "api-key.invalid",
    ),
}


@pytest.mark.parametrize(("authorization", "change", "subject", "message_id"), CHANGES.values(), ids=CHANGES)
async def test_what_one_gateway_revokes_the_next_request_on_another_is_refused(
    imported: Database, start: Start, authorization: str, change: str, subject: str, message_id: str
) -> None:
    """Both have remembered the caller; the change is told when it is committed, and neither lets them in again."""
    gateways = [await start(), await start()]
    for gateway in gateways:
        await gateway.ask(authorization, 1)
        await gateway.settle(imported)  # an imported password was renewed
        await gateway.ask(authorization, 1)
        assert len(gateway.authentication.identities) > 0
    await sql(imported, change)
    for gateway in gateways:
        await gateway.hears(subject)
        assert await gateway.refusal(authorization, 1) == message_id


RIGHTS: dict[str, tuple[str, str, str]] = {
    "role": (ANN, "update org_user set role = 'Viewer' where user_id = 2 and org_id = 1", "user:2"),
    "role of an account": (BEARER, "update org_user set role = 'None' where user_id = 3", "user:3"),
    "role of a key": (OLD_KEY, "update api_key set role = 'None' where id = 2", "key:2"),
    "grant": (ANN, "delete from permission where user_id = 2", "user:2"),
    "grant of an account": (BEARER, "delete from permission where user_id = 3", "user:3"),
    "server admin": (ANN, 'update "user" set is_admin = false where id = 2', "user:2"),
}


@pytest.mark.parametrize(("authorization", "change", "subject"), RIGHTS.values(), ids=RIGHTS)
async def test_what_is_taken_from_a_caller_is_gone_at_the_next_request(
    imported: Database, start: Start, authorization: str, change: str, subject: str
) -> None:
    """In their own organization and as others see them."""
    for user_id in (2, 3):
        await sql(
            imported, "insert into permission (user_id, org_id, action, scope, created_by) values ($1, 0, 'orgs:read', '*', 't')", user_id
        )
    if "is_admin" in change:
        await sql(imported, 'update "user" set is_admin = true where id = 2')
    gateways = [await start(), await start()]

    async def rights(gateway: Listening) -> tuple[int, ...]:
        caller = await gateway.ask(authorization)
        views = [await gateway.authentication.authenticator.seen_in(caller, org_id) for org_id in (0, 2)]
        return tuple(len(seen.permissions) for seen in (caller, *views))

    for gateway in gateways:
        await gateway.ask(authorization)
        await gateway.settle(imported)
    before = [await rights(gateway) for gateway in gateways]
    await sql(imported, change)
    for gateway, had in zip(gateways, before, strict=True):
        await gateway.hears(subject)
        has = await rights(gateway)
        assert sum(has) < sum(had)
        assert all(now <= then for now, then in zip(has, had, strict=True))


async def test_nothing_is_stale_while_the_listener_is_away(imported: Database, authentication: Listening) -> None:
    """When its connection is ended nobody is let in without a look, and nobody is remembered until it listens again."""
    for authorization in (ANN, OLD_KEY, BEARER):
        await authentication.ask(authorization)
    await authentication.settle(imported)
    await sql(
        imported,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
    )
    await authentication.hears("suspend")
    await sql(imported, "update api_key set is_revoked = true")
    for authorization in (OLD_KEY, BEARER):
        assert await authentication.refusal(authorization) == "api-key.revoked"
    await authentication.hears("begin")
    await authentication.ask(ANN)
    await sql(imported, 'update "user" set is_disabled = true where id = 2')
    await authentication.hears("user:2")
    assert await authentication.refusal(ANN) == "password-auth.failed"


async def test_a_stopped_gate_remembers_nobody(imported: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it listens and after."""
    authentication = Listening(Authentication(load(), imported, Clock()), monkeypatch)
    await authentication.ask(OLD_KEY)
    assert len(authentication.authentication.identities) == 0
    await authentication.authentication.start()
    await authentication.hears("begin")
    await authentication.ask(OLD_KEY)
    assert len(authentication.authentication.identities) == 1
    await authentication.authentication.stop()
    assert not authentication.authentication.identities.is_listening


async def test_no_secret_is_logged(authentication: Listening, imported: Database) -> None:
    """Of all who come in and all who do not."""
    with capture_logs() as lines:
        for authorization in (ANN, OLD_KEY, BEARER, basic("api_key", TOKEN)):
            await authentication.ask(authorization)
        await authentication.refusal(basic("ann", "hunter2"))
        await sql(imported, "update api_key set is_revoked = true")
        await authentication.hears("key:2")
        for authorization in (OLD_KEY, BEARER, "Bearer glsa_x", f"Bearer {key_material.new_token()}"):
            await authentication.refusal(authorization)
    assert len(lines) >= 4
    text = str(lines)
    for secret in ("hunter2", TOKEN, TOKEN.split("_")[1], LEGACY, "V1qLvztgOJ89Rov23uFXc2CjbFTnocbL", TOKEN_STORED, "glsa_"):
        assert secret not in text
    for authorization in (ANN, basic("ann", "hunter2"), basic("api_key", TOKEN)):
        assert authorization.partition(" ")[2] not in text

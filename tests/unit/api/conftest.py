"""A real gateway listener on loopback over any route table, and a client for it."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import ClientSession, DummyCookieJar
from tests import light_passwords

from dashwright.api.auth.basic import BasicAuthenticator
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.auth.schemes import SchemeAuthenticator
from dashwright.api.domain.access import permissions_of
from dashwright.api.http.origins import DEFAULT_ORIGIN_POLICY, OriginPolicy
from dashwright.api.http.routing import Route
from dashwright.api.http.server import Limits, Server
from dashwright.common.clock import Clock
from dashwright.common.identity import Identity, Role


@dataclass(frozen=True)
class Account:
    """The account that the authenticator reads for a login."""

    password_hash: str | None
    is_disabled: bool = False
    identity: Identity | None = None
    user_id: int = 1
    salt: str | None = None
    login: str = ""


@dataclass
class Accounts:
    """The accounts of a test, by login, instead of a database. The current organization of a login is the first one of its roles."""

    #: Hashes of passwords; None for an account without a password.
    hashes: dict[str, str | None] = field(default_factory=dict)
    #: By organization id. A login without roles is a viewer of organization 1.
    roles: dict[str, Mapping[int, Role]] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    #: Salts of hashes from an imported database; other hashes include their salt.
    salts: dict[str, str] = field(default_factory=dict)
    #: Login and organization id of each call of ``find``.
    lookups: list[tuple[str, int | None]] = field(default_factory=list)
    #: Logins by another name of the account, such as its mail address.
    aliases: dict[str, str] = field(default_factory=dict)

    async def find(self, login: str, org_id: int | None) -> Account | None:
        """Return an account, or None if the login is unknown. Its identity is None if it is not a member of the organization."""
        self.lookups.append((login, org_id))
        login = self.aliases.get(login, login)
        if login not in self.hashes:
            return None
        roles = self.roles.get(login, {1: Role.VIEWER})
        current_org_id = org_id if org_id is not None else next(iter(roles))
        role = roles.get(current_org_id)
        identity = None
        if role is not None:
            identity = Identity(uid=f"user:{login}", login=login, org_id=current_org_id, role=role, permissions=permissions_of(role))
        return Account(
            password_hash=self.hashes[login], is_disabled=login in self.disabled, identity=identity, salt=self.salts.get(login), login=login
        )

    async def replace_password_hash(self, user_id: int, *, old_hash: str, new_hash: str) -> bool:
        """Replace the hash of each account that has the old one, and return whether any had it."""
        # The accounts have no ids, so the old hash selects them.
        logins = [login for login, stored in self.hashes.items() if stored == old_hash]
        for login in logins:
            self.hashes[login] = new_hash
            self.salts.pop(login, None)
        return bool(logins)

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the identity with its role in another organization, which is ``NONE`` for an account that is not a member."""
        role = self.roles.get(identity.login, {1: Role.VIEWER}).get(org_id, Role.NONE)
        return replace(identity, org_id=org_id, role=role, permissions=permissions_of(role))


def basic(login: str, password: str) -> str:
    """Return the header ``Authorization`` of a login and password."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


@dataclass
class Gateway:
    """A running listener: its port, and a client whose paths are relative to it."""

    server: Server
    port: int
    client: ClientSession


Serve = Callable[..., Awaitable[Gateway]]


async def wait_until_closed(port: int) -> None:
    """Return when the listener accepts no further connections."""
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                return
            writer.close()


@pytest.fixture(scope="session")
def passwords() -> Passwords:
    """Return the hashing threads, which all tests share."""
    return Passwords()


@pytest.fixture
def _light_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the hashing of passwords cheap."""
    light_passwords.make_light(monkeypatch)


@pytest.fixture
async def accounts(passwords: Passwords, _light_passwords: None) -> Accounts:
    """Return ``ann`` (Admin), ``ed`` (Editor) and ``vic`` (Viewer) with the password ``pw``. In organization 2, ``ann`` is an Editor."""
    hashed = await passwords.hash("pw")
    return Accounts(
        {"ann": hashed, "ed": hashed, "vic": hashed},
        {"ann": {1: Role.ADMIN, 2: Role.EDITOR}, "ed": {1: Role.EDITOR}, "vic": {1: Role.VIEWER}},
    )


@pytest.fixture
def authenticator(accounts: Accounts, passwords: Passwords) -> SchemeAuthenticator:
    """Return an authenticator that accepts only the scheme Basic."""
    identities = IdentityCache(Clock())
    # A new cache stores nothing until it receives notifications of changes.
    identities.resume()
    return SchemeAuthenticator({"basic": BasicAuthenticator(accounts, passwords, LoginThrottle())}, accounts, identities)


@pytest.fixture
async def serve(authenticator: SchemeAuthenticator) -> AsyncIterator[Serve]:
    """Yield a function that starts a gateway with the routes and limits of a test. The gateway stops after the test."""
    async with AsyncExitStack() as stack:

        async def start(
            routes: Sequence[Route], limits: Limits | None = None, origins: OriginPolicy = DEFAULT_ORIGIN_POLICY, **options: Any
        ) -> Gateway:
            server = Server(routes, authenticator, limits or Limits(drain_seconds=2.0, linger_seconds=0.2), origins=origins)
            port = await server.start("127.0.0.1", 0, **options)
            stack.push_async_callback(server.stop)
            # Cookies of a response must not change later requests of the test.
            client = ClientSession(f"http://127.0.0.1:{port}", cookie_jar=DummyCookieJar())
            await stack.enter_async_context(client)
            return Gateway(server, port, client)

        yield start

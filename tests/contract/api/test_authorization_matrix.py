"""Authorization of every route, for every kind of caller. A route with several versions is requested in the preferred version."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson
import pytest
import pytest_asyncio
from tests.contract.api.preferred_versions import in_preferred_versions
from tests.servers import databases

from dashwright.api.auth import key_material
from dashwright.api.domain.access.scopes import ACTIONS
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, OrganizationInPath, OrganizationScope, Permission, Route
from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database, Timeouts
from dashwright.common.kinds.registry import KINDS, REPOSITORY
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

pytestmark = pytest.mark.asyncio(loop_scope="module")

NONE, VIEWER, EDITOR, ADMIN, SERVER_ADMIN = "None", "Viewer", "Editor", "Admin", "server admin"
ROLES: Final = (NONE, VIEWER, EDITOR, ADMIN, SERVER_ADMIN)

# By action: the lowest role that has it by default. A server admin has it everywhere, others in the organization of their role.
GOLDEN: Final[Mapping[str, str]] = {
    "dashboards:read": VIEWER,
    "folders:read": VIEWER,
    "library.panels:read": VIEWER,
    "annotations:read": VIEWER,
    "datasources:query": VIEWER,
    "snapshots:read": VIEWER,
    "shorturls:create": VIEWER,
    "playlists:read": VIEWER,
    "evaluations:read": VIEWER,
    "evaluations:create": VIEWER,
    "dashboards:create": EDITOR,
    "dashboards:write": EDITOR,
    "dashboards:delete": EDITOR,
    "folders:create": EDITOR,
    "folders:write": EDITOR,
    "folders:delete": EDITOR,
    "library.panels:create": EDITOR,
    "library.panels:write": EDITOR,
    "library.panels:delete": EDITOR,
    "annotations:create": EDITOR,
    "annotations:write": EDITOR,
    "annotations:delete": EDITOR,
    "datasources:explore": EDITOR,
    "snapshots:create": EDITOR,
    "snapshots:delete": EDITOR,
    "playlists:create": EDITOR,
    "playlists:write": EDITOR,
    "playlists:delete": EDITOR,
    "evaluations:delete": EDITOR,
    "repositories:read": EDITOR,
    "jobs:read": EDITOR,
    "jobs:create": EDITOR,
    "jobs:delete": EDITOR,
    "dashboards.permissions:read": ADMIN,
    "dashboards.permissions:write": ADMIN,
    "folders.permissions:read": ADMIN,
    "folders.permissions:write": ADMIN,
    "orgs:read": ADMIN,
    "orgs:write": ADMIN,
    "orgs.preferences:read": ADMIN,
    "orgs.preferences:write": ADMIN,
    "orgs.quotas:read": ADMIN,
    "org.users:read": ADMIN,
    "org.users:add": ADMIN,
    "org.users:write": ADMIN,
    "org.users:remove": ADMIN,
    "apikeys:read": ADMIN,
    "apikeys:create": ADMIN,
    "apikeys:delete": ADMIN,
    "serviceaccounts:read": ADMIN,
    "serviceaccounts:create": ADMIN,
    "serviceaccounts:write": ADMIN,
    "serviceaccounts:delete": ADMIN,
    "serviceaccounts.permissions:read": ADMIN,
    "serviceaccounts.permissions:write": ADMIN,
    "teams:read": ADMIN,
    "teams:create": ADMIN,
    "teams:write": ADMIN,
    "teams:delete": ADMIN,
    "teams.permissions:read": ADMIN,
    "teams.permissions:write": ADMIN,
    "datasources:read": ADMIN,
    "datasources:create": ADMIN,
    "datasources:write": ADMIN,
    "datasources:delete": ADMIN,
    "repositories:create": ADMIN,
    "repositories:write": ADMIN,
    "repositories:delete": ADMIN,
    "jobs:write": ADMIN,
    "audit:read": ADMIN,
    "batches:read": VIEWER,
    "batches:create": EDITOR,
    "batches:write": EDITOR,
    "batches:delete": EDITOR,
    "deadletters:read": ADMIN,
    "deadletters:write": ADMIN,
    "orgs:create": SERVER_ADMIN,
    "orgs:delete": SERVER_ADMIN,
    "orgs.quotas:write": SERVER_ADMIN,
    "users:read": SERVER_ADMIN,
    "users:write": SERVER_ADMIN,
    "users:create": SERVER_ADMIN,
    "users:delete": SERVER_ADMIN,
    "users:enable": SERVER_ADMIN,
    "users:disable": SERVER_ADMIN,
    "users:logout": SERVER_ADMIN,
    "users.authtoken:read": SERVER_ADMIN,
    "users.password:write": SERVER_ADMIN,
    "users.permissions:read": SERVER_ADMIN,
    "users.permissions:write": SERVER_ADMIN,
    "users.quotas:list": SERVER_ADMIN,
    "users.quotas:update": SERVER_ADMIN,
    "settings:read": SERVER_ADMIN,
    "server.stats:read": SERVER_ADMIN,
}

# Routes that require a second permission in the current organization, which is checked after the first one.
SECOND_PERMISSIONS: Final[Mapping[str, str]] = {
    "GET /api/users/{id}/teams": "teams:read",
    "POST /apis/expressions.dashwright.io/v0alpha1/namespaces/{namespace}/evaluations": "datasources:query",
}

# Routes without a permission: public ones, and those for all signed-in callers.
PUBLIC_ROUTES: Final = frozenset(
    {
        "GET /livez",
        "GET /readyz",
        "GET /healthz",
        "GET /metrics",
        "GET /version",
        "GET /api/health",
        "POST /api/auth/keys",
        "GET /openapi.json",
        "GET /asyncapi.json",
        "GET /docs",
        "GET /favicon.ico",
        "GET /favicon.svg",
        "GET /docs/{group}",
        "GET /swagger",
        "GET /swagger.json",
        "GET /api/swagger-ui",
        "GET /bootdata",
        "GET /openapi/v2",
        "GET /openapi/v3",
        "GET /openapi/v3/apis/{group}/{version}",
        *(
            route
            for root in (f"/apis/{REPOSITORY.api_version(version)}/namespaces/{{namespace}}" for version in REPOSITORY.versions)
            for route in (f"POST {root}/repositories/{{name}}/webhook", f"GET {root}/repositories/{{name}}/render/{{id}}")
        ),
        "GET /api/snapshots/{key}",
        "GET /dashboard/snapshot/{key}",
    }
)
SIGNED_IN_ROUTES: Final = frozenset(
    {
        "GET /api/frontend/settings",
        "GET /api/org",
        "GET /api/user",
        "PUT /api/user",
        "GET /api/user/orgs",
        "POST /api/user/using/{orgId}",
        "PUT /api/user/password",
        "POST /api/user/stars/dashboard/uid/{uid}",
        "DELETE /api/user/stars/dashboard/uid/{uid}",
        "POST /api/user/stars/dashboard/{id}",
        "DELETE /api/user/stars/dashboard/{id}",
        "GET /api/access-control/user/actions",
        "GET /api/access-control/user/permissions",
        "GET /api/user/quotas",
        "GET /api/user/teams",
        "GET /api/user/preferences",
        "PUT /api/user/preferences",
        "PATCH /api/user/preferences",
        "GET /api/search",
        "POST /api/search",
        "GET /api/search/sorting",
        "GET /api/login/ping",
        "GET /api/snapshot/shared-options",
        "GET /goto/{uid}",
        "GET /api/dashboards/home",
        "GET /api/dashboards/tags",
        "GET /api/plugins",
        "GET /api/plugins/{id}/settings",
        "GET /",
        "GET /dashboards",
        "GET /dashboards/f/{uid}",
        "GET /dashboards/f/{uid}/{slug}",
        "GET /apis",
        "GET /apis/dashboard.grafana.app/v0alpha1/namespaces/{namespace}/search",
        "GET /apis/dashboard.grafana.app/v0alpha1/namespaces/{namespace}/search/sortable",
        "GET /apis/{group}",
        "GET /apis/{group}/{version}",
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        *(f"GET /apis/{kind.api_version(version)}/{kind.plural}" for kind in KINDS for version in kind.versions),
    }
)

# Alerting is not part of this product: the same responses for all signed-in callers.
ALERTING_ROUTES: Final = frozenset(
    {
        "GET /api/v1/provisioning/alert-rules",
        "GET /api/v1/provisioning/contact-points",
        "GET /api/v1/provisioning/mute-timings",
        "GET /api/v1/provisioning/policies",
        "GET /api/v1/provisioning/templates",
        "GET /api/ruler/grafana/api/v1/rules",
        "GET /api/prometheus/grafana/api/v1/rules",
        "GET /api/prometheus/grafana/api/v1/alerts",
        "GET /api/alertmanager/grafana/api/v2/alerts",
        "GET /api/alertmanager/grafana/api/v2/alerts/groups",
        "GET /api/alertmanager/grafana/api/v2/silences",
        "GET /api/alertmanager/grafana/config/api/v1/receivers",
        *(
            f"{method} /api/{root}/{{path:rest}}"
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
            for root in ("v1/provisioning", "ruler", "alertmanager")
        ),
    }
)

# Lowest role admitted to the routes of repositories, as clients of Grafana expect it, by the end of the path.
# For a file, the role is only the first check: the rights on the file's objects are known once the worker has read the file.
REPOSITORY_ROUTES: Final[Mapping[str, str]] = {
    "POST repositories": ADMIN,
    "PUT repositories/{name}": ADMIN,
    "PATCH repositories/{name}": ADMIN,
    "DELETE repositories/{name}": ADMIN,
    "POST repositories/{name}/test": ADMIN,
    "GET repositories/{name}/resources": ADMIN,
    "GET repositories/{name}/history": ADMIN,
    "GET repositories/{name}/history/{path:rest}": ADMIN,
    "GET repositories/{name}/refs": EDITOR,
    "GET repositories/{name}/files": ADMIN,
    "GET repositories/{name}/files/{path:rest}": VIEWER,
    "POST repositories/{name}/files/{path:rest}": EDITOR,
    "PUT repositories/{name}/files/{path:rest}": EDITOR,
    "DELETE repositories/{name}/files/{path:rest}": EDITOR,
    "PUT repositories/{name}/status": ADMIN,
    "POST repositories/{name}/jobs": EDITOR,
    "POST repositories/{name}/sync": EDITOR,
    "GET jobs": EDITOR,
    "GET jobs/{name}": EDITOR,
    "DELETE jobs/{name}": EDITOR,
    "DELETE jobs": EDITOR,
    "GET stats": ADMIN,
    "GET settings": VIEWER,
}

#: The password of all users that tests create.
PASSWORD: Final = "pw-of-everybody"
#: Id of an organization of which only one caller is a member.
OTHER_ORG: Final = 2
#: Id of no object.
UNKNOWN_ID: Final = 9007
MAX_CONCURRENT_REQUESTS: Final = 12
#: Paths of documents that are built at their first request.
DOCUMENTS: Final = ("/openapi.json", "/asyncapi.json", "/openapi/v2", "/openapi/v3", "/docs")
# Classes of outcomes.
ADMITTED: Final = "admitted"
UNAUTHENTICATED: Final = "401"
NOT_A_MEMBER: Final = "403: not in the namespace"
FAILURE: Final = "a server error"


def refusal_of(action: str) -> str:
    """Return the outcome of a request that is refused for lack of an action."""
    return f"403: {action}"


@dataclass(frozen=True)
class Caller:
    """A caller with credentials and an identity."""

    name: str
    authorization: str | None
    #: Role in the organization ``org_id``. None for a caller whose credentials are not valid.
    role: str | None
    org_id: int = 1
    #: Organization that a header of each request selects.
    header_org: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request of the caller."""
        sent_headers = {} if self.authorization is None else {"Authorization": self.authorization}
        return sent_headers if self.header_org is None else {**sent_headers, "X-Grafana-Org-Id": str(self.header_org)}


def name_of(route: Route) -> str:
    """Return the name of a route in the tables above."""
    return f"{route.method} {route.path}"


def address(route: Route) -> str:
    """Return the path with objects that do not exist, in organization 1.

    A route that selects the active organization gets an invalid id: it returns 400 to each admitted caller, and selects none.
    """
    parameters = {
        "namespace": "default",
        "org_id": str(UNKNOWN_ID if route.method == "DELETE" and route.path == "/api/orgs/{org_id}" else 1),
    }
    if "/using/" in route.path:
        parameters["orgId"] = "x"
    return re.sub(r"\{(\w+)(:rest)?\}", lambda match: parameters.get(match[1], str(UNKNOWN_ID)), route.path)


def expected_outcome(caller: Caller, route: Route) -> str:
    """Return the expected outcome for a caller, from the permission of the route and the table above alone."""
    required = route.required_access
    if required is PUBLIC:
        # A delivery is authenticated by its signature, which no caller of this test has.
        return UNAUTHENTICATED if route.path.endswith("/webhook") else ADMITTED
    path_names_organization = "{namespace}" in route.path
    header_names_other_organization = caller.header_org not in (None, caller.org_id)
    if caller.role is None or (header_names_other_organization and not path_names_organization):
        return UNAUTHENTICATED
    if path_names_organization and caller.org_id != 1:
        return NOT_A_MEMBER
    if required is SIGNED_IN:
        return ADMITTED
    assert isinstance(required, Permission)
    if not holds(caller, required.action, required.organization, address(route)):
        return refusal_of(required.action)
    second = SECOND_PERMISSIONS.get(name_of(route))
    return (
        ADMITTED
        if second is None or holds(caller, second, OrganizationScope.CURRENT, "")
        else refusal_of(f"all of {required.action}, {second}")
    )


def holds(caller: Caller, action: str, scope: OrganizationScope | OrganizationInPath, path: str) -> bool:
    """Return whether the role of a caller has an action in the organization for which a route checks it."""
    if caller.role == SERVER_ADMIN:
        return True
    is_own_organization = scope is OrganizationScope.CURRENT or (
        isinstance(scope, OrganizationInPath) and f"{path}/".startswith(f"/api/orgs/{caller.org_id}/")
    )
    return is_own_organization and ROLES.index(str(caller.role)) >= ROLES.index(GOLDEN[action])


class AuthorizationMatrix:
    """A gateway, callers of every kind, and a limited number of concurrent requests."""

    def __init__(self, gateway: Gateway, session: aiohttp.ClientSession, database: Database) -> None:
        self.all_routes = gateway.routes
        #: The routes that are requested. The migration of keys turns them into service accounts, so its route comes last.
        self.routes = sorted(in_preferred_versions(gateway.routes), key=lambda route: "/migrate" in route.path)
        self._gateway = gateway
        self._session = session
        self._database = database
        self._request_slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def sql(self, statement: str, *values: object) -> int:
        """Execute a statement and return its value, or 0 if it returns none."""
        async with self._database.connection() as connection:
            return int(await connection.fetchval(statement, *values) or 0)

    async def change(self, path: str, body: object) -> None:
        """Post a body as the first user."""
        async with self._session.post(path, json=body, headers={"Authorization": basic("admin", "admin")}) as response:
            assert response.status == 200, await response.text()

    async def person(self, login: str, role: str, org_id: int = 1) -> str:
        """Create a member and return their credentials."""
        hashed = await self._gateway.authentication.passwords.hash(PASSWORD)
        user_id = await self.sql(
            """insert into "user" (login, email, org_id, password) values ($1, $1, $2, $3) returning id""", login, org_id, hashed
        )
        await self.sql("insert into org_user (org_id, user_id, role) values ($1, $2, $3)", org_id, user_id, role)
        return basic(login, PASSWORD)

    async def account(self, name: str, role: str) -> int:
        """Create a service account in organization 1 and return its id."""
        user_id = await self.sql(
            """insert into "user" (login, email, org_id, is_service_account) values ($1, $1, 1, true) returning id""", name
        )
        await self.sql("insert into org_user (org_id, user_id, role) values (1, $1, $2)", user_id, role)
        return user_id

    async def token(self, name: str, role: str, *, expires: int | None = None, is_revoked: bool = False) -> str:
        """Create a service account, and return the token of its holder."""
        text = key_material.new_token()
        material = key_material.parse(text)
        assert material is not None
        await self.sql(
            "insert into api_key (org_id, name, key, role, service_account_id, expires, is_revoked) values (1, $1, $2, 'None', $3, $4, $5)",
            name,
            await self._gateway.authentication.key_hashes.hash_secret(material.secret, material.salt),
            await self.account(name, role),
            expires,
            is_revoked,
        )
        return f"Bearer {text}"

    async def holder(self, name: str, action: str, scope: str, org_id: int) -> Caller:
        """Create an account of role None with one grant, which is global if ``org_id`` is 0."""
        token = await self.token(name, NONE)
        statement = """insert into permission (user_id, org_id, action, scope, created_by)
            select id, $2, $3, $4, 'test' from "user" where login = $1"""
        await self.sql(statement, name, org_id, action, scope)
        return Caller(name, token, NONE)

    async def legacy_key(self, name: str, role: str) -> str:
        """Create a legacy key in organization 1 and return the credentials of its holder."""
        hashed = await self._gateway.authentication.key_hashes.hash_secret("s3cret", name)
        await self.sql("insert into api_key (org_id, name, key, role) values (1, $1, $2, $3)", name, hashed, role)
        return f"Bearer {base64.b64encode(orjson.dumps({'k': 's3cret', 'n': name, 'id': 1})).decode()}"

    async def outcome(self, caller: Caller, route: Route) -> tuple[int, str]:
        """Return the status of one request, and its class: ADMITTED, UNAUTHENTICATED, NOT_A_MEMBER, FAILURE or a refusal of an action."""
        has_body = route.method in ("POST", "PUT", "PATCH")
        async with (
            self._request_slots,
            self._session.request(
                route.method, address(route), headers=caller.headers, json={} if has_body else None, allow_redirects=False
            ) as response,
        ):
            body = await response.read()
        if response.status == 401:
            return 401, UNAUTHENTICATED
        if response.status != 403:
            # Features that this product does not have return 501 to every caller.
            return response.status, ADMITTED if response.status < 500 or response.status == 501 else FAILURE
        message = orjson.loads(body)["message"]
        if message.startswith("You are not a member of the namespace"):
            return 403, NOT_A_MEMBER
        needed = re.search(r"^You'll need additional permissions .* Permissions needed: (.+)$", message)
        return 403, ADMITTED if needed is None else refusal_of(needed[1])

    async def row(self, caller: Caller, routes: Iterable[Route]) -> dict[str, tuple[int, str]]:
        """Return the outcomes of a caller's concurrent requests, by route. Requests that migrate keys are sent last."""
        listed_routes = list(routes)
        outcomes_by_route: dict[str, tuple[int, str]] = {}
        for is_migration in (False, True):
            selected = [route for route in listed_routes if ("/migrate" in route.path) is is_migration]
            outcomes = await asyncio.gather(*(self.outcome(caller, route) for route in selected))
            outcomes_by_route |= dict(zip(map(name_of, selected), outcomes, strict=True))
        return outcomes_by_route


def basic(login: str, password: str) -> str:
    """Return the Authorization header of a user."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def matrix(postgres_dsn: str, _template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AuthorizationMatrix]:
    """Yield one gateway, database and worker for the module. Failed logins are not limited, because some callers send wrong passwords."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(databases.temporary_database(postgres_dsn, _template))
        # A request that times out has an unexpected status, so timeouts are long enough for a busy machine.
        timeouts = Timeouts(acquire=60, lock=60)
        database = await Database.open(url, application_name="test", min_size=1, max_size=MAX_CONCURRENT_REQUESTS, timeouts=timeouts)
        stack.push_async_callback(database.close)
        broker = MemoryBroker()
        await broker.start()
        stack.push_async_callback(broker.close)
        data = tmp_path_factory.mktemp("matrix")
        settings = load(http_port=0, data_dir=data, permitted_paths=str(data), login_attempts=100_000, secret_key="of tests only")
        worker = ExpressionsWorker(settings, database, broker, Clock())
        await worker.start()
        stack.push_async_callback(worker.stop)
        gateway = Gateway(settings, database, broker, Clock())
        stack.push_async_callback(gateway.stop)
        session = aiohttp.ClientSession(await gateway.start(), cookie_jar=aiohttp.DummyCookieJar())
        await stack.enter_async_context(session)
        for path in DOCUMENTS:  # The first request builds a document, which takes the processor from other requests for seconds.
            async with session.get(path) as response:
                assert response.status == 200, path
        matrix = AuthorizationMatrix(gateway, session, database)
        assert await matrix.sql("insert into org (name) values ('Other') returning id") == OTHER_ORG
        yield matrix


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def callers(matrix: AuthorizationMatrix) -> list[Caller]:
    """Return every kind of caller, except for those with a single grant. The Admin of another organization is not a member of the first."""
    disabled = await matrix.person("disabled", ADMIN)
    await matrix.sql("""update "user" set is_disabled = true where login = 'disabled'""")
    token_of_disabled = await matrix.token("disabled-account", ADMIN)
    await matrix.sql("""update "user" set is_disabled = true where login = 'disabled-account'""")
    token = await matrix.token("abroad", ADMIN)
    return [
        Caller("anonymous", None, None),
        Caller("an unknown login", basic("unknown", PASSWORD), None),
        Caller("wrong password", basic("admin", "wrong"), None),
        Caller("disabled user", disabled, None),
        Caller("token of a disabled account", token_of_disabled, None),
        Caller("expired token", await matrix.token("expired", ADMIN, expires=1_000_000_000), None),
        Caller("revoked token", await matrix.token("revoked", ADMIN, is_revoked=True), None),
        Caller("invalid token", "Bearer glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f249", None),
        Caller("token with another organization in the header", token, ADMIN, header_org=OTHER_ORG),
        Caller("Admin of another organization", await matrix.person("abroad-admin", ADMIN, OTHER_ORG), ADMIN, OTHER_ORG),
        Caller("server admin", basic("admin", "admin"), SERVER_ADMIN),
        *[Caller(f"{role}", await matrix.person(f"user-{role}", role), role) for role in ROLES[:-1]],
        *[Caller(f"token of {role}", await matrix.token(f"token-{role}", role), role) for role in ROLES[:-1]],
        *[Caller(f"legacy key of {role}", await matrix.legacy_key(f"key-{role}", role), role) for role in ROLES[:-1]],
    ]


def fault_line(route: str, expected: str, status: int, actual: str, caller: str) -> str:
    """Return a description of an unexpected outcome."""
    return f"{caller}: {route} should be {expected!r}, is {actual!r} ({status})"


async def test_the_golden_table_names_every_action() -> None:
    """The table lists exactly the actions that can be granted."""
    assert set(GOLDEN) == ACTIONS


async def test_only_the_listed_routes_need_no_permission(matrix: AuthorizationMatrix) -> None:
    """Each route without a required permission is in one of the lists above."""
    assert {name_of(route) for route in matrix.all_routes if route.required_access is PUBLIC} == PUBLIC_ROUTES
    assert {name_of(route) for route in matrix.all_routes if route.required_access is SIGNED_IN} == SIGNED_IN_ROUTES | ALERTING_ROUTES


@pytest.mark.parametrize("version", REPOSITORY.versions)
async def test_repository_routes_need_the_documented_roles(matrix: AuthorizationMatrix, version: str) -> None:
    """The lowest role that may use each repository route is as documented."""
    base = f"/apis/{REPOSITORY.api_version(version)}/namespaces/{{namespace}}/"
    needed = {
        f"{route.method} {route.path.removeprefix(base)}": route.required_access
        for route in matrix.all_routes
        if route.path.startswith(base)
    }
    selected = {route: needed[route] for route in REPOSITORY_ROUTES}
    assert {route: GOLDEN[required.action] for route, required in selected.items() if isinstance(required, Permission)} == REPOSITORY_ROUTES


async def test_every_route_admits_exactly_the_permitted_callers(matrix: AuthorizationMatrix, callers: list[Caller]) -> None:
    """Each type of caller requests each route. Unauthenticated callers get 401, and a refusal names the missing action."""
    keys = [caller for caller in callers if caller.name.startswith("legacy key")]
    other_callers = [caller for caller in callers if caller not in keys]
    faults = []
    # Callers that may migrate keys come last: a migration turns the keys into tokens.
    for caller in [*keys, *other_callers]:
        # A migration by a key would turn all keys into tokens before their later requests.
        requested_routes = [route for route in matrix.routes if "/migrate" not in route.path] if caller in keys else matrix.routes
        row = await matrix.row(caller, requested_routes)
        faults += [
            fault_line(name_of(route), expected_outcome(caller, route), *row[name_of(route)], caller.name)
            for route in matrix.routes
            if name_of(route) in row and row[name_of(route)][1] != expected_outcome(caller, route)
        ]
    assert not faults, "\n".join(faults)


async def test_only_the_key_of_an_admin_may_migrate_keys(matrix: AuthorizationMatrix) -> None:
    """An Admin's key may migrate keys, and no other key may.

    Each such request gets new keys, because a migration turns keys into service accounts.
    """
    routes = [route for route in matrix.routes if "/migrate" in route.path]
    assert len(routes) == 2
    for role in ROLES[:-1]:
        caller = Caller(f"legacy key of {role}", await matrix.legacy_key(f"late-{role}", role), role)
        outcomes = await matrix.row(caller, routes)
        assert {outcome for _, outcome in outcomes.values()} == {expected_outcome(caller, route) for route in routes}


async def test_each_route_needs_exactly_its_permission(matrix: AuthorizationMatrix) -> None:
    """An account of role None may use a route only with a grant of the route's action and scope.

    The grant is in organization 1 if the route checks there, and otherwise a global one.
    """
    guarded_routes = [route for route in matrix.routes if isinstance(route.required_access, Permission)]
    without_grants = Caller("without grants", await matrix.token("bare", NONE), NONE)
    holders: dict[tuple[str, str, int], Caller] = {}
    faults = []
    for route in guarded_routes:
        required = route.required_access
        assert isinstance(required, Permission)
        deletes_unknown_org = address(route) == f"/api/orgs/{UNKNOWN_ID}"
        scope_in_org = re.sub(r"\{(current_org|org_id)\}", str(UNKNOWN_ID if deletes_unknown_org else 1), required.scope)
        scope = re.sub(r"\{\w+\}", str(UNKNOWN_ID), scope_in_org)
        is_global = required.organization is OrganizationScope.GLOBAL or deletes_unknown_org
        grant = (required.action, scope, 0 if is_global else 1)
        if grant not in holders:
            holders[grant] = await matrix.holder("only " + " ".join(map(str, grant)), *grant)
        selected = await asyncio.gather(matrix.outcome(without_grants, route), matrix.outcome(holders[grant], route))
        second = SECOND_PERMISSIONS.get(name_of(route))
        expected = (refusal_of(required.action), ADMITTED if second is None else refusal_of(f"all of {required.action}, {second}"))
        for caller, outcome, (status, actual) in zip((without_grants, holders[grant]), expected, selected, strict=True):
            if actual != outcome:
                faults.append(fault_line(name_of(route), outcome, status, actual, caller.name))
    assert not faults, "\n".join(faults)


async def test_a_grant_is_limited_to_its_object(matrix: AuthorizationMatrix) -> None:
    """A grant on one object does not allow a route that requires the same action on another object."""
    faults = []
    for route in matrix.routes:
        required = route.required_access
        if not isinstance(required, Permission) or "{" not in required.scope:
            continue
        scope = re.sub(r"\{\w+\}", str(UNKNOWN_ID + 1), required.scope)
        caller = await matrix.holder(f"next {name_of(route)}", required.action, scope, 0)
        status, actual = await matrix.outcome(caller, route)
        if actual != refusal_of(required.action):
            faults.append(fault_line(name_of(route), refusal_of(required.action), status, actual, f"{required.action} on {scope}"))
    assert not faults, "\n".join(faults)


def smallest_permission_for(action: str) -> int:
    """Return the smallest permission of an access rule that contains an action, as Grafana numbers permissions."""
    if ".permissions:" in action:
        return 4
    return 1 if action.endswith(":read") else 2


@pytest.mark.parametrize(("level", "permission"), [("View", 1), ("Edit", 2), ("Admin", 4)])  # as Grafana numbers permissions
async def test_a_rule_on_one_folder_passes_the_first_check(matrix: AuthorizationMatrix, level: str, permission: int) -> None:
    """A member of role None with a rule on one folder passes the check that precedes the read of an object in a folder, and no other."""
    login, uid = f"by-rule-{level}", f"open-{level}"
    caller = Caller(login, await matrix.person(login, NONE), NONE)
    user = await matrix.sql("""select id from "user" where login = $1""", login)
    await matrix.change("/api/folders", {"uid": uid, "title": "T"})
    await matrix.change(f"/api/access-control/folders/{uid}/users/{user}", {"permission": level})
    # Deletes of whole collections are omitted, because they would delete the folder and with it the rule.
    routes = [route for route in matrix.routes if route.method != "DELETE" or route.path.endswith("}")]
    guarded_routes = [route for route in routes if isinstance(route.required_access, Permission)]
    row = await matrix.row(caller, [route for route in guarded_routes if name_of(route) not in SECOND_PERMISSIONS])
    faults = []
    for route in guarded_routes:
        if name_of(route) in row:
            required = route.required_access
            assert isinstance(required, Permission)
            is_permitted = required.object_rules_suffice and permission >= smallest_permission_for(required.action)
            expected = ADMITTED if is_permitted else refusal_of(required.action)
            status, actual = row[name_of(route)]
            if actual != expected:
                faults.append(fault_line(name_of(route), expected, status, actual, login))
    assert not faults, "\n".join(faults)

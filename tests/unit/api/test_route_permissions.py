"""Permissions of routes, and the parameters and bodies of requests that handlers read."""

from typing import Any

import aiohttp
import pytest
from pydantic import BaseModel, ConfigDict

from dashwright.api.domain.actor import Actor
from dashwright.api.http.call import Call, parse_integer, require_user_id
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, OrganizationInPath, OrganizationScope, Permission, Route
from dashwright.api.http.server import Server
from dashwright.common.errors import DashwrightError
from dashwright.common.identity import Identity, Role

from .conftest import Account, Accounts, Serve, basic

ADMIN, VIEWER = {"Authorization": basic("ann", "pw")}, {"Authorization": basic("vic", "pw")}
# The parameter of the path, and the message and message id of an invalid one.
IN_PATH = OrganizationInPath("org_id", "orgId is invalid", "quota.bad-request")


def set_caller(identity: Identity, accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the identity of the login ``vic``, whatever organization a request selects."""
    account = Account(password_hash=accounts.hashes["vic"], identity=identity)

    async def find(login: str, org_id: int | None) -> Account:
        return account

    monkeypatch.setattr(accounts, "find", find)


async def report_view(call: Call) -> Response:
    """Return the caller's current organization, and the organization and role that the permission was checked with."""
    return json_response(
        {"current": call.identity.org_id, "evaluated": call.authorized_identity.org_id, "role": call.authorized_identity.role}
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+5", 5),
        ("-9999", -9999),
        ("007", 7),
        # The bounds of 64 bits.
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1" * 10_000, None),
        ("", None),
        ("+", None),
        (" 1", None),
        ("1_0", None),
        # The Arabic digit 1.
        ("\u0661", None),
        ("1.0", None),
        ("0x1", None),
        ("1\n", None),
    ],
)
def test_an_integer_is_ascii_digits_of_64_bits(text: str, number: int | None) -> None:
    """Only ASCII digits are accepted, as in Grafana; Python's ``int`` accepts more."""
    assert parse_integer(text) == number


@pytest.mark.parametrize(
    ("path", "credentials", "status", "body"),
    [
        ("/api/orgs/1/x", ADMIN, 200, {"current": 1, "evaluated": 1, "role": "Admin"}),
        ("/api/orgs/2/x", ADMIN, 403, None),
        ("/api/orgs/9999/x", ADMIN, 403, None),
        ("/api/orgs/-9999/x", ADMIN, 403, None),
        ("/api/orgs/1/x", VIEWER, 403, None),
        (
            "/api/orgs/one/x",
            VIEWER,
            400,
            {"message": "orgId is invalid", "messageId": "quota.bad-request", "statusCode": 400, "traceID": ""},
        ),
        ("/api/orgs/one/x", {}, 401, {"message": "Unauthorized"}),
        ("/api/globally", ADMIN, 403, None),
        ("/api/here", ADMIN, 200, {"current": 1, "evaluated": 1, "role": "Admin"}),
        ("/api/here", VIEWER, 403, None),
        ("/api/here", {**ADMIN, "X-Grafana-Org-Id": "2"}, 403, None),
    ],
)
async def test_a_permission_is_checked_in_the_organization_of_the_route(
    serve: Serve, path: str, credentials: Any, status: int, body: Any
) -> None:
    """Missing credentials are reported before an invalid organization, and an invalid organization before a missing permission.

    The role in the organization of the path counts. The response does not reveal whether this organization exists.
    """
    gateway = await serve(
        [
            Route("GET", "/api/orgs/{org_id}/x", report_view, Permission("orgs.quotas:read", "org:id:{org_id}", IN_PATH)),
            Route("GET", "/api/globally", report_view, Permission("orgs.quotas:read", organization=OrganizationScope.GLOBAL)),
            Route("GET", "/api/here", report_view, Permission("orgs.quotas:read", "org:id:{current_org}")),
        ]
    )
    async with gateway.client.get(path, headers=credentials) as response:
        assert response.status == status
        if body is not None:
            assert await response.json() == body


async def test_any_scope_admits_callers_with_the_action_on_some_scope(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, accounts: Accounts
) -> None:
    """With ``any_scope_suffices``, a grant on one object admits the caller, and the handler restricts the result.

    Without this option, the grant admits the caller only to the route of this object.
    """
    narrow = Identity(uid="user:vic", login="vic", org_id=1, role=Role.VIEWER, permissions={"apikeys:read": frozenset({"apikeys:id:3"})})
    set_caller(narrow, accounts, monkeypatch)
    gateway = await serve(
        [
            Route("GET", "/api/any", report_view, Permission("apikeys:read", any_scope_suffices=True)),
            Route("GET", "/api/all", report_view, Permission("apikeys:read")),
            Route("GET", "/api/one/{id}", report_view, Permission("apikeys:read", "apikeys:id:{id}")),
        ]
    )
    for path, status in (("/api/any", 200), ("/api/all", 403), ("/api/one/3", 200), ("/api/one/4", 403), ("/api/one/*", 403)):
        async with gateway.client.get(path, headers=VIEWER) as response:
            assert response.status == status, path


@pytest.mark.parametrize("scope", [OrganizationInPath("id", "bad"), OrganizationInPath("", "bad")])
def test_an_organization_of_the_path_must_be_in_the_path(scope: OrganizationInPath) -> None:
    """A route that takes the organization from a path without one is refused at the start, not at the first request."""
    with pytest.raises(DashwrightError, match="names no path parameter"):
        Route("GET", "/api/orgs/{org_id}", report_view, Permission("orgs:read", organization=scope))


async def test_flags_and_numbers_of_the_query_are_read(serve: Serve) -> None:
    """A flag is true in six spellings. A number above the maximum becomes the maximum.

    A number below the minimum, or an invalid number, becomes the default.
    """

    async def read(call: Call) -> Response:
        return json_response([call.query_flag("on"), call.query_integer("page", 1, minimum=1, maximum=50)])

    gateway = await serve([Route("GET", "/api/x", read, PUBLIC)])

    async def values_of(query: str) -> Any:
        """Return the flag and the number that the gateway reads from a query."""
        async with gateway.client.get(f"/api/x?{query}") as response:
            return await response.json()

    assert await values_of("") == [False, 1]
    for text in ("1", "t", "T", "TRUE", "true", "True"):
        assert await values_of(f"on={text}") == [True, 1], text
    for text in ("", "yes", "tRue", "0", "on"):
        assert await values_of(f"on={text}") == [False, 1], text
    for text, number in (("7", 7), ("0", 1), ("-9999", 1), ("x", 1), ("51", 50), ("1e1", 1)):
        assert await values_of(f"page={text}") == [False, number], text


class NameBody(BaseModel):
    """A body with a name, which is not converted from other types."""

    model_config = ConfigDict(strict=True)
    name: str


NOT_JSON = "the body is not JSON"
NOT_AN_OBJECT = "Input should be an object"
NOT_A_STRING = "name: Input should be a valid string"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", NOT_JSON),
        ("{", NOT_JSON),
        ('{"name":"\\ud800"}', NOT_JSON),
        ("\xff", NOT_JSON),
        ("[]", NOT_AN_OBJECT),
        ("null", NOT_AN_OBJECT),
        ('"name"', NOT_AN_OBJECT),
        ("{}", "name: Field required"),
        ('{"name":1}', NOT_A_STRING),
        ('{"name":null}', NOT_A_STRING),
    ],
)
async def test_every_fault_of_a_body_has_the_message_of_its_route(serve: Serve, body: str, reason: str) -> None:
    """If a route has a message for invalid bodies, every fault of a body has this message, and the reason separately."""

    async def read(call: Call) -> Response:
        return json_response((await call.model_or_400(NameBody, message="bad request data", message_id="quota.bad-request")).name)

    gateway = await serve([Route("PUT", "/api/x", read, PUBLIC)])
    # In Latin-1, the character U+00FF is a byte that is not UTF-8.
    async with gateway.client.put("/api/x", data=body.encode("latin-1")) as response:
        assert response.status == 400
        error = await response.json()
    assert error.pop("extra") == {"error": reason}
    assert error == {"message": "bad request data", "messageId": "quota.bad-request", "statusCode": 400, "traceID": ""}
    async with gateway.client.put("/api/x", data='{"name":"n"}') as response:
        assert await response.json() == "n"


async def test_an_invalid_integer_in_a_path_has_the_error_of_its_route(serve: Serve) -> None:
    """An invalid integer in a path has the message of its route, and the message id if the route has one."""

    async def read(call: Call) -> Response:
        return json_response([call.path_integer("id", "id is invalid"), call.path_integer("n", "n!", message_id="x.bad")])

    gateway = await serve([Route("GET", "/api/{id}/{n}", read, PUBLIC)])
    for path, expected in (("/api/5/-1", [5, -1]), ("/api/a/1", {"message": "id is invalid"})):
        async with gateway.client.get(path) as response:
            assert await response.json() == expected
    async with gateway.client.get("/api/1/a") as response:
        assert (await response.json())["messageId"] == "x.bad"


async def test_tokens_and_keys_are_not_users(serve: Serve) -> None:
    """A caller without a user id, such as a token or key, is refused. The error names the route and the data that the caller lacks."""

    async def own_quotas(call: Call) -> Response:
        return json_response(require_user_id(call, user_data="user quotas"))

    gateway = await serve([Route("GET", "/api/user/quotas", own_quotas, PUBLIC)])
    async with gateway.client.get("/api/user/quotas") as response:
        assert response.status == 403
        fault = "/api/user/quotas is about a signed-in user; a token or key has no user quotas"
        assert await response.json() == {"message": fault}


async def test_refused_changes_are_recorded(authenticator: Any) -> None:
    """Responses 401 and 403 of routes with an audit event are recorded for the organization of the route.

    Successes, other errors and refusals of routes without an audit event are not recorded. Organization 0 is unknown or global.
    """
    recorded_refusals: list[tuple[str, str, int, int, str]] = []

    class RefusalRecorder:
        """An audit log that records refusals in the list of the test."""

        def record(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
            recorded_refusals.append((actor.uid, action, org_id, status, actor.address))

    permission = Permission("orgs:write")
    global_permission = Permission("orgs:delete", organization=OrganizationScope.GLOBAL)
    permission_in_path = Permission("orgs:write", organization=OrganizationInPath("org", "no number"))
    routes = [
        Route("PUT", "/api/x", report_view, permission, audit="org.update"),
        Route("GET", "/api/x", report_view, permission),
        Route("POST", "/api/x", report_view, SIGNED_IN, audit="x"),
        Route("DELETE", "/api/x", report_view, global_permission, audit="org.delete"),
        Route("PUT", "/api/x/{org}", report_view, permission_in_path, audit="org.update"),
    ]
    server = Server(routes, authenticator, refusals=RefusalRecorder())
    port = await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        for method, path, headers, status in (
            # Recorded refusals.
            ("PUT", "/api/x", VIEWER, 403),
            ("PUT", "/api/x", {}, 401),
            ("DELETE", "/api/x", VIEWER, 403),
            ("PUT", "/api/x/7", VIEWER, 403),
            ("PUT", "/api/x/7", {}, 401),
            # Successes, a refusal without an audit event, and another error.
            ("PUT", "/api/x", ADMIN, 200),
            ("GET", "/api/x", VIEWER, 403),
            ("POST", "/api/x", VIEWER, 200),
            ("PUT", "/api/x/y", VIEWER, 400),
        ):
            async with client.request(method, path, headers=headers) as response:
                assert response.status == status, (method, path)
    await server.stop()
    assert recorded_refusals == [
        ("user:vic", "org.update", 1, 403, "127.0.0.1"),
        ("anonymous", "org.update", 0, 401, "127.0.0.1"),
        ("user:vic", "org.delete", 0, 403, "127.0.0.1"),
        ("user:vic", "org.update", 7, 403, "127.0.0.1"),
        ("anonymous", "org.update", 0, 401, "127.0.0.1"),
    ]


async def test_a_caller_without_an_organization_reaches_their_data(
    serve: Serve, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without any organization reaches routes for signed-in users, in order to join one, but no route with a permission."""
    set_caller(Identity(uid="user:vic", login="vic", org_id=0, role=Role.NONE), accounts, monkeypatch)
    gateway = await serve(
        [Route("GET", "/api/mine", report_view, SIGNED_IN), Route("GET", "/api/here", report_view, Permission("dashboards:read"))]
    )
    async with gateway.client.get("/api/mine", headers=VIEWER) as response:
        assert response.status == 200
    async with gateway.client.get("/api/here", headers=VIEWER) as response:
        assert response.status == 401
        assert (await response.json())["messageId"] == "organization.not-a-member"

"""Permissions of routes and the views they use, parameters of calls, and callers that are not users."""

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
    account = Account(accounts.hashes["vic"], identity=identity)

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
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1" * 10_000, None),
        ("", None),
        ("+", None),
        (" 1", None),
        ("1_0", None),
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
    """With any_scope_suffices, a grant on one object admits the caller, and the handler restricts the result.

    Without it, the grant does not suffice.
    """
    narrow = Identity("user:vic", "vic", 1, Role.VIEWER, permissions={"apikeys:read": frozenset({"apikeys:id:3"})})
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
    """A flag is true in six spellings. A number above the maximum becomes the maximum; a lower or invalid one becomes the default."""

    async def read(call: Call) -> Response:
        return json_response([call.query_flag("on"), call.query_integer("page", 1, minimum=1, maximum=50)])

    gateway = await serve([Route("GET", "/api/x", read, PUBLIC)])
    cases: list[tuple[str, list[Any]]] = [("", [False, 1])]
    cases += [(f"on={text}", [True, 1]) for text in ("1", "t", "T", "TRUE", "true", "True")]
    cases += [(f"on={text}", [False, 1]) for text in ("", "yes", "tRue", "0", "on")]
    cases += [(f"page={text}", [False, number]) for text, number in (("7", 7), ("0", 1), ("-9999", 1), ("x", 1), ("51", 50), ("1e1", 1))]
    for query, expected in cases:
        async with gateway.client.get(f"/api/x?{query}") as response:
            assert await response.json() == expected, query


class NameBody(BaseModel):
    """A body with a name, which is not converted from other types."""

    model_config = ConfigDict(strict=True)
    name: str


NOT_JSON, NOT_A_STRING = "the body is not JSON", "name: Input should be a valid string"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        *((body, NOT_JSON) for body in ("", "{", '{"name":"\\ud800"}', "\xff")),
        *((body, "Input should be an object") for body in ("[]", "null", '"name"')),
        ("{}", "name: Field required"),
        *((body, NOT_A_STRING) for body in ('{"name":1}', '{"name":null}')),
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
    """The error for a token or key names the route and the data that it lacks."""

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
    routes = [Route("PUT", "/api/x", report_view, permission, audit="org.update"), Route("GET", "/api/x", report_view, permission)]
    routes.append(Route("POST", "/api/x", report_view, SIGNED_IN, audit="x"))
    routes.append(
        Route("DELETE", "/api/x", report_view, Permission("orgs:delete", organization=OrganizationScope.GLOBAL), audit="org.delete")
    )
    routes.append(
        Route(
            "PUT",
            "/api/x/{org}",
            report_view,
            Permission("orgs:write", organization=OrganizationInPath("org", "no number")),
            audit="org.update",
        )
    )
    server = Server(routes, authenticator, refusals=RefusalRecorder())
    port = await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        for method, path, headers in (
            ("PUT", "/api/x", VIEWER),
            ("PUT", "/api/x", {}),
            ("PUT", "/api/x", ADMIN),
            ("GET", "/api/x", VIEWER),
            ("POST", "/api/x", VIEWER),
            ("DELETE", "/api/x", VIEWER),
            ("PUT", "/api/x/7", VIEWER),
            ("PUT", "/api/x/y", VIEWER),
            ("PUT", "/api/x/7", {}),
        ):
            async with client.request(method, path, headers=headers):
                pass
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
    set_caller(Identity("user:vic", "vic", 0, Role.NONE), accounts, monkeypatch)
    gateway = await serve(
        [Route("GET", "/api/mine", report_view, SIGNED_IN), Route("GET", "/api/here", report_view, Permission("dashboards:read"))]
    )
    async with gateway.client.get("/api/mine", headers=VIEWER) as response:
        assert response.status == 200
    async with gateway.client.get("/api/here", headers=VIEWER) as response:
        assert (response.status, (await response.json())["messageId"]) == (401, "organization.not-a-member")

"""Grafana's routes of alerting, which is not part of this product: reads return no objects, and writes are refused.

Tools for backup and export read these lists first, and stop unless the status is 200.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Content, Handler, Operation, Route
from dashwright.api.models.alerting import AlertsResponse, NotificationPolicy, RuleGroupsResponse
from dashwright.api.models.response import Message
from dashwright.common.errors import NotFound

_TAG: Final = "alerting"
_PROVISIONING: Final = "/api/v1/provisioning"
_RULER: Final = "/api/ruler"
_ALERTMANAGER: Final = "/api/alertmanager"
_EMPTY_LIST: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "string"}, "maxItems": 0, "description": "Always empty"}
_EMPTY_OBJECT: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "maxProperties": 0,
    "description": "Always empty",
}
_REFUSAL: Final = "Alerting is not part of this product: it stores no rules, contact points, policies or silences"


class _EmptyRead(NamedTuple):
    """A read of a collection that has no items."""

    path: str
    operation_id: str
    summary: str
    body: Any
    #: Type or schema of the body.
    content: Any


_EMPTY_READS: Final = (
    *(
        _EmptyRead(path, operation_id, summary, [], Content(_EMPTY_LIST))
        for path, operation_id, summary in (
            (f"{_PROVISIONING}/alert-rules", "RouteGetAlertRules", "the alert rules: none"),
            (f"{_PROVISIONING}/contact-points", "RouteGetContactpoints", "the contact points: none"),
            (f"{_PROVISIONING}/mute-timings", "RouteGetMuteTimings", "the mute timings: none"),
            (f"{_PROVISIONING}/templates", "RouteGetTemplates", "the templates of notifications: none"),
            (f"{_ALERTMANAGER}/grafana/api/v2/alerts", "RouteGetAMAlerts", "the firing alerts: none"),
            (f"{_ALERTMANAGER}/grafana/api/v2/alerts/groups", "RouteGetAMAlertGroups", "the groups of firing alerts: none"),
            (f"{_ALERTMANAGER}/grafana/api/v2/silences", "RouteGetSilences", "the silences: none"),
            (f"{_ALERTMANAGER}/grafana/config/api/v1/receivers", "RouteGetReceivers", "the contact points with their states: none"),
        )
    ),
    _EmptyRead(
        f"{_PROVISIONING}/policies",
        "RouteGetPolicyTree",
        "the notification policy without conditions",
        NotificationPolicy(),
        NotificationPolicy,
    ),
    _EmptyRead(
        f"{_RULER}/grafana/api/v1/rules", "RouteGetGrafanaRulesConfig", "the alert rules by folder: none", {}, Content(_EMPTY_OBJECT)
    ),
    _EmptyRead(
        "/api/prometheus/grafana/api/v1/rules",
        "RouteGetGrafanaRuleStatuses",
        "the states of alert rules: none",
        RuleGroupsResponse(),
        RuleGroupsResponse,
    ),
    _EmptyRead(
        "/api/prometheus/grafana/api/v1/alerts",
        "RouteGetGrafanaAlertStatuses",
        "the states of alerts: none",
        AlertsResponse(),
        AlertsResponse,
    ),
)
_ROOTS: Final[Mapping[str, str]] = {_PROVISIONING: "Provisioning", _RULER: "Ruler", _ALERTMANAGER: "Alertmanager"}
"""Parts of operation ids, by the root of the paths."""
_WRITES: Final[Mapping[str, str]] = {"POST": "create", "PUT": "replace", "PATCH": "change", "DELETE": "delete"}
"""Verbs of operation ids, by method."""


def routes() -> list[Route]:
    """Return the routes. Their responses are constant, so they need no permission."""
    reads = [
        Route(
            "GET",
            read.path,
            _constant_handler(json_response(read.body)),
            SIGNED_IN,
            Operation(read.operation_id, read.summary, _TAG, responses={200: read.content}),
        )
        for read in _EMPTY_READS
    ]
    return [*reads, *(route for root, name in _ROOTS.items() for route in _other_routes(root, name))]


def _other_routes(root: str, name: str) -> list[Route]:
    """Return the routes of all other paths below a root: there is no object to read, and none can be written."""
    path = f"{root}/{{path:rest}}"
    read = Operation(f"getAlerting{name}", "404: there are no objects of alerting", _TAG, errors=(404,))
    writes = [
        Route(
            method,
            path,
            _refuse,
            SIGNED_IN,
            Operation(f"{verb}Alerting{name}", "501: alerting is not part of this product", _TAG, responses={501: Message}),
        )
        for method, verb in _WRITES.items()
    ]
    return [Route("GET", path, _raise_not_found, SIGNED_IN, read), *writes]


def _constant_handler(response: Response) -> Handler:
    async def handler(_: Call) -> Response:
        return response

    return handler


async def _raise_not_found(call: Call) -> Response:
    """Raise NotFound for any path, because no object of alerting is stored."""
    raise NotFound(f"{call.path[:200]} not found. {_REFUSAL}")


async def _refuse(_: Call) -> Response:
    """Return 501. An exception with this status would be logged as a failure of the server."""
    return message_response(_REFUSAL, 501)

"""Alerting is not part of this product: clients of Grafana read empty collections, and writes are refused."""

from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api

#: What Grafana returns while it has no alert rules, by path.
_EMPTY: Final[dict[str, Any]] = {
    **{f"/api/v1/provisioning/{collection}": [] for collection in ("alert-rules", "contact-points", "mute-timings", "templates")},
    "/api/v1/provisioning/policies": {"receiver": "empty", "group_by": ["grafana_folder", "alertname"]},
    "/api/ruler/grafana/api/v1/rules": {},
    "/api/prometheus/grafana/api/v1/rules": {"status": "success", "data": {"groups": []}},
    "/api/prometheus/grafana/api/v1/alerts": {"status": "success", "data": {"alerts": []}},
    **{f"/api/alertmanager/grafana/api/v2/{collection}": [] for collection in ("alerts", "alerts/groups", "silences")},
    "/api/alertmanager/grafana/config/api/v1/receivers": [],
}


@pytest.mark.parametrize("path", _EMPTY)
async def test_a_collection_is_empty(api: Api, path: str) -> None:
    """A collection is read in the form that Grafana returns while it has no items."""
    assert await api("GET", path) == (200, _EMPTY[path])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/provisioning/alert-rules"),
        ("PUT", "/api/v1/provisioning/policies"),
        ("DELETE", "/api/v1/provisioning/contact-points/one"),
        ("POST", "/api/ruler/grafana/api/v1/rules/folder"),
        ("POST", "/api/alertmanager/grafana/api/v2/silences"),
    ],
)
async def test_a_write_is_refused(api: Api, method: str, path: str) -> None:
    """A write returns 501 with the reason, so that clients do not assume that their object was stored."""
    status, refusal = await api(method, path, {"title": "R"})
    assert (status, refusal["message"].partition(":")[0]) == (501, "Alerting is not part of this product")


async def test_one_object_is_not_found(api: Api) -> None:
    """A read of a single rule returns 404 with the reason."""
    status, refusal = await api("GET", "/api/v1/provisioning/alert-rules/some-uid")
    assert status == 404
    assert "Alerting is not part of this product" in refusal["message"]

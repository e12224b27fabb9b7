"""Cases of grafana-foundation-sdk for TypeScript: dashboards of its builders are stored and returned unchanged."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

TARGET = os.environ["DASHWRIGHT_TEST_TARGET"]
HEADERS = {"Authorization": f"Bearer {os.environ['DASHWRIGHT_TEST_TOKEN']}"}
DASHBOARDS = "/apis/dashboard.grafana.app/{}/namespaces/default/dashboards"


@pytest.fixture(scope="module")
def built_dashboards() -> dict[str, Any]:
    """Return the dashboards that the builders make, by name."""
    folder = Path(os.environ["DASHWRIGHT_TEST_NODE"])
    output = subprocess.run(["node", "build.mjs"], cwd=folder, check=True, capture_output=True, text=True).stdout
    dashboards: dict[str, Any] = json.loads(output)
    return dashboards


def call(method: str, path: str, body: Any = None) -> Any:
    """Return the response to a request. Raises AssertionError if it is an error."""
    response = requests.request(method, TARGET + path, headers=HEADERS, json=body, timeout=30)
    assert response.ok, response.text
    return response.json()


def test_the_classic_api_returns_a_built_dashboard(built_dashboards: dict[str, Any]) -> None:
    """Every member of a built dashboard is returned as it was sent."""
    sent = built_dashboards["classic"]
    call("POST", "/api/dashboards/db", {"dashboard": sent, "overwrite": True})
    returned = call("GET", "/api/dashboards/uid/typescript")["dashboard"]
    assert {name: returned[name] for name in sent} == sent


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1", "v1"])
def test_panels_are_returned_as_built(built_dashboards: dict[str, Any], version: str) -> None:
    """Every member of a built dashboard except for its uid, which is its name, is returned in each version with panels."""
    spec = {name: value for name, value in built_dashboards["classic"].items() if name != "uid"}
    call("POST", DASHBOARDS.format(version), {"metadata": {"name": f"classic-{version}"}, "spec": spec})
    returned = call("GET", f"{DASHBOARDS.format(version)}/classic-{version}")["spec"]
    assert {name: returned.get(name) for name in spec} == spec


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_elements_are_returned_as_built(built_dashboards: dict[str, Any], version: str) -> None:
    """Elements and tabs are returned as they were sent, and as panels in a classic version."""
    call("POST", DASHBOARDS.format(version), {"metadata": {"name": version}, "spec": built_dashboards[version]})
    returned = call("GET", f"{DASHBOARDS.format(version)}/{version}")["spec"]
    assert {name: returned.get(name) for name in built_dashboards[version]} == built_dashboards[version]
    assert "Load" in [panel["title"] for panel in call("GET", f"{DASHBOARDS.format('v1')}/{version}")["spec"]["panels"]]

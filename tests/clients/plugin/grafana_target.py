"""Replacement of the suite's fixture ``docker_services``: the gateway under test instead of a container.

The suite's pytest loads it (``-p grafana_target``) in the suite's environment. ``DASHWRIGHT_TEST_TARGET`` is host:port, and
``DASHWRIGHT_TEST_PROMETHEUS`` the URL of a Prometheus.
"""

import os
from importlib import import_module

import pytest

_HOST, _, _PORT = os.environ["DASHWRIGHT_TEST_TARGET"].rpartition(":")


class Target:
    """The gateway under test, with the methods of the suite's containers."""

    docker_ip = _HOST

    def start(self, *_services: str) -> None:
        """Do nothing: the gateway is running."""

    def wait_for_service(self, _service: str, _port: int) -> int:
        """Return the port of the gateway, which is running already."""
        return int(_PORT)

    def port_for(self, _service: str, port: int) -> int:
        """Return the port of a data source. Of the data sources of the suite, only Prometheus exists, at another port."""
        return port

    def wait_until_responsive(self, **_options: object) -> None:
        """Do nothing: the gateway is running."""


@pytest.fixture(scope="session")
def docker_services() -> Target:
    """Return the gateway. The suite's data source then refers to the given Prometheus."""
    import_module("test.elements.test_datasource_fixtures").PROMETHEUS_DATASOURCE["url"] = os.environ["DASHWRIGHT_TEST_PROMETHEUS"]
    return Target()

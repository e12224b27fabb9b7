"""The suite's server, as its fixture ``docker_services`` promises one: not a container that it starts, but the gateway under test.

Loaded by the suite's own pytest (``-p grafana_target``), in the suite's environment. ``DASHWRIGHT_TEST_TARGET`` is host:port.
"""

import os

import pytest

_HOST, _, _PORT = os.environ["DASHWRIGHT_TEST_TARGET"].rpartition(":")


class Target:
    docker_ip = _HOST

    def start(self, *_services: str) -> None:
        """It runs already."""

    def wait_for_service(self, _service: str, _port: int) -> int:
        return int(_PORT)

    def port_for(self, _service: str, port: int) -> int:
        """Of data sources, which are not there: no test asks them but those that are expected to fail."""
        return port

    def wait_until_responsive(self, **_how: object) -> None:
        """Nothing to wait for."""


@pytest.fixture(scope="session")
def docker_services() -> Target:
    return Target()

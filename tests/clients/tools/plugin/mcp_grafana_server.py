"""Plugin of pytest that runs mcp-grafana over standard input and output, and gives its tools to cases."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

#: The categories that need no data source except Prometheus, no plugin of Grafana Cloud and no other server.
_CATEGORIES: Final = (
    "search,datasource,alerting,dashboard,folder,navigation,annotations,rendering,snapshot,plugin,api,config,"
    "provisioning,user,admin,examples,prometheus"
)


class Server:
    """A running mcp-grafana."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "mcp-grafana", "-t", "stdio", f"--enabled-tools={_CATEGORIES}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "GRAFANA_URL": os.environ["DASHWRIGHT_TEST_TARGET"],
                "GRAFANA_SERVICE_ACCOUNT_TOKEN": os.environ["DASHWRIGHT_TEST_TOKEN"],
                "GRAFANA_USAGE_STATS": "disabled",
                "DO_NOT_TRACK": "1",
            },
            text=True,
        )
        self._id = 0
        self._called: set[str] = set()
        client = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "cases", "version": "1"}}
        self._request("initialize", client)
        self._send({"method": "notifications/initialized"})

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of a tool, parsed if it is JSON. Raises AssertionError if the tool reports an error."""
        content, is_error = self._call(name, arguments)
        assert not is_error, f"{name}: {content}"
        if content["type"] != "text":
            return content
        try:
            return json.loads(content["text"])
        except ValueError:
            return content["text"]

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """Return the error that a tool reports. Raises AssertionError if it succeeds."""
        content, is_error = self._call(name, arguments)
        assert is_error, f"{name}: {content}"
        return str(content["text"])

    def uncalled(self) -> set[str]:
        """Return the names of the tools that no case has called."""
        return {tool["name"] for tool in self._request("tools/list", {})["tools"]} - self._called

    def close(self) -> None:
        """Stop the program."""
        self._process.terminate()
        self._process.wait(10)

    def _call(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Call a tool, and return the first content of its result and whether this is an error."""
        self._called.add(name)
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        return result["content"][0], bool(result.get("isError"))

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request of the protocol, and return its result. Messages about other matters are skipped."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._id:
                assert "result" in message, message
                return dict(message["result"])
        raise AssertionError("mcp-grafana ended")

    def _send(self, message: dict[str, Any]) -> None:
        """Send a message of the protocol."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Run mcp-grafana for all cases."""
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def tool(server: Server) -> Callable[..., Any]:
    """Return the function that calls a tool by its name and returns its result."""
    return server.call


@pytest.fixture(scope="session")
def refusal(server: Server) -> Callable[..., str]:
    """Return the function that calls a tool by its name and returns its error."""
    return server.refusal


@pytest.fixture
def uncalled(server: Server) -> set[str]:
    """Return the names of the tools that no case has called."""
    return server.uncalled()

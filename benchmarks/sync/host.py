"""A simulated Gitea over git's own HTTP backend, with REST API and webhooks, and a control server for benchmarks.

``python -m benchmarks.sync.host FOLDER`` prints the addresses of both when they are ready. The control server has these endpoints:

- ``GET /NAME.git/PATH``: a file in base64 with the hash of its blob, as REST APIs of git hosts return it;
- ``GET /requests``: the number of requests to the host, to git and to its API;
- ``GET /deliveries``: the status of the response to each delivery of a webhook;
- ``POST /pushes/OWNER/NAME``: makes the host call the webhooks of a repository, after its branches were changed on the disk.
"""

import asyncio
import base64
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import pygit2
from aiohttp import web
from tests.servers import git_host
from tests.servers.git_host import HostRepository
from tests.servers.gitea_host import GiteaHost

from benchmarks.sync.corpus import BRANCH

_PUSHES_PATH: Final = "/pushes/"


@dataclass
class BenchmarkHost(GiteaHost):
    """A simulated Gitea whose repositories are those in its folder, ``OWNER/NAME.git``."""

    def folder(self, name: str) -> Path:
        """Return the folder of a bare repository with a name ``OWNER/NAME``."""
        return self.root / f"{name}.git"

    def _handle(self, method: str, path: str, request_json: Any) -> tuple[int, Any]:
        # A path of the API begins with /repos/OWNER/NAME. A repository is known from the first request for it.
        name = "/".join(path.split("/")[2:4])
        if self.folder(name).is_dir():
            self.repositories.setdefault(name, HostRepository(name))
        return super()._handle(method, path, request_json)

    def _refs(self, name: str) -> dict[str, str]:
        # A git process for each delivery, as in the class above, would use processor time of the measured services.
        branches = pygit2.Repository(str(self.folder(name))).branches.local
        return {branch: str(branches[branch].target) for branch in branches}


async def _control(host: BenchmarkHost, request: web.BaseRequest) -> web.Response:
    """Respond to a request to the control server."""
    if request.path.startswith(_PUSHES_PATH):
        host.call_push_hooks(request.path.removeprefix(_PUSHES_PATH))
        return web.Response(status=204)
    if request.path == "/requests":
        return web.json_response(len(host.requests) + len(host.calls))
    if request.path == "/deliveries":
        return web.json_response([delivery.status for delivery in host.deliveries])
    name, _, path = request.path.removeprefix("/").partition("/")
    repository = pygit2.Repository(str(host.root / name))
    blob = repository.revparse_single(f"{BRANCH}:{path}")
    assert isinstance(blob, pygit2.Blob)
    content = {"path": path, "sha": str(blob.id), "encoding": "base64", "content": base64.b64encode(blob.data).decode()}
    return web.Response(body=orjson.dumps(content), content_type="application/json")


async def main() -> None:
    """Serve until the process ends. Print the addresses when both servers are ready."""
    async with git_host.serving(Path(sys.argv[1]), kind=BenchmarkHost) as host:
        assert isinstance(host, BenchmarkHost)
        runner = web.ServerRunner(web.Server(lambda request: _control(host, request), access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(f"http://127.0.0.1:{host.port}\nhttp://127.0.0.1:{site.port}", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())

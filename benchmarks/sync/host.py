"""The git host: git's own HTTP backend with the REST API and the webhooks of a Gitea, and a server that controls it.

``python -m benchmarks.sync.host FOLDER``; it prints the addresses of both when it is ready. The control server has

- ``GET /NAME.git/PATH``: a file in base64 with its blob's name, as in the REST interface of a host;
- ``GET /requests``: the number of requests that the host has received, for git and for its API;
- ``GET /deliveries``: the statuses of the responses to its webhooks' deliveries;
- ``POST /pushes/OWNER/NAME``: the host calls the webhooks of a repository whose branches have changed.
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

_PUSHES: Final = "/pushes/"


@dataclass
class BenchmarkHost(GiteaHost):
    """A Gitea whose repositories are those on the disk, at ``OWNER/NAME.git``."""

    def folder(self, name: str) -> Path:
        """Return the folder of a bare repository, as git's own clones name it."""
        return self.root / f"{name}.git"

    def _call(self, method: str, path: str, sent: Any) -> tuple[int, Any]:
        name = "/".join(path.split("/")[2:4])
        if self.folder(name).is_dir():
            self.repositories.setdefault(name, HostRepository(name))
        return super()._call(method, path, sent)

    def _refs(self, name: str) -> dict[str, str]:
        # Without a process for each delivery, which would take the processor from what is measured.
        branches = pygit2.Repository(str(self.folder(name))).branches.local
        return {branch: str(branches[branch].target) for branch in branches}


async def _control(host: BenchmarkHost, request: web.BaseRequest) -> web.Response:
    if request.path.startswith(_PUSHES):
        host.call_push_hooks(request.path.removeprefix(_PUSHES))
        return web.Response(status=204)
    if request.path == "/requests":
        return web.json_response(len(host.requests) + len(host.calls))
    if request.path == "/deliveries":
        return web.json_response([delivery.status for delivery in host.deliveries])
    name, _, path = request.path.removeprefix("/").partition("/")
    repository = pygit2.Repository(str(host.root / name))
    blob = repository.revparse_single(f"{BRANCH}:{path}")
    assert isinstance(blob, pygit2.Blob)
    found = {"path": path, "sha": str(blob.id), "encoding": "base64", "content": base64.b64encode(blob.data).decode()}
    return web.Response(body=orjson.dumps(found), content_type="application/json")


async def main() -> None:
    """Serve until the process ends."""
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

"""The git host: git's own HTTP backend, and files by path as in the REST interface of a host.

``python -m benchmarks.sync.host FOLDER``; it prints the addresses of both when it is ready.
"""

import asyncio
import base64
import sys
from pathlib import Path

import orjson
import pygit2
from aiohttp import web
from tests.servers import git

from benchmarks.sync.corpus import BRANCH


async def _contents(server: git.GitServer, request: web.BaseRequest) -> web.Response:
    """Return ``/NAME.git/PATH``, a file in base64 with its blob's name, or ``/requests``, the number of requests of git."""
    if request.path == "/requests":
        return web.Response(text=str(len(server.requests)))
    name, _, path = request.path.removeprefix("/").partition("/")
    repository = pygit2.Repository(str(server.root / name))
    blob = repository.revparse_single(f"{BRANCH}:{path}")
    assert isinstance(blob, pygit2.Blob)
    found = {"path": path, "sha": str(blob.id), "encoding": "base64", "content": base64.b64encode(blob.data).decode()}
    return web.Response(body=orjson.dumps(found), content_type="application/json")


async def main() -> None:
    """Serve until the process ends."""
    root = Path(sys.argv[1])
    async with git.serving(root) as server:
        runner = web.ServerRunner(web.Server(lambda request: _contents(server, request), access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(f"http://127.0.0.1:{server.port}\nhttp://127.0.0.1:{site.port}", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())

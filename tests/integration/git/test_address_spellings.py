"""Addresses are stored without ``.git``, but some hosts find a repository only by its name with ``.git``."""

import pytest
from aiohttp import web
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import Fault, GitServer

from dashwright.common.errors import NotFound
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors


def require_suffix(status: int) -> Fault:
    """Return a fault of a strict host, which responds to requests for the address without ``.git`` with a status."""

    async def handle(request: web.Request) -> web.StreamResponse | None:
        # The target of the redirect must never be requested.
        headers = {"Location": "http://127.0.0.1:9/elsewhere"}
        return None if request.path.startswith("/team.git/") else web.Response(status=status, headers=headers)

    return handle


@pytest.mark.parametrize("status", [404, 301, 308])
async def test_a_host_may_require_the_suffix(server: GitServer, open_remote: OpenRemote, mirrors: Mirrors, status: int) -> None:
    """If the host requires ``.git``, this is discovered once, without following a redirect. All later requests have the suffix."""
    server.fault = require_suffix(status)
    newest = server.create_repository("team.git").commit({"a.json": "{}"})
    remote = open_remote("team")
    assert await remote.head("main", mirrors.ensure_root()) == newest
    server.requests.clear()
    commit = await mirrors.fetch("uid", remote, "main")
    assert commit is not None
    assert commit.sha == newest
    assert [path for path in server.requests if not path.startswith("/team.git/")] == []


async def test_a_repository_unknown_by_both_names_is_missing(server: GitServer, open_remote: OpenRemote, mirrors: Mirrors) -> None:
    """If the host finds a repository by neither name, this is not cached, because the repository may be created later."""
    remote = open_remote("team")
    with pytest.raises(NotFound, match="there is no repository at this address"):
        await remote.head("main", mirrors.ensure_root())
    newest = server.create_repository("team").commit({"a.json": "{}"})
    assert await remote.head("main", mirrors.ensure_root()) == newest

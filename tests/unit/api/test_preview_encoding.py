"""Encoding of a previewed dashboard, which must not block the event loop."""

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dashwright.api.http.call import THREAD_MIN_BYTES, Call
from dashwright.api.pictures.dashboard_pictures import DashboardPictures
from dashwright.api.repositories.files import Files
from dashwright.api.repositories.routes import preview
from dashwright.common.identity import Identity, Role
from dashwright.common.json_documents import write_json


class CheckoutOfDashboards:
    """A checkout whose files are all a dashboard with a description of ``length`` characters."""

    def __init__(self, length: int) -> None:
        self._spec = {"title": "T", "description": "x" * length}

    async def read_with_removed(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return the FileResponse of the dashboard."""
        return write_json({"wrapper": {"resource": {"type": {"resource": "dashboards"}, "file": {"spec": self._spec}}}})


@pytest.mark.parametrize(("length", "in_thread"), [(10, False), (THREAD_MIN_BYTES, True)])
async def test_a_large_dashboard_is_encoded_in_a_thread(length: int, in_thread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dashboard of at least ``THREAD_MIN_BYTES`` is encoded in a thread, even if it has few members."""
    in_threads: list[bool] = []

    def encode(tree: Any) -> bytes:
        in_threads.append(threading.current_thread() is not threading.main_thread())
        return write_json(tree)

    monkeypatch.setattr(preview, "write_json", encode)
    route, _ = preview.routes(cast("Files", CheckoutOfDashboards(length)), DashboardPictures.__new__(DashboardPictures))
    # Without the permission to query data sources, no picture is drawn, so the client is never used.
    caller = Identity(uid="user:1", login="ann", org_id=1, role=Role.ADMIN)
    parameters = {"repository": "team", "path": "a.json"}
    call = SimpleNamespace(parameters=parameters, path="/preview/team/a.json", query={}, identity=caller, query_integer=lambda *_, **__: 1)
    response = await route.handler(cast("Call", call))
    assert response.status == 200
    assert in_threads == [in_thread]

"""C2: lists of dashboards in versions other than the stored one, compared with the list in the stored version.

Each list is measured with a gateway that caches the converted dashboards, and with one that does not cache them.
"""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Stack

from benchmarks.generated_dashboards import store_dashboards
from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row, alternate, median_ms, sequential_calls
from benchmarks.processes import start_service

#: The largest ratio that meets the goal.
_GOAL: Final = 2
_OBJECTS: Final = 200
_PATH: Final = "/apis/dashboard.grafana.app/{version}/namespaces/default/dashboards?limit={limit}"
#: The version in which the dashboards are stored, and the others that are listed.
_STORED_VERSION: Final = "v1beta1"
_OTHER_VERSIONS: Final = ("v0alpha1", "v2")
#: Sizes of the cache of conversions, in bytes.
_CACHES: Final = {"cached": 64 << 20, "not cached": 0}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of C2."""
    await store_dashboards(database_url, "default", _OBJECTS, panels=8)
    rows: list[Row] = []
    for label, cache_bytes in _CACHES.items():
        async with AsyncExitStack() as exit_stack:
            stack = Stack(database_url, amqp_url, folder, CONVERSION_CACHE_BYTES=str(cache_bytes))
            http = await HttpConnection.open(await start_service(exit_stack, stack, "dashwright-api", folder))
            exit_stack.push_async_callback(http.close)
            versions = (_STORED_VERSION, *_OTHER_VERSIONS)
            requests = [http.encode("GET", _PATH.format(version=version, limit=_OBJECTS)) for version in versions]
            seconds = await alternate(*[sequential_calls(partial(http.call, request, status=200), 5) for request in requests])
        stored_ms, *other_ms = [median_ms(rounds) for rounds in seconds]
        rows += [
            Row("C2", f"list of {_OBJECTS} dashboards in {version}, {label}, to {_STORED_VERSION}", "ms", milliseconds, stored_ms, _GOAL)
            for version, milliseconds in zip(_OTHER_VERSIONS, other_ms, strict=True)
        ]
    return rows

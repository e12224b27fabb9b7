"""C2: lists of dashboards in other versions than the stored one, compared with the list in that version.

Each list is measured with a gateway process that has converted all dashboards before, and with one that has no cache of conversions.
"""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Stack

from benchmarks import resources
from benchmarks.http_connection import Wire
from benchmarks.measurement import Row, in_turns, median_of
from benchmarks.processes import start_service

_GOAL: Final = 2
_OBJECTS: Final = 200
_PATH: Final = "/apis/dashboard.grafana.app/{version}/namespaces/default/dashboards?limit={limit}"
#: The version in which the dashboards are stored, and the others that are listed.
_STORED: Final = "v1beta1"
_OTHERS: Final = ("v0alpha1", "v2")
#: Sizes of the cache of conversions, in bytes.
_CACHES: Final = {"cached": 64 << 20, "not cached": 0}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure C2."""
    await resources.fill(database_url, "default", _OBJECTS, panels=8)
    found: list[Row] = []
    for label, cache_bytes in _CACHES.items():
        async with AsyncExitStack() as opened:
            stack = Stack(database_url, amqp_url, folder, CONVERSION_CACHE_BYTES=str(cache_bytes))
            wire = await Wire.open(await start_service(opened, stack, "dashwright-api", folder))
            opened.push_async_callback(wire.close)
            requests = [wire.encode("GET", _PATH.format(version=version, limit=_OBJECTS)) for version in (_STORED, *_OTHERS)]
            measured = await in_turns(*[resources.timed(partial(wire.call, request, status=200)) for request in requests])
        stored, *others = [median_of(rounds, 50) * 1000 for rounds in measured]
        found += [
            Row("C2", f"list of {_OBJECTS} dashboards in {version}, {label}, to {_STORED}", "ms", other, stored, _GOAL)
            for version, other in zip(_OTHERS, others, strict=True)
        ]
    return found

"""A data source type of benchmarks: any number of random points, which are generated once and cached.

``python -m benchmarks.points_source AMQP_URL`` runs an expressions worker that has this type. ``… AMQP_URL FILE`` runs a worker that
responds to every query with the bytes of the file. Each prints a line when it is ready.
"""

import asyncio
import functools
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import uvloop
from tests.signer import SIGNER

from benchmarks import series
from benchmarks.bare_query import chunks_of
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.messaging.rpc_server import RequestHandler
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.consumer import QueryConsumer
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources import registry
from dashwright.expressions.sources.source import Source

#: The type of the data source in queries.
TYPE = "benchmark_points"

# Cached, so that the generation of the points is not measured.
_cached_frames = functools.cache(series.frames)


class PointsSource(Source):
    """The data source. A query sets the number of series, the points of each and the seed: ``series``, ``points``, ``seed``."""

    async def health(self) -> str:
        """Return the message of a healthy data source."""
        return "Data source is working"

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames that the members of the query describe."""
        properties = query.model_extra or {}
        return _cached_frames(int(properties["series"]), int(properties["points"]), int(properties["seed"]))


def register() -> None:
    """Add the type to the data source types of this process."""
    registry.BUILT_IN[TYPE] = PointsSource()


def request(expression: str, series_count: int, points: int) -> bytes:
    """Return the body of a query request with a math expression over ``$A`` and ``$B``.

    ``$A`` has ``series_count`` series and ``$B`` one series, all of ``points`` points. The response contains only the result of the
    expression.
    """
    hidden = {"datasource": {"type": TYPE}, "points": points, "hide": True}
    queries = [
        {"refId": "A", "series": series_count, "seed": 1, **hidden},
        {"refId": "B", "series": 1, "seed": 2, **hidden},
        {"refId": "C", "datasource": {"type": "__expr__", "uid": "__expr__"}, "type": "math", "expression": expression},
    ]
    return json.dumps({"from": "now-1h", "to": "now", "queries": queries}).encode()


async def run_worker(amqp_url: str, prepared_body: bytes | None) -> None:
    """Run an expressions worker with the additional type, or a worker with a prepared response, until the process ends."""
    register()
    broker = AmqpBroker(amqp_url)
    await broker.start()
    server = (
        QueryConsumer(broker, SIGNER, slots=8)
        if prepared_body is None
        else RpcServer(broker, broker.topology.query, _handler_of_body(prepared_body), SIGNER, prefetch=8)
    )
    await server.start()
    print("ready", flush=True)
    await asyncio.Future()


def _handler_of_body(body: bytes) -> RequestHandler:
    """Return a handler that responds to every request with the same body."""

    async def handle(_request: Request) -> Reply:
        return Reply(_chunks(body), {"status": 200, "content_type": "application/json"})

    return handle


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks_of(body):
        yield chunk


if __name__ == "__main__":
    uvloop.run(run_worker(sys.argv[1], Path(sys.argv[2]).read_bytes() if sys.argv[2:] else None))

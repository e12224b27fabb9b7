"""A data source that only benchmarks have: random points of any number, generated once and kept.

No service knows it. The worker process of this module registers it: ``python -m benchmarks.points_source AMQP_URL
[FILE]``; with a file it responds to every query with the bytes of that file instead.
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
from benchmarks.bare_query import cut
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

TYPE = "benchmark_points"

_made = functools.cache(series.frames)


class Points(Source):
    """Random series: ``series`` of ``points`` each, by a ``seed``."""

    async def health(self) -> str:
        """Return that the source is healthy."""
        return "Data source is working"

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames."""
        properties = query.model_extra or {}
        return _made(int(properties["series"]), int(properties["points"]), int(properties["seed"]))


def register() -> None:
    """Register the source in this process only."""
    registry.BUILT_IN[TYPE] = Points()


def request(expression: str, count: int, points: int) -> bytes:
    """Return a query for ``expression`` over ``$A``, of so many series and points, and ``$B``, of one series.

    Only the outcome of the expression is visible.
    """
    hidden = {"datasource": {"type": TYPE}, "points": points, "hide": True}
    queries = [
        {"refId": "A", "series": count, "seed": 1, **hidden},
        {"refId": "B", "series": 1, "seed": 2, **hidden},
        {"refId": "C", "datasource": {"type": "__expr__", "uid": "__expr__"}, "type": "math", "expression": expression},
    ]
    return json.dumps({"from": "now-1h", "to": "now", "queries": queries}).encode()


async def work(amqp_url: str, ready: bytes | None) -> None:
    """Run a worker of the product with the additional source, or with a prepared response."""
    register()
    broker = AmqpBroker(amqp_url)
    await broker.start()
    server = (
        QueryConsumer(broker, SIGNER, slots=8)
        if ready is None
        else RpcServer(broker, broker.topology.query, _answering(ready), SIGNER, prefetch=8)
    )
    await server.start()
    print("ready", flush=True)
    await asyncio.Future()


def _answering(body: bytes) -> RequestHandler:
    async def answer(_request: Request) -> Reply:
        return Reply(_pieces(body), {"status": 200, "content_type": "application/json"})

    return answer


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for piece in cut(body):
        yield piece


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1], Path(sys.argv[2]).read_bytes() if sys.argv[2:] else None))

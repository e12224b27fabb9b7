"""A stub of Prometheus' HTTP API that sends bodies from memory.

``python -m benchmarks.sources.prometheus_stub`` prints its address when it is ready. The first word of a query selects the metric and
the number of series, so ``compact_1000 > -7`` and ``compact_1000 > -8`` return the same 1,000 series.
"""

import asyncio
import functools
import itertools
import json
import random
import re
from typing import Any

import uvloop
from aiohttp import web

from benchmarks.sources.workload import SPACED, WALK

#: The metric and the number of series at the start of a query.
_QUERY = re.compile(r"(\w+)_(\d+)\b")


def labels_of(number: int) -> dict[str, str]:
    """Return the labels of the series with a number."""
    return {
        "host": f"node-{number:05}",
        "zone": f"zone-{number % 5}",
        "job": f"job-{number % 12}",
        "pod": f"pod-{number % 89}-of-{number % 7}",
    }


@functools.cache
def _body(metric: str, count: int, start: int, end: int, step: int) -> bytes:
    """Return the body of a response for a range, or for the instant ``end`` if ``step`` is 0. Times are in seconds."""
    rng = random.Random(count)
    times = range(start, end + 1, step) if step else [end]
    result = []
    for series_number in range(count):
        numbers = (rng.uniform(0, 100) for _ in times)
        # A step of a walk is between -1 and 1.
        values = itertools.accumulate(number / 50 - 1 for number in numbers) if metric == WALK else numbers
        points = [[time, f"{value:.6f}"] for time, value in zip(times, values, strict=True)]
        samples: dict[str, Any] = {"values": points} if step else {"value": points[0]}
        result.append({"metric": {"__name__": metric, **labels_of(series_number)}, **samples})
    data = {"resultType": "matrix" if step else "vector", "result": result}
    # Valid JSON in an unusual form: members in reverse order, and the default separators of ``json``, which have spaces.
    if metric == SPACED:
        reversed_series = [dict(reversed(series.items())) for series in result]
        return json.dumps({"data": {"result": reversed_series, "resultType": data["resultType"]}, "status": "success"}).encode()
    return json.dumps({"status": "success", "data": data}, separators=(",", ":")).encode()


async def _respond(request: web.BaseRequest) -> web.Response:
    """Respond to a query of a range, which has a step, or of an instant."""
    form = await request.post()
    match = _QUERY.match(str(form["query"]))
    assert match is not None, form
    start, end, step = (int(str(form[name])) for name in ("start", "end", "step")) if "step" in form else (0, int(str(form["time"])), 0)
    return web.Response(body=_body(match[1], int(match[2]), start, end, step), content_type="application/json")


async def main() -> None:
    """Serve until the process ends. Print the address when the server is ready."""
    runner = web.ServerRunner(web.Server(_respond, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{site.port}", flush=True)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    uvloop.run(main())

"""The gateway's request metrics, with their labelled children kept at hand."""

from functools import lru_cache

from prometheus_client import Counter, Histogram

from dashwright.common.observability import metrics


class RequestMetrics:
    """Counts answers. The labels are the route's template, never the path, so their number is bounded by the route table."""

    def __init__(self) -> None:
        self._counter = lru_cache(maxsize=4096)(_counter)
        self._histogram = lru_cache(maxsize=1024)(_histogram)

    def count(self, template: str, method: str, status: int, seconds: float) -> None:
        self._counter(template, method, status).inc()
        self._histogram(template).observe(seconds)


def _counter(template: str, method: str, status: int) -> Counter:
    return metrics.http_requests.labels(template, method, str(status))


def _histogram(template: str) -> Histogram:
    return metrics.http_seconds.labels(template)

"""Metrics of every process at ``/metrics``, in the Prometheus text format.

Names and labels are part of the interface, so some are older than the terms in the code, such as ``verdict`` for a result.
"""

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

http_requests = Counter("dashwright_http_requests_total", "Requests handled by the gateway", ["route", "method", "status"])
http_seconds = Histogram(
    "dashwright_http_request_seconds",
    "Time from the request's head to the end of its response",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
jobs_finished = Counter("dashwright_jobs_finished_total", "Jobs that ended", ["action", "state"])
jobs_seconds = Histogram(
    "dashwright_job_seconds", "Time from the start of a job to its end", ["action"], buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1200)
)
jobs_taken_up_again = Counter("dashwright_jobs_taken_up_again_total", "Jobs that were queued again because their lease expired")
messages_handled = Counter("dashwright_messages_handled_total", "Messages that a consumer has handled", ["queue", "verdict"])
messages_refused = Counter(
    "dashwright_messages_refused_total",
    "Messages refused for an invalid signature, or as repetitions of a message",
    ["queue", "reason"],
)
rpc_seconds = Histogram(
    "dashwright_rpc_seconds",
    "Time from the start of a call to the end of its response, or to the first piece of the response for the outcome first-piece",
    ["queue", "outcome"],
)
broker_connected = Gauge("dashwright_broker_connected", "1 while the process is connected to the broker, else 0")
queries_evaluated = Counter("dashwright_queries_total", "Expression requests evaluated", ["status"])
source_seconds = Histogram(
    "dashwright_source_seconds",
    "Time that a data source took for one query",
    ["type", "outcome"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
source_answers = Counter("dashwright_source_answers_total", "Responses of data sources, by whether they were cached", ["cache"])
query_cache_bytes = Gauge("dashwright_query_cache_bytes", "Estimated bytes of the cached results of data sources")
query_cache_entries = Gauge("dashwright_query_cache_entries", "Number of cached results of data sources")
response_bytes = Gauge("dashwright_response_bytes", "Bytes of responses that clients have not read yet")
watches = Gauge("dashwright_watches", "Watches that are open")
provisioning_faults = Gauge(
    "dashwright_provisioning_faults",
    "Invalid files, and refused repositories, at the last read of PROVISIONING_DIR",
)
notifications = Counter("dashwright_notifications_total", "Attempts to deliver notifications", ["receiver", "outcome"])
notifications_waiting = Gauge(
    "dashwright_notifications_waiting", "Notifications of the whole installation that are not delivered yet", ["receiver"]
)
notifications_oldest_seconds = Gauge(
    "dashwright_notifications_oldest_seconds", "Time since the event of the oldest notification that is not delivered yet", ["receiver"]
)
notifications_dropped = Counter(
    "dashwright_notifications_dropped_total", "Notifications that were not delivered, because too many of one organization waited"
)
audit_dropped = Counter(
    "dashwright_audit_dropped_total", "Refused changes and failed logins that the audit log lacks, because the buffer of refusals was full"
)


def exposition() -> bytes:
    """Return all metrics of this process as Prometheus text."""
    return generate_latest()

"""The broker's accounts with minimal rights, and the topology, so that services do not need the right to declare it.

``python -m deploy.definitions`` writes ``deploy/rabbitmq/definitions.json``; ``deploy/rabbitmq/start`` puts the passwords in.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dashwright.common.messaging.topology import TOPOLOGY, Topology
from dashwright.common.models.notifications import BATCH_SUBJECT, REPOSITORY_SUBJECT

FILE: Final = Path(__file__).parent / "rabbitmq" / "definitions.json"
API, JOBS_WORKER, EXPRESSIONS, SUBMITTER = "dashwright_api", "dashwright_jobs_worker", "dashwright_expressions", "dashwright_submitter"
NAMESPACE: Final = "${RABBITMQ_SUBMITTER_NAMESPACE}"

_NONE: Final = "^$"
_REPLIES: Final = "amq.gen-.*"
"""Queues that the broker names. An account sees those of its own connection only, since they are exclusive."""


def consumed(topology: Topology) -> Mapping[str, Sequence[str]]:
    """Return the queues that each service consumes."""
    return {
        API: [topology.submit, topology.dead],
        JOBS_WORKER: [topology.work, topology.probe, topology.repositories, topology.dead_work],
        EXPRESSIONS: [topology.evaluate, topology.query, topology.pictures],
    }


def definitions(topology: Topology = TOPOLOGY, *, vhost: str = "/", suffix: str = "", namespace: str = NAMESPACE) -> dict[str, Any]:
    """Return RabbitMQ's definitions. ``suffix`` is appended to account names, for brokers that several stacks share.

    Services may publish to the default exchange and could thereby reach every queue, which is why calls, responses and wake-ups are signed.
    """
    here = {"vhost": vhost}
    # Retries and dead letters keep their message's key.
    published = ["amq.default", topology.jobs, topology.dead, *(tier.exchange for tier in topology.retry_delays)]
    services = consumed(topology)
    further = {JOBS_WORKER: [topology.events]}
    permissions = [
        {"user": name + suffix, **here, "configure": _NONE, "write": _any_of([*published, *further.get(name, ())]), "read": _any_of(queues)}
        for name, queues in services.items()
    ]
    submitter = {"configure": f"^{_REPLIES}$", "write": _any_of([topology.jobs]), "read": f"^{_REPLIES}$"}
    # A worker that passes a wake-up on names only the pool.
    wakeups = r"work(\..+)?|evaluate"
    keys = dict.fromkeys(services, f"^({wakeups})$")
    # The gateway replays dead letters, which are submissions.
    keys |= {API: rf"^({wakeups}|submit\..+)$", SUBMITTER: rf"^submit\.{namespace}$"}
    events = rf"^({REPOSITORY_SUBJECT}|{BATCH_SUBJECT})\..+$"
    return {
        "users": [{"name": name + suffix, "password": f"${{{_variable(name)}}}", "tags": []} for name in [*services, SUBMITTER]],
        "vhosts": [{"name": vhost}],
        "permissions": [*permissions, {"user": SUBMITTER + suffix, **here, **submitter}],
        "topic_permissions": [
            *({"user": name + suffix, **here, "exchange": topology.jobs, "write": key, "read": _NONE} for name, key in keys.items()),
            {"user": JOBS_WORKER + suffix, **here, "exchange": topology.events, "write": events, "read": _NONE},
        ],
        "exchanges": [
            {"name": one.name, **here, "type": one.type, "durable": True, "auto_delete": False, "internal": False, "arguments": {}}
            for one in topology.exchanges
        ],
        "queues": [
            {"name": one.name, **here, "durable": True, "auto_delete": False, "arguments": dict(one.arguments)} for one in topology.queues
        ],
        "bindings": [
            {
                "source": one.exchange,
                **here,
                "destination": one.queue,
                "destination_type": "queue",
                "routing_key": one.key,
                "arguments": {},
            }
            for one in topology.bindings
        ],
    }


def text() -> str:
    """Return the content of the file."""
    return json.dumps(definitions(), indent=1) + "\n"


def _any_of(names: Sequence[str]) -> str:
    return f"^({'|'.join(re.escape(name) for name in names)})$"


def _variable(account: str) -> str:
    return f"RABBITMQ_{account.removeprefix('dashwright_').upper()}_PASSWORD"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""RabbitMQ's definitions for the compose stack: accounts with minimal rights, and the topology.

The broker creates the topology from them, so services need no right to declare it. ``python -m deploy.definitions`` writes
``deploy/rabbitmq/definitions.json``, in which ``deploy/rabbitmq/start`` replaces the variables by passwords and the namespace.
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
#: The variable for the namespace for which the submitter may submit jobs.
NAMESPACE: Final = "${RABBITMQ_SUBMITTER_NAMESPACE}"

#: A pattern that matches no name.
_NONE: Final = "^$"
#: Queues whose names the broker generates. They are exclusive, so an account can use only those of its own connections.
_REPLIES: Final = "amq.gen-.*"


def consumed_queues(topology: Topology) -> Mapping[str, Sequence[str]]:
    """Return the queues that each service consumes, by account."""
    return {
        API: [topology.submit, topology.dead],
        JOBS_WORKER: [topology.work, topology.probe, topology.repositories, topology.dead_work],
        EXPRESSIONS: [topology.evaluate, topology.query, topology.pictures],
    }


def definitions(topology: Topology = TOPOLOGY, *, vhost: str = "/", suffix: str = "", namespace: str = NAMESPACE) -> dict[str, Any]:
    """Return RabbitMQ's definitions. ``suffix`` is appended to account names, for brokers that several stacks share.

    Services may publish to the default exchange, and thus to every queue. Therefore calls, responses and wake-ups are signed.
    """
    in_vhost = {"vhost": vhost}
    # Exchanges of all services. Messages in those of retries and dead letters keep their routing keys.
    exchanges = ["amq.default", topology.jobs, topology.dead, *(tier.exchange for tier in topology.retry_delays)]
    queues_by_account = consumed_queues(topology)
    additional_exchanges = {JOBS_WORKER: [topology.events]}
    permissions = [
        {
            "user": name + suffix,
            **in_vhost,
            "configure": _NONE,
            "write": _any_of([*exchanges, *additional_exchanges.get(name, ())]),
            "read": _any_of(queues),
        }
        for name, queues in queues_by_account.items()
    ]
    submitter = {"configure": f"^{_REPLIES}$", "write": _any_of([topology.jobs]), "read": f"^{_REPLIES}$"}
    # The routing keys of wake-ups. A worker that forwards a wake-up uses the name of the pool alone.
    wakeup_keys = r"work(\..+)?|evaluate"
    writable_keys = dict.fromkeys(queues_by_account, f"^({wakeup_keys})$")
    # The gateway publishes dead submissions again.
    writable_keys |= {API: rf"^({wakeup_keys}|submit\..+)$", SUBMITTER: rf"^submit\.{namespace}$"}
    event_keys = rf"^({REPOSITORY_SUBJECT}|{BATCH_SUBJECT})\..+$"
    return {
        "users": [{"name": name + suffix, "password": f"${{{_variable(name)}}}", "tags": []} for name in [*queues_by_account, SUBMITTER]],
        "vhosts": [{"name": vhost}],
        "permissions": [*permissions, {"user": SUBMITTER + suffix, **in_vhost, **submitter}],
        "topic_permissions": [
            *(
                {"user": name + suffix, **in_vhost, "exchange": topology.jobs, "write": key, "read": _NONE}
                for name, key in writable_keys.items()
            ),
            {"user": JOBS_WORKER + suffix, **in_vhost, "exchange": topology.events, "write": event_keys, "read": _NONE},
        ],
        "exchanges": [
            {
                "name": exchange.name,
                **in_vhost,
                "type": exchange.type,
                "durable": True,
                "auto_delete": False,
                "internal": False,
                "arguments": {},
            }
            for exchange in topology.exchanges
        ],
        "queues": [
            {"name": queue.name, **in_vhost, "durable": True, "auto_delete": False, "arguments": dict(queue.arguments)}
            for queue in topology.queues
        ],
        "bindings": [
            {
                "source": binding.exchange,
                **in_vhost,
                "destination": binding.queue,
                "destination_type": "queue",
                "routing_key": binding.key,
                "arguments": {},
            }
            for binding in topology.bindings
        ],
    }


def text() -> str:
    """Return the content of ``FILE``."""
    return json.dumps(definitions(), indent=1) + "\n"


def _any_of(names: Sequence[str]) -> str:
    return f"^({'|'.join(re.escape(name) for name in names)})$"


def _variable(account: str) -> str:
    return f"RABBITMQ_{account.removeprefix('dashwright_').upper()}_PASSWORD"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""Writes settings into `docker-compose.yml`, for each service those that it reads, and into `.env.example`.

``python -m deploy.settings`` reads them from the table in docs/reference/settings.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
COMPOSE, EXAMPLE = ROOT / "docker-compose.yml", ROOT / ".env.example"
_TABLE: Final = ROOT / "docs" / "reference" / "settings.md"

SERVICES: Final = ("api", "jobs-worker", "expressions")
#: Words of the column *read by* that include every service.
_EVERY: Final = ("all", "services")

#: Settings with fixed values in the images: addresses and folders inside the containers.
FIXED: Final = frozenset(
    {
        *("HTTP_HOST", "HTTP_PORT", "PROBE_HOST", "PROBE_PORT"),
        *("DATABASE_URL", "AMQP_URL", "DATA_DIR", "SECRETS_DIR", "PERMITTED_PATHS"),
    }
)

#: Settings whose defaults differ in the stack. docs/how-to/operations.md shows how they follow from the limits of the containers.
_DEFAULTS: Final = {
    "ADMIN_PASSWORD": "${DASHWRIGHT_ADMIN_PASSWORD:-admin}",
    "ALLOW_DEFAULT_PASSWORD": "${DASHWRIGHT_ALLOW_DEFAULT_PASSWORD:-true}",
    # The other containers call the gateway by the name of its service.
    "TRUSTED_HOSTS": "api,${DASHWRIGHT_TRUSTED_HOSTS:-}",
    # Longer than two checks of the proxy, which checks each gateway every second.
    "DRAIN_SECONDS": "${DASHWRIGHT_DRAIN_SECONDS:-3}",
    "QUERY_BYTES": "${DASHWRIGHT_QUERY_BYTES:-268435456}",
    "SQL_SLOTS": "${DASHWRIGHT_SQL_SLOTS:-2}",
    # A volume that gateways and jobs workers share.
    "RESULTS_URL": "${DASHWRIGHT_RESULTS_URL:-/results}",
    "SQL_BYTES": "${DASHWRIGHT_SQL_BYTES:-67108864}",
}

#: The beginning of `.env.example`.
_HEADER: Final = """\
# Settings of the compose stack. Copy this file to .env, remove the # and change what you need; docs/how-to/operations.md explains.

# The port on 127.0.0.1.
#DASHWRIGHT_HTTP_PORT=3000

# Passwords: letters, digits, _ and - only, since they become part of addresses. Change all before other machines can connect.
#POSTGRES_PASSWORD=dashwright
#POSTGRES_OWNER_PASSWORD=dashwright
#POSTGRES_API_PASSWORD=dashwright
#POSTGRES_JOBS_WORKER_PASSWORD=dashwright
#POSTGRES_EXPRESSIONS_PASSWORD=dashwright
#RABBITMQ_API_PASSWORD=dashwright
#RABBITMQ_JOBS_WORKER_PASSWORD=dashwright
#RABBITMQ_EXPRESSIONS_PASSWORD=dashwright
#RABBITMQ_SUBMITTER_PASSWORD=dashwright

# The namespace for which the broker's account dashwright_submitter may submit jobs.
#RABBITMQ_SUBMITTER_NAMESPACE=default

# Settings of the services, with their defaults: docs/reference/settings.md explains each.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table of settings."""

    name: str
    default: str
    readers: Sequence[str]

    def is_read_by(self, service: str) -> bool:
        """Return True if the service reads the setting, and its image does not fix the value."""
        return self.name not in FIXED and any(reader in (service, *_EVERY) for reader in self.readers)


def rows() -> list[Row]:
    """Return the rows of the table, in its order."""
    cells = re.findall(r"^\| `([A-Z0-9_]+)` \| (.*?) \| .* \| ([^|]+) \|$", _TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    return [Row(name, default, [reader.strip() for reader in readers.split(",")]) for name, default, readers in cells]


def compose(text: str) -> str:
    """Return the text of a compose file with the settings of each service between its markers."""
    for service in SERVICES:
        lines = [
            f"      DASHWRIGHT_{row.name}:{' ' + default if (default := _DEFAULTS.get(row.name)) else ''}" for row in _read_by(service)
        ]
        begin, end = f"      # settings of {service} (make docs)\n", "      # end of settings\n"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        text = pattern.sub(lambda _, begin=begin, lines=lines, end=end: begin + "\n".join(lines) + "\n" + end, text)  # type: ignore[misc]
    return text


def example() -> str:
    """Return the text of `.env.example`."""
    documented = [row for row in rows() if any(row.is_read_by(service) for service in SERVICES)]
    return _HEADER + "".join(f"#DASHWRIGHT_{row.name}={_default(row)}\n" for row in documented)


def _read_by(service: str) -> list[Row]:
    return [row for row in rows() if row.is_read_by(service)]


def _default(row: Row) -> str:
    if row.name in _DEFAULTS:
        return _DEFAULTS[row.name].partition(":-")[2].rstrip("}")
    literal = re.match(r"`([^`]*)`", row.default)
    return literal[1] if literal else ""


if __name__ == "__main__":
    COMPOSE.write_text(compose(COMPOSE.read_text(encoding="utf-8")), encoding="utf-8")
    EXAMPLE.write_text(example(), encoding="utf-8")

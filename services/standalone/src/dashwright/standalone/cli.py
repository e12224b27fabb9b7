"""The command line for people: ``dashwright …``."""

import asyncio
import sys
from importlib.metadata import version

from cyclopts import App

from dashwright.common import process
from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError
from dashwright.common.observability import logging
from dashwright.common.settings import SettingsError, load, require
from dashwright.standalone import serve as standalone

app = App(name="dashwright", version=version("dashwright-standalone"), help="The HTTP API of a dashboard platform.")


@app.command
def serve() -> int:
    """Start the whole system in this process; settings come from DASHWRIGHT_… variables."""
    return process.run(standalone.SERVICE, standalone.serve)


@app.command
def migrate() -> int:
    """Bring the database that DASHWRIGHT_DATABASE_URL names to this version's schema."""
    logging.configure(standalone.SERVICE)
    try:
        applied = asyncio.run(schema.migrate(require(load().database_url, "DATABASE_URL")))
    except (SettingsError, DashwrightError) as error:
        print(f"dashwright migrate: {error}", file=sys.stderr)
        return 1
    print(f"applied: {', '.join(applied)}" if applied else "nothing to do: the schema is current")
    return 0


_EVAL = """Evaluate a panel's expressions over recorded frames, without a server.

The exit status is 0 when every query shown has a result, 1 when one has an error or the panel is refused, 2 when a file cannot be read.
"""
app.command("dashwright.standalone.evaluate:evaluate", name="eval", help=_EVAL)

_LINT = """Tell what could be better about dashboards, by rules that look at their files alone.

The exit status is 0 where no error was found, 1 where one was, 2 when a file cannot be read.
"""
app.command("dashwright.standalone.lint:check", name="lint", help=_LINT)

admin = App(name="admin", help="What whoever runs the server needs now and then.")
admin.command("dashwright.standalone.importing.command:import_grafana", name="import-grafana")
admin.command("dashwright.standalone.rotation:rotate_secrets", name="rotate-secrets")
app.command(admin)
_JOBS = "The jobs of a server: list, follow and cancel them, or ask for a sync."
app.command("dashwright.standalone.jobs.command:app", name="jobs", help=_JOBS)


def main() -> None:
    sys.exit(app())

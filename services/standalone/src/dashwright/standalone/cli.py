"""The command line: ``dashwright …``.

Each command is imported only when it runs, so that ``--help`` and ``--version`` load no service.
"""

import sys
from importlib import metadata

from cyclopts import App

app = App(
    name="dashwright",
    version=lambda: metadata.version("dashwright-standalone"),
    help="The HTTP API of a dashboard platform.",
)
app.register_install_completion_command(name="install-completion", help="Install completion for this shell (bash, zsh or fish).")

_SERVE = "Start the whole system in this process. Settings come from DASHWRIGHT_… variables; options win over them."
app.command("dashwright.standalone.serve:run", name="serve", help=_SERVE)

_MIGRATE = "Bring the database that DASHWRIGHT_DATABASE_URL names to this version's schema."
app.command("dashwright.standalone.migration:migrate", name="migrate", help=_MIGRATE)

_EVAL = """Evaluate a panel's expressions over recorded frames, without a server.

The exit status is 0 when every query shown has a result, 1 when one has an error or the panel is refused, 2 when a file cannot be read.
"""
app.command("dashwright.standalone.evaluate:evaluate", name="eval", help=_EVAL)

_LINT = """Report what is broken in dashboards or breaks conventions, by rules that look at their files alone.

The exit status is 0 where no error was found, 1 where one was, 2 when a file cannot be read.
"""
app.command("dashwright.standalone.lint:check", name="lint", help=_LINT)

admin = App(name="admin", help="Tasks of operators.")
_IMPORT = "Import what a Grafana database holds, given as a file of SQLite or the address of a PostgreSQL database."
admin.command("dashwright.standalone.importing.command:import_grafana", name="import-grafana", help=_IMPORT)
_ROTATE = "Seal all stored secrets again with the current SECRET_KEY."
admin.command("dashwright.standalone.rotation:rotate_secrets", name="rotate-secrets", help=_ROTATE)
app.command(admin)

_JOBS = "List, follow and cancel the jobs of a server, or request a sync."
app.command("dashwright.standalone.jobs.command:app", name="jobs", help=_JOBS)


def main() -> None:
    sys.exit(app())

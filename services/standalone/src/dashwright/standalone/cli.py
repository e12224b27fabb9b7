"""The command line: ``dashwright …``.

A command is a function in a module, registered here. The module is imported only when its command runs, so that ``--help`` and
``--version`` load no service.
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

_SERVE_HELP = "Start the whole system in this process. Options override the DASHWRIGHT_… variables."
app.command("dashwright.standalone.serve:run", name="serve", help=_SERVE_HELP)

_MIGRATE_HELP = "Migrate the database of DASHWRIGHT_DATABASE_URL to this version's schema."
app.command("dashwright.standalone.migration:migrate", name="migrate", help=_MIGRATE_HELP)

_EVAL_HELP = """Evaluate a panel's expressions over recorded frames, without a server.

The exit status is 0 if every visible query has a result, 1 if one has an error or the panel is invalid, 2 if a file cannot be read.
"""
app.command("dashwright.standalone.evaluate:evaluate", name="eval", help=_EVAL_HELP)

_LINT_HELP = """Check dashboard files for errors and broken conventions.

The exit status is 0 if no error was found, 1 if one was, 2 if a file cannot be read.
"""
app.command("dashwright.standalone.lint:check", name="lint", help=_LINT_HELP)

_RENDER_HELP = """Draw a dashboard of a file or of a server as a PNG or SVG.

The exit status is 0 if the picture was written, otherwise 2.
"""
app.command("dashwright.standalone.rendering.command:render", name="render", help=_RENDER_HELP)

admin = App(name="admin", help="Tasks of operators.")
_IMPORT_HELP = "Import a Grafana database: an SQLite file, or the address of a PostgreSQL database."
admin.command("dashwright.standalone.importing.command:import_grafana", name="import-grafana", help=_IMPORT_HELP)
_ROTATE_HELP = "Seal all stored secrets with the current SECRET_KEY."
admin.command("dashwright.standalone.rotation:rotate_secrets", name="rotate-secrets", help=_ROTATE_HELP)
app.command(admin)

_JOBS_HELP = "List, submit, follow and cancel the jobs of a server."
app.command("dashwright.standalone.jobs.command:app", name="jobs", help=_JOBS_HELP)
_BATCH_HELP = "Create, fill, follow, cancel and retry the batches of a server."
app.command("dashwright.standalone.batches.command:app", name="batch", help=_BATCH_HELP)

_DEAD_LETTERS_HELP = "List, read, replay and discard the messages that a server could not handle."
app.command("dashwright.standalone.dead_letters.command:app", name="dead-letters", help=_DEAD_LETTERS_HELP)


def main() -> None:
    """Run the command line and exit with its status."""
    sys.exit(app())

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
    help="Start and use Dashwright, a dashboard server that is compatible with Grafana's clients.",
)
app.register_install_completion_command(name="install-completion", help="Install completion for this shell (bash, zsh or fish).")

_SERVE_HELP = "Start the whole system in this process. Options override the DASHWRIGHT_… variables."
app.command("dashwright.standalone.serve:run", name="serve", help=_SERVE_HELP)

_MIGRATE_HELP = "Migrate the database of DASHWRIGHT_DATABASE_URL to this version's schema."
app.command("dashwright.standalone.migration:migrate", name="migrate", help=_MIGRATE_HELP)

_EVAL_HELP = """Evaluate a panel's expressions over recorded frames, without a server.

The exit status is 0 if every query that is not hidden has a result, 1 if a query has an error or the panel is invalid, 2 if a file
cannot be read.
"""
app.command("dashwright.standalone.evaluate:evaluate", name="eval", help=_EVAL_HELP)

_LINT_HELP = """Check dashboard files for errors and violated conventions.

The exit status is 0 if no error was found, 1 if one was, 2 if a file cannot be read.
"""
app.command("dashwright.standalone.lint:check", name="lint", help=_LINT_HELP)

_RENDER_HELP = """Draw a dashboard of a file or of a server as a PNG or SVG.

The exit status is 0 if the picture was written, 130 after Ctrl-C (0 with --watch), otherwise 2.
"""
app.command("dashwright.standalone.rendering.command:render", name="render", help=_RENDER_HELP)

admin = App(name="admin", help="Import a Grafana database, or seal the secrets with another key.")
_IMPORT_HELP = """Import a Grafana database: an SQLite file, or the address of a PostgreSQL database.

The Grafana database is only read. The import is one transaction: if it fails, nothing is written. A repeated import adds what changed
in Grafana since the last import, but never overwrites what was changed in Dashwright. The exit status is 0 if every row was imported,
1 if some were refused, 2 if nothing was done.
"""
admin.command("dashwright.standalone.importing.command:import_grafana", name="import-grafana", help=_IMPORT_HELP)
_ROTATE_HELP = """Seal (encrypt) all stored secrets with the current SECRET_KEY.

Secrets that are sealed with one of DASHWRIGHT_SECRET_KEYS_ACCEPTED are decrypted with that key first. Services may run at the same time,
and the command can be interrupted and repeated. The exit status is 0 if every secret is sealed with the current key, 1 if some could not
be decrypted and were left unchanged, 2 if nothing was done.
"""
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

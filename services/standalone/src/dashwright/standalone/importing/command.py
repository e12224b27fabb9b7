"""``dashwright admin import-grafana``: imports a Grafana database."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final

import orjson
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dashwright.common.database import schema
from dashwright.common.database.pool import Database, Timeouts
from dashwright.common.errors import DashwrightError
from dashwright.common.observability import logging
from dashwright.common.settings import Settings, SettingsError, load
from dashwright.standalone.importing import run as importing
from dashwright.standalone.importing.report import Report
from dashwright.standalone.importing.run import ImportOptions
from dashwright.standalone.importing.source import open_source
from dashwright.standalone.postgres import open_database

# Exit statuses.
REFUSED, NOT_RUN = 1, 2
#: Characters of a line of output that is not sent to a terminal. Without it, rich would fit tables into 80 characters.
_PIPED_WIDTH: Final = 160
#: In seconds. The whole import is one transaction, which would exceed the usual timeouts.
_IMPORT_TIMEOUTS: Final = Timeouts(statement=3600, idle=3600)


class _DryRun(Exception):
    """The end of a dry run, which rolls everything back."""


def import_grafana(
    database: str,
    /,
    *,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    org: Annotated[int, Parameter(name="--org", show_default=False)] = 0,
    report: Path | None = None,
) -> int:
    """Import organizations, users, keys, teams, quotas, data sources, folders, dashboards and library panels from Grafana.

    The Grafana database is only read. A repeated import adds what changed in Grafana since the last import, but never overwrites
    what was changed in Dashwright. The import is one transaction: if it fails, nothing is written. The exit status is 0 if every
    row was imported, 1 if some were refused, 2 if nothing was done.

    Parameters
    ----------
    database
        The path of an SQLite file (grafana.db), or postgres://user:password@host/name.
    dry_run
        Try everything, but write nothing.
    org
        Only this organization, with its members.
    report
        A file for the complete report, as JSON.
    """
    logging.configure("dashwright-import")
    console = Console(stderr=True, highlight=False)
    import_report = Report()
    try:
        settings = load()
        asyncio.run(_import(database, settings, ImportOptions(org, settings.versions_kept), import_report, console, is_dry_run=dry_run))
    except (DashwrightError, SettingsError) as error:
        console.print(f"dashwright admin import-grafana: {error}", markup=False)
        return NOT_RUN
    import_report.print_to(Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False))
    if report is not None:
        report.write_bytes(orjson.dumps(import_report.to_json_data(), option=orjson.OPT_INDENT_2))
    if dry_run:
        console.print("Dry run: nothing was written.")
    return REFUSED if import_report.has_refused_rows else 0


async def _import(database: str, settings: Settings, options: ImportOptions, report: Report, console: Console, *, is_dry_run: bool) -> None:
    """Import a Grafana database and show the progress. A dry run rolls its transaction back."""
    async with open_source(database) as source, open_database(settings) as (url, _):
        row_counts = await importing.row_counts(source)
        await schema.migrate(url)
        target = await Database.open(url, application_name="dashwright-import", max_size=1, timeouts=_IMPORT_TIMEOUTS)
        progress_columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        try:
            with Progress(*progress_columns, console=console) as progress:
                bars = {table: progress.add_task(table, total=count) for table, count in row_counts.items()}
                async with target.transaction() as connection:
                    await importing.run(
                        source,
                        connection,
                        options,
                        report,
                        lambda table, rows: progress.advance(bars[table], rows) if table in bars else None,
                    )
                    if is_dry_run:
                        raise _DryRun  # noqa: TRY301 - the exception rolls the transaction back
        except _DryRun:
            return
        finally:
            await target.close()

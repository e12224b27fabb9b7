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

REFUSED, NOT_RUN = 1, 2
_PATIENT: Final = Timeouts(statement=3600, idle=3600)


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

    The Grafana database is only read. A repeated import brings its later changes, but never overwrites changes made here. The import is
    one transaction: if it fails, nothing is written. The exit status is 0 if every row was imported, 1 if some were refused, 2 if
    nothing was done.

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
    outcome = Report()
    try:
        settings = load()
        asyncio.run(_import(database, settings, ImportOptions(org, settings.versions_kept), outcome, console, is_dry=dry_run))
    except (DashwrightError, SettingsError) as error:
        console.print(f"dashwright admin import-grafana: {error}", markup=False)
        return NOT_RUN
    outcome.show(Console(width=None if sys.stdout.isatty() else 160, highlight=False))
    if report is not None:
        report.write_bytes(orjson.dumps(outcome.to_plain(), option=orjson.OPT_INDENT_2))
    if dry_run:
        console.print("Dry run: nothing was written.")
    return REFUSED if outcome.has_refused else 0


async def _import(source: str, settings: Settings, options: ImportOptions, report: Report, console: Console, *, is_dry: bool) -> None:
    async with open_source(source) as origin, open_database(settings) as (url, _):
        counts = await importing.tables(origin)
        await schema.migrate(url)
        target = await Database.open(url, application_name="dashwright-import", max_size=1, timeouts=_PATIENT)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        try:
            with Progress(*columns, console=console) as progress:
                bars = {table: progress.add_task(table, total=count) for table, count in counts.items()}
                async with target.transaction() as connection:
                    await importing.run(
                        origin,
                        connection,
                        options,
                        report,
                        lambda table, done: progress.advance(bars[table], done) if table in bars else None,
                    )
                    if is_dry:
                        raise _DryRun  # noqa: TRY301 - it is what rolls back
        except _DryRun:
            return
        finally:
            await target.close()

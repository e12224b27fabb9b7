"""The command ``dashwright render``: it draws a dashboard of a file or of a server."""

import asyncio
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from pydantic import ValidationError

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.pictures import PictureOptions, Theme
from dashwright.common.settings import SettingsError
from dashwright.standalone.documents import STANDARD_INPUT
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.command import INTERRUPTED, NOT_DONE, report, run_command
from dashwright.standalone.remote.login import DEFAULT_SERVER, ServerOptions
from dashwright.standalone.remote.output import Output
from dashwright.standalone.rendering.files import draw_file
from dashwright.standalone.terminal import error_line

_PROGRAM: Final = "dashwright render"
_FORMATS: Final = ("png", "svg", "json")
_FILE_SUFFIXES: Final = (".json", ".yaml", ".yml")
#: The interval at which --watch looks for changes of the files.
_POLL_SECONDS: Final = 0.5


def render(
    dashboard: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    data: Path | None = None,
    watch: Annotated[bool, Parameter(negative="")] = False,
    panel: int | None = None,
    start: Annotated[str, Parameter(name="--from")] = "",
    end: Annotated[str, Parameter(name="--to")] = "",
    now: datetime | None = None,
    time_zone: Annotated[str, Parameter(name="--tz")] = "",
    variables: Annotated[list[str] | None, Parameter(name="--var", negative="")] = None,
    theme: Theme = "dark",
    width: int = 1000,
    height: int | None = None,
    scale: float = 1.0,
    expanded: Annotated[bool, Parameter(negative="")] = False,
    server: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Draw a dashboard of a file or of a server.

    A file is drawn without a server. Its queries have the results in the file of --data. The exit status is 0 if the picture was
    written, 130 after Ctrl-C (0 with --watch), otherwise 2.

    Parameters
    ----------
    dashboard
        A file (JSON, or YAML by its extension), or the uid of a dashboard of the server.
    output
        The picture to write: PNG or SVG by its extension, or .json for a report on what each panel shows.
    data
        The results of the queries of a file: a response of /api/ds/query for all panels, or one for each panel,
        {"panels": {"2": {"results": …}}}.
    watch
        Draw the file again whenever it or its data changes, until Ctrl-C.
    panel
        The id of the only panel to draw.
    start
        The start of the time range, instead of that of the dashboard: now-6h, 2026-01-01, epoch milliseconds.
    end
        The end of the time range.
    now
        The current time for relative times such as now-6h in a file, by default the latest time of its data. A time without an offset
        is in UTC.
    time_zone
        The time zone, such as Europe/Berlin.
    variables
        The value of a variable, as NAME=VALUE. It may be repeated.
    theme
        Colours of the picture.
    width
        Pixels of the width.
    height
        Pixels of the height. By default, that of the panels.
    scale
        Device pixel ratio of a PNG.
    expanded
        Draw the panels of collapsed rows too.
    """
    try:
        options = PictureOptions.model_validate(
            {
                "from": start,
                "to": end,
                "timezone": time_zone,
                "panel": panel,
                "variables": _values_by_name(variables or []),
                "theme": theme,
                "width": width,
                "height": height,
                "scale": scale,
                "format": _format_of(output),
                "rows": "expanded" if expanded else "stored",
            }
        )
    except ValidationError as error:
        report(_PROGRAM, sentence(causes_of(error) or ()))
        return NOT_DONE
    except DashwrightError as error:
        report(_PROGRAM, error.message)
        return NOT_DONE
    if not _is_file(dashboard):
        if data is not None or watch:
            report(_PROGRAM, f"--data and --watch need a file, and there is no file {dashboard!r}")
            return NOT_DONE
        return _render_uid(dashboard, output, options, server)
    if watch and dashboard == STANDARD_INPUT:
        report(_PROGRAM, "--watch needs a file that changes, and standard input is read only once; give the path of a file")
        return NOT_DONE
    # Without --watch, the file is drawn once.
    occasions = _changes([Path(dashboard), *([data] if data else [])]) if watch else [None]
    status = NOT_DONE
    try:
        # With --watch, a file that cannot be drawn is only reported: its next change may correct it.
        for _ in occasions:
            status = _render_file(dashboard, data, output, options, now)
    except KeyboardInterrupt:
        return 0 if watch else INTERRUPTED
    return status


def _render_file(file: str, data: Path | None, output: Path, options: PictureOptions, now: datetime | None) -> int:
    """Write the picture of a file, and return the exit status."""
    try:
        output.write_bytes(asyncio.run(draw_file(file, data, options, now)))
    except (DashwrightError, SettingsError, OSError, UnicodeDecodeError) as error:
        report(_PROGRAM, error_line(error))
        return NOT_DONE
    sys.stderr.write(f"{_PROGRAM}: {output} is written\n")
    return 0


def _render_uid(uid: str, output: Path, options: PictureOptions, server: ServerOptions) -> int:
    """Write the picture that the server draws of a dashboard, and return the exit status."""
    query = {
        "from": options.from_,
        "to": options.to,
        "tz": options.timezone,
        "panelId": options.panel,
        "theme": options.theme,
        "width": options.width,
        "height": options.height,
        "scale": options.scale,
        "format": options.format,
        "rows": options.rows,
    }
    pairs = [(name, str(value)) for name, value in query.items() if value not in ("", None)]
    pairs += [(f"var-{name}", value) for name, values in options.variables.items() for value in values]

    async def draw(client: ServerClient, _: Output) -> int:
        picture = await client.download(f"/render/d/{uid}", pairs)
        await asyncio.to_thread(output.write_bytes, picture)
        return 0

    return run_command(_PROGRAM, server, draw)


def _is_file(name: str) -> bool:
    """Return whether the argument is a file, rather than the uid of a dashboard."""
    return name == STANDARD_INPUT or name.endswith(_FILE_SUFFIXES) or Path(name).is_file()


def _format_of(output: Path) -> str:
    """Return the format of a file by its extension. Raises BadRequest for another extension."""
    extension = output.suffix.removeprefix(".").lower()
    if extension not in _FORMATS:
        raise BadRequest(f"the extension of {output} must be .{', .'.join(_FORMATS)}")
    return extension


def _values_by_name(pairs: list[str]) -> dict[str, list[str]]:
    """Return the values of each variable, in their order. Raises BadRequest for a pair that is not ``NAME=VALUE``."""
    values: dict[str, list[str]] = {}
    for assignment in pairs:
        name, separator, value = assignment.partition("=")
        if not separator or not name:
            raise BadRequest(f"--var {assignment!r:.80} is not NAME=VALUE")
        values.setdefault(name, []).append(value)
    return values


def _changes(files: list[Path]) -> Iterator[None]:
    """Yield immediately, and then after each change of one of the files."""
    previous_states: list[tuple[int, int] | None] = []
    while True:
        states = [_state_of(file) for file in files]
        if states != previous_states:
            previous_states = states
            yield
        time.sleep(_POLL_SECONDS)


def _state_of(file: Path) -> tuple[int, int] | None:
    """Return the time of the last change and the size of a file; None while an editor replaces it."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size

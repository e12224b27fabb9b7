"""The comment on a pull request and the text of its commit status: the effect of merging it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.models.repository_views import PlannedAction
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.markdown import code, difference, link, picture, plain
from dashwright.jobs_worker.domain.panels import Comparison, Detail, PanelAction, PanelChange

LONGEST: Final = 60_000
"""Characters of a comment; hosts accept about 65,000."""

MOST_IN_DETAIL: Final = 10
"""Files that are described panel by panel."""

_MOST_ROWS: Final = 100
_MOST_PANELS: Final = 30
_MOST_DETAILS: Final = 20
_MOST_ISSUES: Final = 10
_MOST_PROBLEMS: Final = 5
_LONGEST_TABLE: Final = 20_000
_LONGEST_OF_A_FILE: Final = 15_000
_LONGEST_TITLE: Final = 120
_LONGEST_PATH: Final = 200
_LONGEST_PROBLEM: Final = 500
_LONGEST_TEXT: Final = 400
_SHORT: Final = 60
_LONGEST_SENTENCE: Final = 140
_ROOM_FOR_THE_END: Final = 200

_DONE: Final = {
    PlannedAction.CREATE: "created",
    PlannedAction.UPDATE: "updated",
    PlannedAction.DELETE: "deleted",
    PlannedAction.REFUSE: "refused",
}


@dataclass(frozen=True, slots=True)
class Pictures:
    """Addresses of two pictures of a dashboard."""

    #: Empty for a new dashboard.
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """The effect of merging on the object of one file or directory."""

    path: str
    action: PlannedAction
    title: str = ""
    comparison: Comparison | None = None
    problems: Sequence[str] = ()
    lint: Sequence[Issue] = ()
    #: Address of the stored dashboard, empty if unknown.
    original: str = ""
    #: Address of the preview, empty if unknown.
    preview: str = ""
    pictures: Pictures | None = None
    #: Reason why pictures are missing, empty if none are expected.
    undrawn: str = ""

    @property
    def is_broken(self) -> bool:
        """``True`` if the object cannot be stored or does not work."""
        return self.action is PlannedAction.REFUSE or bool(self.problems)


@dataclass(frozen=True, slots=True)
class Report:
    """The effect of merging a pull request."""

    repository: str
    #: The commit that was reviewed.
    commit: str
    files: Sequence[FileReport]
    #: Number of files that were not reviewed.
    skipped: int = 0
    #: Reasons why nothing could be stored.
    problems: Sequence[str] = ()

    @property
    def is_broken(self) -> bool:
        """``True`` if anything in the pull request is broken."""
        return bool(self.problems) or any(file.is_broken for file in self.files)


def status_text(report: Report) -> str:
    """Return the text of the commit status, in one line."""
    if report.problems:
        return _one_line(f"nothing could be stored: {report.problems[0]}")
    counts = Counter(file.action for file in report.files)
    parts = [f"{counts[action]} {word}" for action, word in _DONE.items() if counts[action]]
    broken = sum(file.is_broken and file.action is not PlannedAction.REFUSE for file in report.files)
    parts += [f"{broken} with problems"] if broken else []
    parts += [f"{report.skipped} not reviewed"] if report.skipped else []
    return _one_line(", ".join(parts) or "no dashboard changes")


def comment_text(report: Report) -> str:
    """Return the comment as Markdown of at most LONGEST characters. Files beyond that are counted."""
    blocks = [f"## What changes in {plain(report.repository, _LONGEST_TITLE)}", _summary(report)]
    blocks += [f"- {plain(problem, _LONGEST_PROBLEM)}" for problem in report.problems[:_MOST_PROBLEMS]]
    if report.files:
        blocks.append(_table(report.files))
    size, described = sum(map(len, blocks)) + _ROOM_FOR_THE_END, 0
    detailed = [file for file in report.files if _has_details(file)]
    for file in detailed[:MOST_IN_DETAIL]:
        section = _section(file)
        if size + len(section) > LONGEST:
            break
        blocks.append(section)
        size += len(section) + 2
        described += 1
    if rest := len(detailed) - described + report.skipped:
        blocks.append(f"and {rest} more files")
    return "\n\n".join(blocks) + "\n"


def _summary(report: Report) -> str:
    where = f"As of {code(report.commit[:10])}: " if report.commit else ""
    if report.problems:
        return f"{where}**nothing could be stored**, because"
    return where + status_text(report) + "."


def _has_details(file: FileReport) -> bool:
    """Return whether a file has a section of its own: a directory is described completely by its row of the table."""
    return file.is_broken or not file.path.endswith("/")


def _table(files: Sequence[FileReport]) -> str:
    rows = ["| File | Title | Action | What changes |", "| --- | --- | --- | --- |"]
    size = 0
    for number, file in enumerate(files):
        cells = (plain(file.path or "/", _LONGEST_PATH), plain(file.title, _LONGEST_TITLE), _DONE[file.action], _change_counts(file))
        row = f"| {' | '.join(cells)} |"
        size += len(row) + 1
        if number == _MOST_ROWS or size > _LONGEST_TABLE:
            rows.append(f"| and {len(files) - number} more | | | |")
            break
        rows.append(row)
    return "\n".join(rows)


def _change_counts(file: FileReport) -> str:
    parts = []
    if file.comparison is not None and file.action is PlannedAction.UPDATE:
        counts = [(file.comparison.count(action), action) for action in PanelAction]
        parts = [f"{_counted(count, 'panel')} {action.value}" for count, action in counts if count]
        if file.comparison.details or file.comparison.others:
            parts.insert(0, "settings")
    elif file.comparison is not None and file.comparison.panels:
        parts = [_counted(len(file.comparison.panels), "panel")]
    parts += [_counted(len(file.problems), "problem")] if file.problems else []
    parts += [f"{_counted(len(file.lint), 'issue')} of lint"] if file.lint else []
    return ", ".join(parts)


def _section(file: FileReport) -> str:
    """Return the section of a file, made of whole blocks as long as there is room: nothing is cut in the middle."""
    found, size = [], 0
    blocks = list(_blocks(file))
    for number, block in enumerate(blocks):
        if size + len(block) > _LONGEST_OF_A_FILE:
            found.append(f"*{len(blocks) - number} more changes of this file have no room here.*")
            break
        found.append(block)
        size += len(block) + 2
    return "\n\n".join(found)


def _blocks(file: FileReport) -> Iterator[str]:
    path = plain(file.path, _LONGEST_PATH)
    if file.pictures is not None:
        yield f"### Side by Side Comparison of {path}"
        before = picture("Before", file.pictures.before) if file.pictures.before else "–"  # noqa: RUF001 - typography of a comment
        yield f"| Before | After |\n| --- | --- |\n| {before} | {picture('Preview', file.pictures.after)} |"
    else:
        yield f"### {path}"
    if links := [link(word, address) for word, address in (("original", file.original), ("preview", file.preview)) if address]:
        yield f"See the {' and '.join(links)} of {path}."
    if file.undrawn:
        yield f"NOTE: The pictures could not be drawn: {plain(file.undrawn, _LONGEST_PROBLEM)}"
    for problem in file.problems[:_MOST_PROBLEMS]:
        yield f"- **Problem:** {plain(problem, _LONGEST_PROBLEM)}"
    if file.action is PlannedAction.DELETE:
        yield f"The file is gone: {plain(file.title, _LONGEST_TITLE) or 'its dashboard'} is deleted with it."
    if file.comparison is not None and file.action is not PlannedAction.DELETE:
        yield from _changes(file.comparison, is_new=file.action is PlannedAction.CREATE)
    if file.lint:
        yield "\n".join(_lint(file.lint))


def _changes(comparison: Comparison, *, is_new: bool) -> Iterator[str]:
    if comparison == Comparison([], [], []):
        yield "No panel and no setting changes."
        return
    if not is_new:
        yield from _details("Settings", comparison.details, comparison.others)
    shown = [panel for panel in comparison.panels if panel.action is not PanelAction.MOVED]
    for panel in shown[:_MOST_PANELS]:
        name = f"Panel {plain(panel.title or panel.id, _LONGEST_TITLE)} {panel.action.value}"
        yield from _details(name, panel.details, panel.others) if panel.action is not PanelAction.REMOVED else [f"**{name}**"]
    if len(shown) > _MOST_PANELS:
        yield f"and {len(shown) - _MOST_PANELS} more panels"
    if moved := [panel for panel in comparison.panels if panel.action is PanelAction.MOVED]:
        yield f"{_counted(len(moved), 'panel')} only moved: {_titles(moved)}"


def _titles(panels: Sequence[PanelChange]) -> str:
    names = [plain(panel.title or panel.id, _SHORT) for panel in panels[:_MOST_ISSUES]]
    return ", ".join(names) + (", …" if len(panels) > _MOST_ISSUES else "")


def _details(name: str, details: Sequence[Detail], others: Sequence[str]) -> Iterator[str]:
    if not details and not others:
        return
    yield f"**{name}**"
    for detail in details[:_MOST_DETAILS]:
        yield _detail(detail)
    if len(details) > _MOST_DETAILS:
        yield f"- and {len(details) - _MOST_DETAILS} more"
    if others:
        named = ", ".join(code(other[:_SHORT]) for other in others[:_MOST_DETAILS])
        yield f"- also {named}" + (", …" if len(others) > _MOST_DETAILS else "")


def _detail(detail: Detail) -> str:
    name = plain(detail.name, _SHORT)
    if all(len(text) <= _SHORT and "\n" not in text for text in (detail.before, detail.after)):
        before, after = (code(text) if text.strip() else "nothing" for text in (detail.before, detail.after))
        return f"- {name}: {before} → {after}"
    return f"- {name}:\n\n{difference(detail.before, detail.after, _LONGEST_TEXT)}"


def _lint(issues: Sequence[Issue]) -> Iterator[str]:
    """Yield a line for each rule, with the first issue that it found."""
    groups: dict[tuple[str, str], list[Issue]] = {}
    for issue in issues:
        groups.setdefault((issue.severity.value, issue.rule), []).append(issue)
    for (severity, rule), found in list(groups.items())[:_MOST_ISSUES]:
        rest = f", and {len(found) - 1} more" if len(found) > 1 else ""
        yield f"- lint {severity}, {code(rule[:_SHORT])}: {plain(found[0].message, _LONGEST_PROBLEM)}{rest}"
    if len(groups) > _MOST_ISSUES:
        yield f"- and {len(groups) - _MOST_ISSUES} more rules"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_SENTENCE else words[: _LONGEST_SENTENCE - 1] + "…"

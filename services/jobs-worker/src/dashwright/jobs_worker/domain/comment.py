"""The comment on a pull request and the text of its commit status. Both describe the effect of merging the pull request."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange
from dashwright.common.models.repository_views import PlannedAction
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.markdown import code, diff_block, link, picture, plain
from dashwright.jobs_worker.domain.objects import SHORT_HASH_DIGITS

MAX_COMMENT_CHARACTERS: Final = 60_000
"""Limit on the characters of a comment; hosts accept about 65,000."""

MAX_DETAILED_FILES: Final = 10
"""Limit on the files that are described panel by panel."""

_SEPARATOR: Final = "\n\n"
"""Empty line between two blocks of Markdown."""

# The table of all files, with a row for each file. It takes at most a third of the comment, so that sections have room.
_MAX_ROWS: Final = 100
_MAX_TABLE_CHARACTERS: Final = 20_000

# The section of one file, at most a quarter of the comment. Details are settings whose old and new values are shown.
_MAX_SECTION_CHARACTERS: Final = 15_000
_MAX_PANELS: Final = 30
_MAX_MOVED_PANELS: Final = 10
_MAX_DETAILS: Final = 20
_MAX_RULES: Final = 10
_MAX_PROBLEMS: Final = 5

# Single texts.
_MAX_TITLE_CHARACTERS: Final = 120
_MAX_PATH_CHARACTERS: Final = 200
_MAX_PROBLEM_CHARACTERS: Final = 500
_MAX_DIFF_CHARACTERS: Final = 400
_MAX_INLINE_CHARACTERS: Final = 60
"""Limit on the characters of a value or name inside a line. A longer value is shown in a diff block."""

_MAX_STATUS_CHARACTERS: Final = 140
"""Limit of GitHub on the description of a commit status."""

_RESERVED_CHARACTERS: Final = 200
"""Characters for line feeds and for the last line, which counts omitted files."""

_PAST_PARTICIPLES: Final = {
    PlannedAction.CREATE: "created",
    PlannedAction.UPDATE: "updated",
    PlannedAction.DELETE: "deleted",
    PlannedAction.REFUSE: "refused",
}


@dataclass(frozen=True, slots=True)
class Pictures:
    """Addresses of two pictures of a dashboard."""

    #: Address of the stored dashboard's picture, empty for a new dashboard.
    before: str
    #: Address of the picture of the dashboard after merging.
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
    original_url: str = ""
    #: Address of the preview, empty if unknown.
    preview_url: str = ""
    pictures: Pictures | None = None
    #: Reason why pictures are missing, empty if no pictures are expected.
    pictures_error: str = ""

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
    #: Number of changed files beyond the limit, which were not reviewed.
    skipped_count: int = 0
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
    clauses = [f"{counts[action]} {word}" for action, word in _PAST_PARTICIPLES.items() if counts[action]]
    # Refused files are broken, too, but the first clauses count them already.
    broken_count = sum(file.is_broken and file.action is not PlannedAction.REFUSE for file in report.files)
    clauses += [f"{broken_count} with problems"] if broken_count else []
    clauses += [f"{report.skipped_count} not reviewed"] if report.skipped_count else []
    return _one_line(", ".join(clauses) or "no dashboard changes")


def comment_text(report: Report) -> str:
    """Return the comment as Markdown of at most MAX_COMMENT_CHARACTERS characters. Its last line counts the files that do not fit."""
    blocks = [f"## What changes in {plain(report.repository, _MAX_TITLE_CHARACTERS)}", _summary(report)]
    blocks += [f"- {plain(problem, _MAX_PROBLEM_CHARACTERS)}" for problem in report.problems[:_MAX_PROBLEMS]]
    if report.files:
        blocks.append(_table(report.files))
    size = sum(map(len, blocks)) + _RESERVED_CHARACTERS
    described_count = 0
    files_with_sections = [file for file in report.files if _has_section(file)]
    for file in files_with_sections[:MAX_DETAILED_FILES]:
        section = _section(file)
        if size + len(section) > MAX_COMMENT_CHARACTERS:
            break
        blocks.append(section)
        size += len(section) + len(_SEPARATOR)
        described_count += 1
    if omitted_count := len(files_with_sections) - described_count + report.skipped_count:
        blocks.append(f"and {omitted_count} more files")
    return _SEPARATOR.join(blocks) + "\n"


def _summary(report: Report) -> str:
    """Return the sentence below the heading. If it ends in "because", the list of problems follows it."""
    commit_prefix = f"As of {code(report.commit[:SHORT_HASH_DIGITS])}: " if report.commit else ""
    if report.problems:
        return f"{commit_prefix}**nothing could be stored**, because"
    return commit_prefix + status_text(report) + "."


def _has_section(file: FileReport) -> bool:
    """Return whether a file has a section of its own. A row of the table is enough for a directory."""
    return file.is_broken or not file.path.endswith("/")


def _table(files: Sequence[FileReport]) -> str:
    """Return the table with a row for each file. If not all files fit, the last row counts the others."""
    rows = ["| File | Title | Action | What changes |", "| --- | --- | --- | --- |"]
    size = 0
    for index, file in enumerate(files):
        cells = (
            plain(file.path or "/", _MAX_PATH_CHARACTERS),
            plain(file.title, _MAX_TITLE_CHARACTERS),
            _PAST_PARTICIPLES[file.action],
            _change_counts(file),
        )
        row = f"| {' | '.join(cells)} |"
        size += len(row) + 1
        if index == _MAX_ROWS or size > _MAX_TABLE_CHARACTERS:
            rows.append(f"| and {len(files) - index} more | | | |")
            break
        rows.append(row)
    return "\n".join(rows)


def _change_counts(file: FileReport) -> str:
    """Return the last cell of a file's row, such as ``settings, 2 panels changed, 1 problem``."""
    clauses = []
    if file.comparison is not None and file.action is PlannedAction.UPDATE:
        counts = [(file.comparison.count(action), action) for action in PanelAction]
        clauses = [f"{_with_plural(count, 'panel')} {action.value}" for count, action in counts if count]
        if file.comparison.details or file.comparison.other_names:
            clauses.insert(0, "settings")
    elif file.comparison is not None and file.comparison.panels:
        clauses = [_with_plural(len(file.comparison.panels), "panel")]
    clauses += [_with_plural(len(file.problems), "problem")] if file.problems else []
    clauses += [f"{_with_plural(len(file.lint), 'issue')} of lint"] if file.lint else []
    return ", ".join(clauses)


def _section(file: FileReport) -> str:
    """Return the section of a file. If not all blocks fit, the last line counts the others: a cut block may be invalid Markdown."""
    included_blocks, size = [], 0
    blocks = list(_blocks(file))
    for index, block in enumerate(blocks):
        if size + len(block) > _MAX_SECTION_CHARACTERS:
            included_blocks.append(f"*{len(blocks) - index} more changes of this file have no room here.*")
            break
        included_blocks.append(block)
        size += len(block) + len(_SEPARATOR)
    return _SEPARATOR.join(included_blocks)


def _blocks(file: FileReport) -> Iterator[str]:
    """Yield the paragraphs, tables and lists of a file's section as Markdown, the heading first."""
    path = plain(file.path, _MAX_PATH_CHARACTERS)
    if file.pictures is not None:
        yield f"### Side by Side Comparison of {path}"
        before = picture("Before", file.pictures.before) if file.pictures.before else "–"  # noqa: RUF001 - typography of a comment
        yield f"| Before | After |\n| --- | --- |\n| {before} | {picture('Preview', file.pictures.after)} |"
    else:
        yield f"### {path}"
    if links := [link(word, address) for word, address in (("original", file.original_url), ("preview", file.preview_url)) if address]:
        yield f"See the {' and '.join(links)} of {path}."
    if file.pictures_error:
        yield f"NOTE: The pictures could not be drawn: {plain(file.pictures_error, _MAX_PROBLEM_CHARACTERS)}"
    for problem in file.problems[:_MAX_PROBLEMS]:
        yield f"- **Problem:** {plain(problem, _MAX_PROBLEM_CHARACTERS)}"
    if file.action is PlannedAction.DELETE:
        yield f"The file is gone: {plain(file.title, _MAX_TITLE_CHARACTERS) or 'its dashboard'} is deleted with it."
    if file.comparison is not None and file.action is not PlannedAction.DELETE:
        yield from _changes(file.comparison, is_new=file.action is PlannedAction.CREATE)
    if file.lint:
        yield "\n".join(_lint_lines(file.lint))


def _changes(comparison: Comparison, *, is_new: bool) -> Iterator[str]:
    """Yield the blocks about changed settings and panels. Of a new dashboard only the panels are described."""
    if not (comparison.details or comparison.other_names or comparison.panels):
        yield "No panel and no setting changes."
        return
    if not is_new:
        yield from _details("Settings", comparison.details, comparison.other_names)
    displayed_panels = [panel for panel in comparison.panels if panel.action is not PanelAction.MOVED]
    for panel in displayed_panels[:_MAX_PANELS]:
        name = f"Panel {plain(panel.title or panel.id, _MAX_TITLE_CHARACTERS)} {panel.action.value}"
        if panel.action is PanelAction.REMOVED:
            yield f"**{name}**"
        else:
            yield from _details(name, panel.details, panel.other_names)
    if len(displayed_panels) > _MAX_PANELS:
        yield f"and {len(displayed_panels) - _MAX_PANELS} more panels"
    if moved_panels := [panel for panel in comparison.panels if panel.action is PanelAction.MOVED]:
        yield f"{_with_plural(len(moved_panels), 'panel')} only moved: {_joined_titles(moved_panels)}"


def _joined_titles(panels: Sequence[PanelChange]) -> str:
    names = [plain(panel.title or panel.id, _MAX_INLINE_CHARACTERS) for panel in panels[:_MAX_MOVED_PANELS]]
    return ", ".join(names) + (", …" if len(panels) > _MAX_MOVED_PANELS else "")


def _details(name: str, details: Sequence[Detail], other_names: Sequence[str]) -> Iterator[str]:
    """Yield a heading and the changed settings below it; nothing without changed settings.

    The values of ``details`` are shown before and after the change. Of the settings in ``other_names``, only the names are shown.
    """
    if not details and not other_names:
        return
    yield f"**{name}**"
    for detail in details[:_MAX_DETAILS]:
        yield _detail(detail)
    if len(details) > _MAX_DETAILS:
        yield f"- and {len(details) - _MAX_DETAILS} more"
    if other_names:
        names = ", ".join(code(other_name[:_MAX_INLINE_CHARACTERS]) for other_name in other_names[:_MAX_DETAILS])
        yield f"- also {names}" + (", …" if len(other_names) > _MAX_DETAILS else "")


def _detail(detail: Detail) -> str:
    """Return the list item of a changed setting: its two values in one line if they are short, else a diff block."""
    name = plain(detail.name, _MAX_INLINE_CHARACTERS)
    if all(len(value) <= _MAX_INLINE_CHARACTERS and "\n" not in value for value in (detail.before, detail.after)):
        before, after = (code(value) if value.strip() else "nothing" for value in (detail.before, detail.after))
        return f"- {name}: {before} → {after}"
    return f"- {name}:\n\n{diff_block(detail.before, detail.after, _MAX_DIFF_CHARACTERS)}"


def _lint_lines(issues: Sequence[Issue]) -> Iterator[str]:
    """Yield a line for each rule, with its first issue and the number of its other issues."""
    groups: dict[tuple[str, str], list[Issue]] = {}
    for issue in issues:
        groups.setdefault((issue.severity.value, issue.rule), []).append(issue)
    for (severity, rule), group in list(groups.items())[:_MAX_RULES]:
        suffix = f", and {len(group) - 1} more" if len(group) > 1 else ""
        yield f"- lint {severity}, {code(rule[:_MAX_INLINE_CHARACTERS])}: {plain(group[0].message, _MAX_PROBLEM_CHARACTERS)}{suffix}"
    if len(groups) > _MAX_RULES:
        yield f"- and {len(groups) - _MAX_RULES} more rules"


def _with_plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_STATUS_CHARACTERS else words[: _MAX_STATUS_CHARACTERS - 1] + "…"

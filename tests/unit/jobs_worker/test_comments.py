"""Comments on pull requests: their content and length, and no Markdown from texts of users."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange, compare
from dashwright.common.models.repository_views import PlannedAction
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.domain.comment import MAX_COMMENT_CHARACTERS, FileReport, Pictures, Report, comment_text, status_text
from dashwright.jobs_worker.domain.lint.issue import Issue

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def update_report(
    path: str, comparison: Comparison | None = None, *, title: str = "A title", pictures: Pictures | None = None
) -> FileReport:
    """Return the report of a changed file, with links to the stored dashboard and to the preview.

    The stored dashboard has the first three letters of the path as its uid.
    """
    return FileReport(
        path,
        PlannedAction.UPDATE,
        title,
        comparison=comparison,
        original_url=f"https://dash/d/{path[:3]}",
        preview_url="https://dash/preview",
        pictures=pictures,
    )


def report(*files: FileReport, skipped: int = 0, problems: tuple[str, ...] = ()) -> Report:
    """Return the report of a pull request."""
    return Report("The team", COMMIT, files, skipped_count=skipped, problems=problems)


def comment_lines(report: Report) -> list[str]:
    """Return the lines of the comment."""
    return comment_text(report).splitlines()


def test_only_the_first_files_have_links() -> None:
    """The first files have links and the others are counted, in Grafana's words."""
    lines = comment_lines(report(update_report("aaa.json"), update_report("bbb.json"), skipped=5))
    assert "See the [original](https://dash/d/aaa) and [preview](https://dash/preview) of aaa.json." in lines
    assert "See the [original](https://dash/d/bbb) and [preview](https://dash/preview) of bbb.json." in lines
    assert lines[-1] == "and 5 more files"


def test_pictures_before_and_after_are_side_by_side() -> None:
    """The pictures before and after a change are next to each other, before the links."""
    lines = comment_lines(report(update_report("file.json", pictures=Pictures("https://dash/1.png", "https://dash/2.png"))))
    start = lines.index("### Side by Side Comparison of file.json")
    assert lines[start + 2 : start + 5] == [
        "| Before | After |",
        "| --- | --- |",
        "| ![Before](https://dash/1.png) | ![Preview](https://dash/2.png) |",
    ]
    assert lines[start + 6].startswith("See the [original]")


def test_at_most_ten_files_are_reported_in_detail() -> None:
    """If fourteen files change, ten are reported in detail; four are in the table only, and are counted."""
    files = [update_report(f"{index:02}.json") for index in range(14)]
    text = comment_text(report(*files))
    assert text.count("See the [original]") == 10
    assert text.endswith("and 4 more files\n")
    assert "| 13.json |" in text


def test_changes_are_reported_by_panel() -> None:
    """Short values are in a line, long ones in a diff, and moved panels only by name."""
    query = 'sum by (job) (rate(http_requests_total{code=~"5.."}[5m])) / sum by (job) (rate(http_requests_total[5m]))'
    comparison = Comparison(
        [Detail("refresh", "", "1m")],
        [Detail("editable", "", "false")],
        [
            PanelChange(
                "1", "Errors", PanelAction.CHANGED, [Detail("unit", "short", "percent"), Detail("query A", query, query + " * 100")]
            ),
            PanelChange("2", "Load", PanelAction.MOVED, [Detail("position", "1", "2")]),
            PanelChange("3", "Old", PanelAction.REMOVED),
        ],
    )
    text = comment_text(report(update_report("a.json", comparison)))
    assert "| a.json | A title | updated | settings, 1 panel removed, 1 panel changed, 1 panel moved |" in text
    assert "- refresh: nothing → `1m`\n\n- also `editable`" in text
    assert "**Panel Errors changed**\n\n- unit: `short` → `percent`" in text
    assert f"```diff\n-{query}\n+{query} * 100\n```" in text
    assert "**Panel Old removed**" in text
    assert "1 panel only moved: Load" in text


def test_deleted_and_refused_files_are_reported() -> None:
    """The comment names the deleted dashboard and the reason of the refusal."""
    deleted_file = FileReport("a.json", PlannedAction.DELETE, "Load", original_url="https://dash/d/a")
    refused_file = FileReport("b.json", PlannedAction.REFUSE, problems=["not valid JSON: expected ',' at line 3 column 1"])
    reported = report(deleted_file, refused_file)
    text = comment_text(reported)
    assert "See the [original](https://dash/d/a) of a.json." in text
    assert "The file is gone: Load is deleted with it." in text
    assert "- **Problem:** not valid JSON: expected ',' at line 3 column 1" in text
    assert status_text(reported) == "1 deleted, 1 refused"
    assert reported.is_broken is True


def test_lint_is_reported_and_breaks_nothing() -> None:
    """Lint findings are in the comment, and the commit status is a success."""
    issues = [Issue(severity=LintSeverity.WARNING, rule="panel-units-rule", message="panel 'Load': its values have no unit")]
    reported = report(FileReport("a.json", PlannedAction.CREATE, "Load", lint=issues))
    assert "- lint warning, `panel-units-rule`: panel 'Load': its values have no unit" in comment_text(reported)
    assert status_text(reported) == "1 created"
    assert reported.is_broken is False


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (report(), "no dashboard changes"),
        (report(update_report("a.json"), update_report("b.json"), skipped=3), "2 updated, 3 not reviewed"),
        (report(update_report("a.json"), problems=("too many\ndashboards",)), "nothing could be stored: too many dashboards"),
        (report(FileReport("a.json", PlannedAction.CREATE, problems=["refers to B, which is missing"])), "1 created, 1 with problems"),
    ],
)
def test_the_text_of_a_commit_status_has_one_line(reported: Report, expected: str) -> None:
    """The text of a commit status has one line of 140 characters at most, which hosts accept."""
    assert status_text(reported) == expected
    assert len(status_text(report(problems=("x" * 500,)))) == 140


def test_the_length_of_a_comment_is_limited() -> None:
    """A comment has at most the length that hosts accept. Further files are counted, and no block is cut."""
    panels = [{"id": index, "title": "`" * 90, "targets": [{"refId": "A", "expr": "|" * 5000}]} for index in range(500)]
    comparison = compare({}, {"title": "@" * 5000, "panels": panels})
    files = [
        FileReport("p" * 900 + f"{index}.json", PlannedAction.UPDATE, "&" * 9000, comparison, problems=["<" * 9000] * 50)
        for index in range(300)
    ]
    text = comment_text(report(*files, problems=("<" * 9000,) * 50))
    assert len(text) <= MAX_COMMENT_CHARACTERS
    assert re.search(r"and \d+ more files\n$", text)
    assert text.count("```") % 2 == 0


HOSTILE_TEXTS = [
    "<img src=x onerror=alert(1)><!-- dashwright:x -->",
    "@everyone see #1 and https://evil.example/ or www.evil.example",
    "a | b\n\n| c | d |\n| --- | --- |\n# head",
    "[click](javascript:alert) ![x](https://evil.example/x.png)",
    "```\n<script>\n```\n@team",
    "``` ` `` \\` \\",
    "\u202egnp.exe\u0000\r\n- item",
    "&lt;b&gt; &#64;team",
]
TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from([*HOSTILE_TEXTS, "`", "\n", " ", "|", "\\", "@", "```", "<b>", "x"]), max_size=6
).map("".join)


@given(TEXTS, TEXTS, TEXTS)
@example(*HOSTILE_TEXTS[:3])
@example(*HOSTILE_TEXTS[3:6])
@example(*HOSTILE_TEXTS[5:8])
def test_no_text_of_users_becomes_markdown(title: str, path: str, problem: str) -> None:
    """Texts of users stay texts: a Markdown parser finds the headings, tables and links of the comment only.

    No tag, mention or reference in a text of a user has an effect.
    """
    comparison = Comparison(
        [Detail(path, title, problem), Detail("a", "x" + title * 20, path * 20)],
        [Detail(problem, title, path)],
        [PanelChange("1", title, PanelAction.CHANGED, [Detail("b", path, title)])],
    )
    issue = Issue(severity=LintSeverity.ERROR, rule=title, message=path)
    file = FileReport(
        f"{title}/a.json",
        PlannedAction.UPDATE,
        title=path,
        comparison=comparison,
        problems=[problem],
        lint=[issue],
        original_url="https://dash/d/a b)",
        preview_url="https://dash/<p>",
    )
    tokens = _flat(MarkdownIt("commonmark", {"html": True}).enable("table").parse(comment_text(report(file))))
    assert not [token for token in tokens if token.type.startswith("html")]
    assert [token.attrGet("href") for token in tokens if token.type == "link_open"] == ["https://dash/d/a%20b%29", "https://dash/%3Cp%3E"]
    assert not [token for token in tokens if token.type == "image"]
    # The headings of the comment and of the file, and a table with its header and the row of the file.
    assert sum(token.type == "heading_open" for token in tokens) == 2
    assert sum(token.type == "tr_open" for token in tokens) == 2
    assert sum(token.type == "td_open" for token in tokens) == 4
    words = " ".join(token.content for token in tokens if token.type == "text")
    assert not re.search(r"[@#][\w-]|://|www\.|\bgh-\d", words, re.IGNORECASE)
    assert not [token for token in tokens if token.type == "fence" and not re.fullmatch(r"([-+ …].*\n)*", token.content)]


def _flat(tokens: list[Token]) -> list[Token]:
    """Return the tokens, each followed by the tokens inside it."""
    return [flat_token for token in tokens for flat_token in (token, *_flat(token.children or []))]

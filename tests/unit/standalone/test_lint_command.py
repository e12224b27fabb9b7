"""``dashwright lint``: prints the findings of the rules in local files as text or JSON, with an exit status."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashwright.standalone.cli import app
from dashwright.standalone.lint import check

#: A dashboard without findings.
VALID_DASHBOARD = {"title": "Good", "editable": False, "panels": []}
DATASOURCE_VARIABLE = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
#: A panel with the same refId twice.
PANEL = {"type": "text", "title": "P", "targets": [{"refId": "A"}, {"refId": "A"}]}
#: A dashboard with a panel that violates a rule whose findings are errors.
FAULTY_DASHBOARD = {"title": "Bad", "editable": False, "templating": {"list": [DATASOURCE_VARIABLE]}, "panels": [PANEL]}
#: A dashboard that violates only a convention: it is editable, which is a warning.
PLAIN_DASHBOARD = {"title": "Plain", "panels": []}

#: The rule that the faulty dashboard violates.
RULE = "target-ref-id-rule"
#: A configuration that makes warnings of the errors of this rule.
CONFIG_THAT_WARNS = f"warnings:\n  {RULE}:\n"

WriteFiles = Callable[[str, Any], str]


@pytest.fixture
def write_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteFiles:
    """Return a function that writes a file into the current directory, and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write_files(name: str, document: Any) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return name

    return write_files


def test_a_directory_is_linted_recursively(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """Hidden files and files without a dashboard are skipped."""
    write_files("d/a.json", FAULTY_DASHBOARD)
    write_files("d/deep/b.yaml", "apiVersion: dashboard.grafana.app/v1beta1\nkind: Dashboard\nspec: {title: B}\n")
    write_files("d/deep/sent.json", {"dashboard": PLAIN_DASHBOARD})
    write_files("d/c.json", VALID_DASHBOARD)
    write_files("d/package.json", {"name": "x"})
    write_files("d/folder.yaml", "apiVersion: folder.grafana.app/v1beta1\nkind: Folder\nspec: {title: F}\n")
    write_files("d/.hidden/e.json", FAULTY_DASHBOARD)
    write_files("d/notes.txt", "x")
    assert check(["d"]) == 1
    result = capsys.readouterr().out.splitlines()
    assert [line for line in result if not line.startswith(" ")] == [
        "d/a.json",
        "d/deep/b.yaml",
        "d/deep/sent.json",
        "1 error, 2 warnings in 4 dashboards",
    ]
    # The line after the name of a file is its finding.
    assert result[1].startswith(f"  error    {RULE}: ")
    assert result[1].endswith(" (/panels/0)")
    assert result[3].endswith(" (/spec/editable)")
    assert result[5].endswith(" (/dashboard/editable)")


@pytest.mark.parametrize(
    ("document", "config", "strict", "status"),
    [
        (VALID_DASHBOARD, "", False, 0),
        (VALID_DASHBOARD, "", True, 0),
        (PLAIN_DASHBOARD, "", False, 0),
        (PLAIN_DASHBOARD, "", True, 1),
        (FAULTY_DASHBOARD, "", False, 1),
        (FAULTY_DASHBOARD, CONFIG_THAT_WARNS, False, 0),
        (FAULTY_DASHBOARD, CONFIG_THAT_WARNS, True, 1),
    ],
)
def test_the_exit_status_is_that_of_the_worst_finding(
    write_files: WriteFiles, document: Any, config: str, *, strict: bool, status: int
) -> None:
    """The status is 1 after an error, and in the strict mode also after a warning."""
    name = write_files("a.json", document)
    write_files(".dashboard-lint", config)
    assert check([name], strict=strict) == status


def test_a_given_configuration_replaces_that_of_the_directory(write_files: WriteFiles) -> None:
    """The configuration in the directory has no effect if another one is given."""
    name = write_files("a.json", FAULTY_DASHBOARD)
    write_files(".dashboard-lint", CONFIG_THAT_WARNS)
    assert check([name], config=Path(write_files("other.yaml", ""))) == 1


def test_json_lists_every_dashboard(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON output lists every dashboard with its findings, also one without findings."""
    assert check([write_files("bad.json", FAULTY_DASHBOARD), write_files("good.json", VALID_DASHBOARD)], as_json=True) == 1
    faulty_dashboard, valid_dashboard = json.loads(capsys.readouterr().out)
    assert valid_dashboard["path"] == "good.json"
    assert valid_dashboard["issues"] == []
    assert [(issue["severity"], issue["rule"]) for issue in faulty_dashboard["issues"]] == [("error", RULE)]


@pytest.mark.parametrize(
    ("document", "config", "reason"),
    [
        ("{", "", "a.json: not valid JSON"),
        ({"name": "x"}, "", "a.json: contains no dashboard"),
        (VALID_DASHBOARD, "warnings: 1", ".dashboard-lint: warnings"),
        (None, "", "dashwright lint: a.json: No such file"),
    ],
)
def test_an_unreadable_file_has_another_exit_status(
    write_files: WriteFiles, capsys: pytest.CaptureFixture[str], document: Any, config: str, reason: str
) -> None:
    """A missing or invalid file, or an invalid configuration, ends with status 2 and the reason, because nothing was checked."""
    if document is not None:
        write_files("a.json", document)
    write_files(".dashboard-lint", config)
    assert check(["a.json"]) == 2
    assert reason in capsys.readouterr().err


def test_a_misspelt_key_of_the_configuration_is_reported(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """The warning concerns the configuration file, which is not counted as a dashboard."""
    name = write_files("a.json", VALID_DASHBOARD)
    write_files(".dashboard-lint", f"warnigs:\n  {RULE}:\n")
    assert check([name]) == 0
    result = capsys.readouterr().out.splitlines()
    assert result[0] == ".dashboard-lint"
    assert result[1].startswith("  warning  dashboard-lint: .dashboard-lint: the key 'warnigs' is unknown")
    assert result[2:] == ["0 errors, 1 warning in 1 dashboard"]
    assert check([name], strict=True, as_json=True) == 1
    assert [item["path"] for item in json.loads(capsys.readouterr().out)] == [".dashboard-lint", name]


def test_lint_is_a_command(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line accepts the options, and ends with the status of the check."""
    name = write_files("a.json", FAULTY_DASHBOARD)
    with pytest.raises(SystemExit) as program_exit:
        app(["lint", name, "--json", "--strict"])
    assert program_exit.value.code == 1
    assert json.loads(capsys.readouterr().out)[0]["path"] == name


def test_a_summary_counts_by_rule(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors come first, then the most frequent findings, each with the number of files."""
    write_files("d/bad.json", FAULTY_DASHBOARD)
    write_files("d/a.json", PLAIN_DASHBOARD)
    write_files("d/b.json", PLAIN_DASHBOARD)
    assert check(["d"], summary=True) == 1
    result = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert result[1:3] == [["error", RULE, "1", "1"], ["warning", "uneditable-dashboard", "2", "2"]]
    assert " ".join(result[3]) == "1 error, 2 warnings in 3 dashboards"


def test_one_rule_is_checked(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """If rules are given, only these are checked. An unknown rule is rejected with the names of the known rules."""
    name = write_files("bad.json", FAULTY_DASHBOARD)
    assert check([name], rule=["uneditable-dashboard"]) == 0
    assert check([name], rule=["uneditable-dashboard", RULE]) == 1
    capsys.readouterr()
    # A misspelt name.
    assert check([name], rule=["target-refid-rule"]) == 2
    assert RULE in capsys.readouterr().err


def test_annotations_name_file_line_and_rule(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """Annotations for GitHub name file, line and rule. Special characters of workflow commands are escaped."""
    # The panel begins in line 15 of the indented JSON.
    name = write_files("odd, 100%: (a).json", json.dumps(FAULTY_DASHBOARD | {"panels": [PANEL | {"title": "a\nb"}]}, indent=2))
    assert check([name], format="github") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=odd%2C 100%25%3A (a).json,line=15,title=target-ref-id-rule::panel 'a")


def test_sarif_names_rule_level_and_line(write_files: WriteFiles, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is SARIF 2.1.0 with line and JSON pointer, also for YAML."""
    # The panel begins in line 15 of the indented JSON, and ``editable`` is line 4 of the YAML.
    write_files("d/a b.json", json.dumps(FAULTY_DASHBOARD, indent=2))
    write_files("d/b.yaml", "kind: Dashboard\nspec:\n  title: B\n  editable: true\n")
    assert check(["d"], format="sarif") == 1
    document = json.loads(capsys.readouterr().out)
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [RULE, "uneditable-dashboard"]
    json_result, yaml_result = run["results"]
    assert json_result["ruleId"] == RULE
    assert json_result["level"] == "error"
    location = json_result["locations"][0]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "d/a%20b.json"}, "region": {"startLine": 15}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "/panels/0"}]
    assert yaml_result["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}


def test_the_examples_pass() -> None:
    """The project's examples do not follow every convention, but contain no error."""
    assert check([str(Path(__file__).parents[3] / "examples")]) == 0

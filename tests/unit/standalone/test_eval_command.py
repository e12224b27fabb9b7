"""``dashwright eval``, which evaluates the queries of a panel over recorded frames, and prints tables or JSON."""

import asyncio
import json
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dashwright.expressions.queries import respond
from dashwright.standalone.cli import app
from dashwright.standalone.evaluate import evaluate

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/query.json"
PROMETHEUS = {"type": "prometheus", "uid": "p"}
#: One minute after the start of 1970, in which the recorded points are.
NOW = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)

WriteDocument = Callable[[Any], str]


@pytest.fixture
def write_document(tmp_path: Path) -> WriteDocument:
    """Return a function that writes a document to a file of its own, and returns the file's name."""

    def write_document(document: Any) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(document))
        return str(path)

    return write_document


def frame(values: list[Any], times: list[int] | None = None, **labels: str) -> dict[str, Any]:
    """Return a recorded series, with a point for each second unless its times are given in milliseconds."""
    fields = [{"name": "time", "type": "time"}, {"name": "v", "type": "number", "labels": labels}]
    if times is None:
        times = [(row + 1) * 1000 for row in range(len(values))]
    return {"schema": {"fields": fields}, "data": {"values": [times, values]}}


def recording(**frames: list[Any]) -> dict[str, Any]:
    """Return a recorded response with the frames of each query."""
    return {"results": {ref_id: {"status": 200, "frames": frames_of_ref_id} for ref_id, frames_of_ref_id in frames.items()}}


def panel(**fields: Any) -> dict[str, Any]:
    """Return a panel as dashboards contain it: with panel properties, and target properties without effect."""
    source = {"refId": "A", "datasource": PROMETHEUS, "expr": "up"}
    target = {
        "refId": "B",
        "datasource": {"type": "__expr__", "uid": "__expr__"},
        "type": "math",
        "expression": "$A * 2",
        "intervalMs": 1000,
    }
    return {"id": 7, "title": "Doubled", "type": "timeseries", "targets": [source, target], **fields}


def values_of(text: str, ref_id: str = "B") -> Any:
    """Return the values of the first frame of a query in the JSON output."""
    return json.loads(text)["results"][ref_id]["frames"][0]["data"]["values"][-1]


async def test_json_equals_the_servers_response() -> None:
    """The JSON output equals the server's response byte for byte."""
    response = await respond(EXAMPLE.read_bytes())
    assert isinstance(response.body, bytes)
    # The installed program, because its output is bytes.
    program = Path(sys.executable).with_name("dashwright")
    process = await asyncio.create_subprocess_exec(program, "eval", EXAMPLE, "--format", "json", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert output == response.body + b"\n"


def test_recorded_frames_replace_the_queries_of_their_ref_ids(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded frames replace queries of any data source; recorded results of expressions are not used."""
    recorded = write_document(recording(A=[frame([1, 2])], B=[frame([9])]))
    assert evaluate(write_document(panel()), frames=Path(recorded), output_format="json") == 0
    assert values_of(capsys.readouterr().out) == [2, 4]


def test_sql_statements_run_if_the_feature_is_enabled(
    write_document: WriteDocument, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQL statements run if the setting enables them, as in the services."""
    statement = {"refId": "B", "type": "sql", "expression": "SELECT v * 2 AS v FROM A"}
    saved = write_document(panel(targets=[{"refId": "A", "datasource": PROMETHEUS}, statement]))
    recorded = Path(write_document(recording(A=[frame([1, 2])])))
    assert evaluate(saved, frames=recorded, output_format="json") == 1
    assert "DASHWRIGHT_FEATURES=sqlExpression" in capsys.readouterr().out
    monkeypatch.setenv("DASHWRIGHT_FEATURES", "sqlExpression")
    assert evaluate(saved, frames=recorded, output_format="json") == 0
    assert values_of(capsys.readouterr().out) == [2, 4]


def test_a_caret_marks_the_place_of_a_fault(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """A caret below the expression marks the position of a fault, as in a validation."""
    assert evaluate(write_document({"queries": [{"refId": "A", "type": "math", "expression": "1 + (2"}]})) == 1
    assert "(at character 7)\n    1 + (2\n          ^\n" in capsys.readouterr().out


def test_a_query_without_frames_is_an_error(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """The error of the refId says how to give frames, and the exit status is 1."""
    assert evaluate(write_document(panel()), output_format="json") == 1
    assert (
        "no frames are recorded for query A; give a response of /api/ds/query that contains them with --frames" in capsys.readouterr().out
    )
    assert evaluate(write_document(panel())) == 1
    assert "error: no frames are recorded" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrap",
    [lambda spec: spec, lambda spec: {"dashboard": spec}, lambda spec: {"kind": "Dashboard", "spec": spec}],
    ids=["classic", "wrapped", "resource"],
)
def test_a_panel_of_a_dashboard_is_chosen_by_id_or_title(
    write_document: WriteDocument, capsys: pytest.CaptureFixture[str], wrap: Callable[[Any], Any]
) -> None:
    """Panels in rows are found; if several match, the error lists them."""
    row = {"id": 1, "type": "row", "panels": [panel(id=8, title="Within")]}
    dashboard = write_document(wrap({"panels": [{"id": 5, "type": "text"}, panel(), row]}))
    recorded = Path(write_document(recording(A=[frame([3])])))
    for choice in ("7", "Doubled", "8", "Within"):
        assert evaluate(dashboard, panel=choice, frames=recorded, output_format="json") == 0
        assert values_of(capsys.readouterr().out) == [6]
    # No choice between two panels, a panel without targets, and an id that no panel has.
    for wrong_panel in (None, "5", "9"):
        assert evaluate(dashboard, panel=wrong_panel, frames=recorded) == 2
        result = capsys.readouterr().err
        assert "choose one with --panel, by its id or title:\n  7  Doubled\n  8  Within" in result
    assert evaluate(write_document({"panels": [panel()]}), frames=recorded) == 0


def test_a_saved_panel_has_defaults(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """Queries without a data source use the panel's, and the dashboard's time range."""
    resample = {"refId": "B", "type": "resample", "expression": "A", "window": "10s", "downsampler": "last", "upsampler": "pad"}
    saved = {"id": 1, "type": "t", "datasource": {"type": "graphite", "uid": "g"}, "targets": [{"refId": "A", "target": "x"}, resample]}
    recorded = Path(write_document(recording(A=[frame([3])])))
    dashboard = write_document({"time": {"from": "now-30s", "to": "now"}, "panels": [saved]})
    assert evaluate(dashboard, frames=recorded, now=NOW, output_format="json") == 0
    output = capsys.readouterr().out
    (resampled,) = json.loads(output)["results"]["B"]["frames"]
    assert resampled["data"]["values"] == [[30000, 40000, 50000, 60000], [3, 3, 3, 3]]
    assert '"labels":{"__name__":"v"}' in output
    assert evaluate(dashboard, frames=recorded, now=NOW, start="now-10s", output_format="json") == 0
    assert values_of(capsys.readouterr().out) == [3, 3]


def test_yaml_is_detected_by_extension(write_document: WriteDocument, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files with the extension of YAML are read as YAML, which is common for dashboards in git."""
    path = tmp_path / "dashboard.yaml"
    path.write_text(f"kind: Dashboard\nspec:\n  panels:\n    - {json.dumps(panel())}\n")
    assert evaluate(str(path), frames=Path(write_document(recording(A=[frame([1])]))), output_format="json") == 0
    assert values_of(capsys.readouterr().out) == [2]


def test_strict_rejects_what_the_panel_endpoint_rejects(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """The strict evaluation of an invalid panel ends with status 1, and the message has the pointer of the fault."""
    assert evaluate(write_document(panel()), frames=Path(write_document(recording(A=[frame([1])]))), strict=True) == 1
    assert "dashwright eval: query B: /targets/1/intervalMs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([1], "must contain an object"),
        ({"title": "x"}, "give an object with targets"),
        ({"elements": {}, "layout": {}}, "dashboards with elements are not supported"),
        ({"panels": []}, "no panels with targets"),
    ],
)
def test_a_file_without_a_panel_is_an_error(
    write_document: WriteDocument, capsys: pytest.CaptureFixture[str], document: Any, message: str
) -> None:
    """The error of a file without a panel says what the file should contain, and the exit status is 2: nothing was evaluated."""
    assert evaluate(write_document(document)) == 2
    assert message in capsys.readouterr().err


def test_unreadable_files_are_named(write_document: WriteDocument, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing files, files without text or JSON, and invalid frames are named."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    (tmp_path / "broken.json").write_text("{")
    for name, message in (("none.json", "No such file"), ("bytes.json", "can't decode"), ("broken.json", "not valid JSON")):
        assert evaluate(str(tmp_path / name)) == 2
        assert message in capsys.readouterr().err
    for frames, message in (
        ([], "a response of /api/ds/query"),
        (recording(A=[{"schema": 1}]), "recorded for A cannot be read: [0].schema"),
    ):
        assert evaluate(write_document(panel()), frames=Path(write_document(frames))) == 2
        assert message in capsys.readouterr().err


def test_tables_show_numbers_series_missing_data_and_notices(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """Null and NaN are named, times have the digits they need, and series with equal times share a table."""
    # A has three series, of which two share their times. C is NaN. D is hidden and matches one of the series. G has no frames.
    single_point = frame([1], times=[1500], host="c")
    two_series = [frame([1, None], host="a"), frame([0.5, 2], host="[b]")]
    targets = [
        {"refId": "A", "datasource": PROMETHEUS},
        {"refId": "C", "type": "math", "expression": "$A / 0 * 0"},
        {"refId": "D", "datasource": PROMETHEUS, "hide": True},
        {"refId": "E", "type": "math", "expression": "$A + $D"},
        {"refId": "F", "type": "reduce", "expression": "A", "reducer": "last"},
        {"refId": "G", "datasource": PROMETHEUS},
        {"refId": "H", "type": "math", "expression": "$G"},
    ]
    # A notice that is not an object is ignored.
    single_point["schema"]["meta"] = {"notices": [7, {"text": "half of it"}]}
    recorded = recording(A=[*two_series, single_point], D=[frame([1, 1], host="a")], G=[])
    assert evaluate(write_document({"type": "t", "targets": targets}), frames=Path(write_document(recorded))) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    text = "\n".join(lines)
    assert "time v {host=a} v {host=[b]}\n1970-01-01T00:00:01Z 1 0.5\n1970-01-01T00:00:02Z null 2" in text
    assert "A\ninfo: half of it\n" in text
    assert "time v {host=c}\n1970-01-01T00:00:01.500Z 1" in text
    assert "C\nTime C {host=a} C {host=[b]}\n1970-01-01T00:00:01Z NaN NaN" in text
    assert "E\nwarning: 2 items dropped from union(s)" in text
    assert "F\nhost value\na null\n[b] 2\nc 1" in text
    assert "H\nno data" in text
    assert "D" not in lines


def test_long_tables_are_cut_and_say_so(write_document: WriteDocument, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables have at most twenty rows and eight series."""
    # Nine series of 30 points need two tables: of eight series and of one.
    recorded = Path(write_document(recording(A=[frame(list(range(30)), host=str(host)) for host in range(9)])))
    saved = write_document({"type": "t", "targets": [{"refId": "A", "datasource": PROMETHEUS}]})
    assert evaluate(saved, frames=recorded) == 0
    output = capsys.readouterr().out
    assert output.count("and 10 more; all of them with --format json") == 2
    assert max(line.count("{host=") for line in output.splitlines()) == 8


def test_the_example_of_the_documentation_has_its_output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of the page prints the output of the page, word for word."""
    page = (ROOT / "docs/reference/command-line.md").read_text()
    [command] = [line for line in page.splitlines() if line.startswith(".venv/bin/dashwright eval ")]
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as program_exit:
        app(shlex.split(command)[1:])
    assert program_exit.value.code == 0
    output = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()).rstrip()
    assert f"```text\n{output}\n```" in page

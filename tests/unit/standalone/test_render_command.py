"""``dashwright render``, which draws the dashboard of a file with recorded results, or downloads a picture from a server."""

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dashwright.standalone.cli import app
from dashwright.standalone.rendering import command

pytestmark = pytest.mark.exhaustive

#: A placeholder of a data source, as in dashboards that are shared.
SOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
#: The minute in which the recorded points are.
TIME = {"from": "1970-01-01T00:00:00Z", "to": "1970-01-01T00:01:00Z"}


def panel(panel_id: int, **fields: Any) -> dict[str, Any]:
    """Return a panel with a query that refers to the variable of the dashboard."""
    targets = [{"refId": "A", "datasource": SOURCE, "expr": "up{node='$node'}"}]
    position = {"x": 0, "y": panel_id * 8, "w": 24, "h": 8}
    return {"id": panel_id, "title": f"Panel {panel_id}", "type": "timeseries", "gridPos": position, "targets": targets, **fields}


DASHBOARD = {
    "title": "Shop",
    "time": TIME,
    "panels": [panel(1), panel(2)],
    "templating": {"list": [{"name": "node", "type": "query", "datasource": SOURCE, "query": "label_values(node)"}]},
}


def results(*values: float) -> dict[str, Any]:
    """Return a recorded response with a series that has a value for each second."""
    fields = [{"name": "time", "type": "time"}, {"name": "v", "type": "number"}]
    data = {"values": [[(row + 1) * 1000 for row in range(len(values))], list(values)]}
    return {"results": {"A": {"frames": [{"schema": {"fields": fields}, "data": data}]}}}


WriteFile = Callable[[str, Any], str]


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Return a function that writes a document to a file, and returns the path of the file."""

    def write_file(name: str, document: Any) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return str(path)

    return write_file


def run_command(*arguments: str) -> int:
    """Run ``dashwright render`` in this process, and return its exit status."""
    status = app(["render", *arguments], result_action="return_value")
    assert isinstance(status, int)
    return status


def report_of(path: Path) -> dict[int, tuple[str, str]]:
    """Return the state and the message of each panel by its id, from a picture in the format JSON."""
    return {item["id"]: (item["state"], item.get("message", "")) for item in json.loads(path.read_text())["panels"]}


@pytest.mark.parametrize(
    "document",
    [DASHBOARD, {"dashboard": DASHBOARD}, {"apiVersion": "v1beta1", "kind": "Dashboard", "spec": DASHBOARD}],
    ids=["classic", "wrapped", "resource"],
)
@pytest.mark.parametrize("data", [results(1, 2), {"panels": {"1": results(1, 2), "2": results(3)}}], ids=["results", "results by panel"])
def test_every_form_of_file_is_drawn(write_file: WriteFile, tmp_path: Path, document: Any, data: Any) -> None:
    """Every form of file is drawn, even with placeholders of data sources, or with variables without recorded options."""
    output = tmp_path / "x.json"
    assert run_command(write_file("d.json", document), "-o", str(output), "--data", write_file("r.json", data)) == 0
    assert report_of(output) == {1: ("drawn", ""), 2: ("drawn", "")}


@pytest.mark.parametrize(("name", "start"), [("x.png", b"\x89PNG"), ("x.svg", b"<svg")])
def test_the_extension_selects_the_format(write_file: WriteFile, tmp_path: Path, name: str, start: bytes) -> None:
    """The picture has the format of the extension of the output file, also for a single panel."""
    file = write_file("d.json", DASHBOARD)
    data = write_file("r.json", results(1, 2))
    assert run_command(file, "-o", str(tmp_path / name), "--data", data, "--panel", "2") == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_relative_times_end_with_the_data(write_file: WriteFile, tmp_path: Path) -> None:
    """Relative times end with the data, unless ``--now`` gives another end."""
    output = tmp_path / "x.svg"
    file = write_file("d.json", DASHBOARD)
    data = write_file("r.json", results(1, 2))
    assert run_command(file, "-o", str(output), "--data", data, "--from", "now-2h", "--to", "now") == 0
    assert "1969-12-31 22:00 to 1970-01-01 00:00 UTC" in output.read_text()
    assert run_command(file, "-o", str(output), "--data", data, "--from", "now-2h", "--to", "now", "--now", "2026-01-01T03:00") == 0
    assert "2026-01-01 01:00 to 2026-01-01 03:00 UTC" in output.read_text()


def test_a_query_without_recorded_frames_is_named(write_file: WriteFile, tmp_path: Path) -> None:
    """A panel without recorded results has an error that names its query, and the other panels are drawn."""
    output = tmp_path / "x.json"
    data = write_file("r.json", {"panels": {"1": results(1)}})
    assert run_command(write_file("d.json", DASHBOARD), "-o", str(output), "--data", data) == 0
    assert report_of(output) == {
        1: ("drawn", ""),
        2: ("error", "no frames are recorded for query A of panel 2; add them to the file of --data"),
    }


@pytest.mark.parametrize(
    ("document", "data", "options", "message"),
    [
        ([], results(1), (), "must contain a dashboard"),
        (DASHBOARD, [], (), "has no results"),
        (DASHBOARD, {"panels": {"one": results(1)}}, (), "panel 'one', which is not the id of a panel"),
        (DASHBOARD, results(1), ("--width", "1"), "width: "),
        (DASHBOARD, results(1), ("--var", "node"), "--var 'node' is not NAME=VALUE"),
        (DASHBOARD, results(1), ("--panel", "9"), "the dashboard has no panel 9"),
        (DASHBOARD, results(1), ("-o", "x.gif"), "the extension of x.gif must be"),
    ],
)
def test_a_fault_is_reported(
    write_file: WriteFile,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    document: Any,
    data: Any,
    options: tuple[str, ...],
    message: str,
) -> None:
    """A wrong file or option ends with status 2 and a message that names it. No picture is written."""
    output = () if "-o" in options else ("-o", str(tmp_path / "x.png"))
    assert run_command(write_file("d.json", document), "--data", write_file("r.json", data), *output, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(("name", "content"), [("broken.json", "{"), ("broken.yaml", "a: [")])
def test_a_file_that_cannot_be_parsed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str) -> None:
    """A file with broken JSON or YAML ends with status 2 and a message with its path."""
    file = tmp_path / name
    file.write_text(content)
    assert run_command(str(file), "-o", str(tmp_path / "x.png")) == 2
    assert f"{file}: not valid " in capsys.readouterr().err


def test_a_watched_file_is_drawn_after_each_change(write_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is drawn again when its time or size changes. A file without a dashboard does not end the command."""
    file = write_file("d.json", DASHBOARD)
    output = tmp_path / "x.json"
    #: The ids of the panels in the picture at each pause.
    drawn_panels: list[list[int]] = []
    # No change, a file without a dashboard, and another dashboard.
    documents = iter([None, {}, DASHBOARD | {"panels": [panel(7)]}])

    def sleep(_: float) -> None:
        """Record the drawn panels and make the next change instead of a pause. After the last change, interrupt the command."""
        drawn_panels.append(list(report_of(output)))
        try:
            document = next(documents)
        except StopIteration:
            raise KeyboardInterrupt from None
        if document is not None:
            write_file("d.json", document)

    monkeypatch.setattr(time, "sleep", sleep)
    assert run_command(file, "-o", str(output), "--data", write_file("r.json", results(1)), "--watch") == 0
    assert drawn_panels == [[1, 2], [1, 2], [1, 2], [7]]


def test_an_interrupted_command_exits_with_130(write_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Ctrl-C interrupts the command before the picture is written, the exit status is 130, as in shells."""

    async def interrupted(*_: object) -> bytes:
        """Raise KeyboardInterrupt instead of drawing."""
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "draw_file", interrupted)
    assert run_command(write_file("d.json", DASHBOARD), "-o", str(tmp_path / "x.json")) == 130


@pytest.mark.parametrize("is_last", [False, True], ids=["before the options", "after the options"])
def test_standard_input_is_drawn(write_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_last: bool) -> None:
    """``-`` selects standard input, before or after the options."""
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(DASHBOARD)))
    output = tmp_path / "x.json"
    options = ("-o", str(output), "--data", write_file("r.json", results(1)))
    arguments = (*options, "-") if is_last else ("-", *options)
    assert run_command(*arguments) == 0
    assert list(report_of(output)) == [1, 2]


def test_standard_input_is_not_watched(write_file: WriteFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Watching standard input is refused, because it never changes."""
    assert run_command("-", "-o", str(tmp_path / "x.json"), "--data", write_file("r.json", results(1)), "--watch") == 2
    assert "--watch needs a file that changes" in capsys.readouterr().err


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """Yield a server whose responses are the path and the authorization of the request."""

    class Handler(BaseHTTPRequestHandler):
        """A handler of requests to the server."""

        def do_GET(self) -> None:
            """Respond with the request."""
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{self.path} {self.headers['Authorization']}".encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    http_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http_server.serve_forever)
    thread.start()
    yield http_server
    http_server.shutdown()
    thread.join()
    http_server.server_close()


def test_a_dashboard_of_a_server_is_downloaded(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    """The server receives the uid, the options and the variables in the URL, and the token. Its response is the output."""
    output = tmp_path / "x.svg"
    login = ("--url", f"http://127.0.0.1:{server.server_port}/grafana", "--token", "t")
    assert run_command("shop uid", "-o", str(output), "--from", "now-1h", "--var", "node=a&b", "--var", "node=c", "--expanded", *login) == 0
    path, _, authorization = output.read_text().partition(" ")
    assert path.startswith("/grafana/render/d/shop%20uid?from=now-1h&theme=dark&width=1000&scale=1.0&format=svg&rows=expanded")
    assert path.endswith("&var-node=a%26b&var-node=c")
    assert authorization == "Bearer t"


def test_a_server_draws_no_recorded_results(write_file: WriteFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded results are refused for a dashboard of a server, because the server queries its own data."""
    assert run_command("shop", "-o", str(tmp_path / "x.png"), "--data", write_file("r.json", results(1))) == 2
    assert "--data and --watch need a file" in capsys.readouterr().err

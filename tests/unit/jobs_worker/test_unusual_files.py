"""Unusual files, as in real repositories: each is synced, ignored, or an error."""

import re
from dataclasses import dataclass, field

import orjson
import pytest
from tests.unit.jobs_worker.doubles import REPOSITORY, Store, dashboard_file, run_sync

from dashwright.common.jobs.names import object_name
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID
from dashwright.common.models.provisioning import State

PLAYLIST = b"apiVersion: playlist.grafana.app/v0alpha1\nkind: Playlist\nmetadata: {name: p}\nspec: {title: P}\n"
DEPLOYMENT = b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
COMPOSE = b"x-base: &base {image: grafana}\nservices:\n  web:\n    <<: *base\n    ports: ['3000:3000']\n"
DOCUMENTS = b"kind: Service\napiVersion: v1\n---\nkind: Deployment\napiVersion: apps/v1\n"
DASHBOARDS = b"title: A\npanels: []\n---\ntitle: B\npanels: []\n"
HELM = b"{{- if .Values.enabled }}\nkind: Service\n{{- end }}\n"
TSCONFIG = b'// see https://aka.ms\n{\n  "compilerOptions": {"paths": {"@/*": ["./src/*"]}, /* a, ] */ "strict": true,},\n}\n'
OLD_DASHBOARD = orjson.dumps(
    {"title": "Old", "uid": "old", "schemaVersion": 8, "rows": [{"panels": [{"id": 1, "type": "graph", "title": "P"}]}]}
)
EXPORTED = orjson.dumps({"__inputs": [{"name": "DS", "type": "datasource"}], "title": "E", "uid": "exported", "panels": []})
WRAPPED_DASHBOARD = orjson.dumps(
    {"dashboard": {"id": None, "title": "W", "uid": "wrapped", "panels": []}, "folderId": 0, "overwrite": True}
)
FOLDER = b"apiVersion: folder.grafana.app/v1\nkind: Folder\nmetadata: {name: f}\nspec: {title: F}\n"
MANAGED_BY_ANOTHER = {MANAGED_BY: "repo", MANAGER_ID: "others"}


def resource_body(metadata: dict[str, object]) -> bytes:
    """Return the content of a file with a dashboard as a resource with this metadata."""
    return orjson.dumps(
        {"apiVersion": "dashboard.grafana.app/v1beta1", "kind": "Dashboard", "metadata": metadata, "spec": {"title": "N", "panels": []}}
    )


@dataclass(frozen=True)
class Row:
    """Files and the expected result of their sync."""

    files: dict[str, bytes]
    #: Names of the stored dashboards by path.
    dashboards: dict[str, str] = field(default_factory=dict)
    #: Paths of the stored folders.
    folders: set[str] = field(default_factory=set)
    #: A pattern for each error.
    errors: list[str] = field(default_factory=list)
    #: A pattern for each warning.
    warnings: list[str] = field(default_factory=list)
    #: Number of ignored files.
    ignored: int = 0


def named_dashboard(path: str) -> Row:
    """Return a row in which a file that names its dashboard is synced."""
    directory, _, _ = path.rpartition("/")
    folders = {directory} if directory else set()
    return Row({path: dashboard_file("x")}, dashboards={path: "x"}, folders=folders)


def dashboard_named_by_path(path: str, body: bytes) -> Row:
    """Return a row in which a file is synced whose dashboard is named after the path."""
    return Row({path: body}, dashboards={path: object_name(REPOSITORY, path)})


ROWS = {
    "an empty file": Row({"a.json": b"", "b.yaml": b"", "c.yml": b"# nothing\n", "d.json": b" \n"}, ignored=4),
    "a package": Row({"package.json": b'{"name": "app", "version": "1.0.0"}'}, ignored=1),
    "a compose file": Row({"docker-compose.yml": COMPOSE}, ignored=1),
    "a list": Row({"list.json": b"[1, 2]", "text.json": b'"a"', "null.yaml": b"null"}, ignored=3),
    "a badge and a manifest": Row({"badge.json": b'{"schemaVersion": 1, "label": "build"}', "schema.json": b'{"title": "S"}'}, ignored=2),
    "an interface description": Row({"api.json": b'{"openapi": "3.1.0", "tags": [], "info": {"title": "T"}}'}, ignored=1),
    "a configuration with comments": Row({"tsconfig.json": TSCONFIG}, ignored=1),
    "a template": Row({"chart.yaml": HELM}, warnings=["chart.yaml"], ignored=1),
    "documents of other programs": Row({"all.yaml": DOCUMENTS}, ignored=1),
    "a broken file": Row(
        {"broken.json": b'{"title": ', "b.yaml": b"a: [", "g.json": dashboard_file("g")},
        dashboards={"g.json": "g"},
        errors=["JSON", "YAML"],
    ),
    "a dashboard with comments": Row({"a.json": b'{"title": "T", "panels": [] /* none */}'}, errors=["not valid JSON"]),
    "no title": Row(
        {"a.json": b'{"uid": "a", "panels": []}', "g.json": dashboard_file("g")},
        dashboards={"g.json": "g"},
        errors=["title cannot be empty"],
    ),
    "a namespace of Grafana Cloud": Row({"a.json": resource_body({"name": "n", "namespace": "stacks-42"})}, dashboards={"a.json": "n"}),
    "the namespace of another organization": Row({"a.json": resource_body({"name": "n", "namespace": "org-9"})}, errors=["org-9"]),
    **{f"the name {part!r}": named_dashboard(f"{part}/{part}.json") for part in ["%20", *"()&+',#=;@![]{}~%<>:\"|?*`$^"]},
    "a space, two dots, emoji": named_dashboard("a b/v1..2 \N{ROCKET}\N{WOMAN}\u200d\N{PERSONAL COMPUTER}.json"),
    "encoded dots and slashes": Row(
        {path: dashboard_file("x") for path in ("a%2e.json", "b%2F.json", "c%252E.json", "%2e%2e/d.yml")},
        errors=["%2e", "%2e", "%2F", "%252E"],
    ),
    "control characters": Row(
        {"a\nb.json": dashboard_file("x"), "\N{RIGHT-TO-LEFT OVERRIDE}c.json": dashboard_file("y")}, errors=["invalid", "invalid"]
    ),
    "a step upwards": Row({"../a.json": dashboard_file("x"), "b/../c.json": dashboard_file("y")}, errors=["traversal", "traversal"]),
    "hidden, and a suffix in capitals": Row(
        {".hidden.json": dashboard_file("x"), "UP.JSON": dashboard_file("y"), ".github/w.yml": dashboard_file("z")}
    ),
    "a directory without resources": Row(
        {"docs/README.md": b"#", "src/package.json": b"{}", "empty/": b"", "/".join("a" * 20): b""}, ignored=1
    ),
    "eight directories": Row(
        {"1/2/3/4/5/6/7/8/x.json": dashboard_file("x")},
        dashboards={"1/2/3/4/5/6/7/8/x.json": "x"},
        folders={"1", "1/2", "1/2/3", "1/2/3/4", "1/2/3/4/5", "1/2/3/4/5/6", "1/2/3/4/5/6/7", "1/2/3/4/5/6/7/8"},
    ),
    "nine directories": Row(
        {"1/2/3/4/5/6/7/8/9/x.json": dashboard_file("x")}, errors=[r"9 directories, at most 8 .*DASHWRIGHT_FOLDER_DEPTH"]
    ),
    "two files with one uid": Row(
        {"dup1.json": dashboard_file("d", "One"), "dup2.json": dashboard_file("d", "Two")},
        dashboards={"dup1.json": "d"},
        errors=["dup2.json and dup1.json"],
    ),
    "a copy": Row(
        {"a.json": dashboard_file("d"), "z/a.json": dashboard_file("d")},
        dashboards={"z/a.json": "d"},
        folders={"z"},
        warnings=["copy of z/a.json"],
        ignored=1,
    ),
    "no uid": dashboard_named_by_path("cpu.json", b'{"title": "T", "panels": []}'),
    "generateName": dashboard_named_by_path("a.json", resource_body({"generateName": "cpu-"})),
    "schema version 8 with rows": Row({"old.json": OLD_DASHBOARD}, dashboards={"old.json": "old"}),
    "exported, and a request": Row(
        {"e.json": EXPORTED, "w.json": WRAPPED_DASHBOARD}, dashboards={"e.json": "exported", "w.json": "wrapped"}
    ),
    "several dashboards in a file": Row(
        {"two.yaml": DASHBOARDS}, errors=["document 1 at line 1: uid is missing.*document 2 at line 4: uid is missing"]
    ),
    "odd uids": Row(
        {"a.json": dashboard_file("u" * 57), "b.json": dashboard_file("a uid"), "c.json": dashboard_file("a/b")},
        errors=["'u{31}-[0-9a-f]{8}' is valid", "'a-uid' is valid", "'a-b' is valid"],
    ),
    "the annotation of a missing folder": Row(
        {"a.json": resource_body({"name": "n", "annotations": {"grafana.app/folder": "none"}})}, dashboards={"a.json": "n"}
    ),
    "a folder": Row({"f.yaml": FOLDER}, warnings=["folders come from directories and their _folder.json"], ignored=1),
    "other kinds": Row({"p.yaml": PLAYLIST, "d.yaml": DEPLOYMENT}, warnings=["Playlist of playlist.grafana.app/v0alpha1"], ignored=2),
    "a dashboard of another repository": Row({"t.json": dashboard_file("unrelated")}, errors=["managed by repo 'others'"]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
async def test_each_unusual_file_is_synced_ignored_or_an_error(row: Row) -> None:
    """Each file is synced, ignored or an error and does not affect the others. A second sync reports the same and writes nothing."""
    store = Store()
    store.store_unrelated("unrelated", MANAGED_BY_ANOTHER)
    progress = await run_sync(row.files, store)
    assert {path: write.key.name for path, write in store.dashboards().items() if path} == row.dashboards
    assert {path for path in store.folders() if path} == row.folders
    check_texts(progress.errors, row.errors)
    state, _ = progress.outcome
    expected_state = State.ERROR if row.errors else State.SUCCESS
    assert state is expected_state
    check_summary(progress, row)
    repeated = await run_sync(row.files, store)
    assert repeated.errors == progress.errors
    # Only the first sync has written, and only if it stored a dashboard.
    expected_writes = 1 if row.dashboards else 0
    assert len(store.applied) == expected_writes
    check_summary(repeated, row)


def check_summary(progress: JobProgress, row: Row) -> None:
    """Check the numbers of ignored files and warnings, and the warnings themselves."""
    entries = [entry for entry in progress.summary() if entry.resource == "dashboards"]
    if not entries:
        assert row.ignored == 0
        assert row.warnings == []
        return
    (entry,) = entries
    assert entry.ignored == row.ignored
    assert entry.warning == len(row.warnings)
    check_texts(entry.warnings or [], row.warnings)


def check_texts(texts: list[str], patterns: list[str]) -> None:
    """Check that there are as many texts as patterns, and that each pattern matches a text."""
    assert len(texts) == len(patterns), texts
    for pattern in patterns:
        assert any(re.search(pattern, text) for text in texts), (pattern, texts)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'{"apiVersion": "x.grafana.app/v1", "kind": "X"}', id="kind"),
        pytest.param(b"// nothing\n{}", id="comments"),
    ],
)
async def test_a_file_that_loses_its_dashboard_is_an_error(body: bytes) -> None:
    """A file without its former dashboard is an error that keeps the stored object. A deleted file deletes the object."""
    store = Store()
    await run_sync({"a/x.json": dashboard_file("x")}, store)
    progress = await run_sync({"a/x.json": body}, store)
    assert re.search(r"'x' is stored from it: delete the file", progress.errors[0])
    assert set(store.dashboards()) == {"a/x.json"}
    assert (await run_sync({"a/y.md": b""}, store)).error_count == 0
    assert store.dashboards() == {}


async def test_a_copy_takes_over() -> None:
    """If the original file is deleted, the object belongs to its copy. A new file with the same uid and other content is an error."""
    store = Store()
    await run_sync({"a/1.json": dashboard_file("n"), "b/1.json": dashboard_file("n")}, store)
    assert (await run_sync({"b/1.json": dashboard_file("n")}, store)).error_count == 0
    assert set(store.dashboards()) == {"b/1.json"}
    progress = await run_sync({"a/1.json": dashboard_file("n"), "b/1.json": dashboard_file("n", "New")}, store)
    assert progress.errors == ["duplicate resource name: n, a/1.json and b/1.json (file: a/1.json, name: n, action: create)"]

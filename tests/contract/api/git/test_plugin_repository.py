"""Syncs of a repository like that of a Grafana plugin, with sources, packages and configurations next to its dashboards."""

import json
from urllib.parse import quote

import pytest
from tests.contract.api.conftest import ADMIN
from tests.contract.api.git.sync_environment import REPOSITORIES, SyncEnvironment, dashboard, is_healthy

from dashwright.api.workers import picture_client
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES

#: A dashboard that a later commit copies, as the build of a plugin does.
HOME = dashboard("home", "Home")
#: Files by path. Only those below ``dashboards/`` are dashboards.
FIRST_COMMIT = {
    "package.json": '{"name": "monitoring-dashboards", "version": "3.1.0", "private": true}',
    "docker-compose.yml": "x-base: &base {image: grafana}\nservices:\n  web:\n    <<: *base\n",
    "codecov.yml": "coverage:\n  status: {project: off}\n",
    ".github/workflows/build.yml": "on:\n  push:\n---\nbroken: [",
    ".vscode/settings.json": "{ // comments\n}",
    ".prettierrc": "{",
    "README.md": "# Dashboards",
    "misc/cleanup-dash.py": "print(1)",
    "misc/__init__.py": "",
    "dashboards/MySQL/MySQL_Instance_Summary.json": dashboard("mysql-instance", "MySQL Instance Summary"),
    "dashboards/OS/CPU_Utilization_Details.json": json.dumps(
        {"title": "CPU", "schemaVersion": 14, "rows": [{"title": "Row", "panels": [{"id": 1, "type": "graph", "title": "P"}]}]}
    ),
    "dashboards/Insight/Home_Dashboard.json": HOME,
    "pmm-app/package.json": '{"name": "pmm-app", "scripts": {}}',
    "pmm-app/tsconfig.json": '{\n  // paths of the toolkit\n  "include": ["src", "types",],\n  "compilerOptions": {}\n}\n',
    "pmm-app/src/plugin.json": '{"type": "app", "name": "PMM", "id": "pmm-app", "includes": [{"type": "dashboard", "name": "Home"}]}',
    "pmm-app/src/pmm-check/stub.json": '[{"labels": {"severity": "error"}}]',
    "pmm-app/src/onboard/components/TipsContainer/data/very/deep/below/tips.json": '{"tips": []}',
    "pmm-app/src/onboard/components/Tips.tsx": "export {}",
    "pmm-app/tests/ia/templates/template.yml": "---\ntemplates:\n  - name: rule\n    expr: '[[ .threshold ]]'\n",
    "pmm-app/tests/ia/templates/empty.json": "",
    "pmm-app/chart/templates/service.yaml": "{{- if .Values.on }}\nkind: Service\n{{- end }}\n",
}
#: Changed files of each commit: names with special characters, a copy, a large file, deletions, and a move.
LATER_COMMITS: list[dict[str, str | None]] = [
    {
        "dashboards/Experimental/MongoDB_ReplSet_Summary_(New).json": dashboard("mongo-new", "MongoDB (new)"),
        "dashboards/Kubernetes (experimental)/Kubernetes_Pods_Status.json": dashboard("pods", "Pods"),
        "dashboards/Experimental/MongoDB Instance & + ' , # = ; @ ! [a] {b} ~ %20 (new)-17.json": dashboard("odd", "Odd"),
    },
    {"pmm-app/dist/dashboards/Home_Dashboard.json": HOME, "pmm-app/dist/plugin.json": "{}"},
    {"dashboards/MySQL/Large.json": dashboard("large", "x" * 4000).replace("}", " " * (MAX_FILE_BYTES - 10_000) + "}", 1)},
    {"dashboards/Insight/Home_Dashboard.json": None, "pmm-app/package.json": None},
    {
        "dashboards/Experimental/MongoDB_ReplSet_Summary_(New).json": None,
        "dashboards/MySQL/MongoDB_(New).json": dashboard("mongo-new", "Moved"),
    },
]


async def stored_folders(environment: SyncEnvironment) -> set[str]:
    """Return the paths of the stored folders, without that of the repository."""
    paths_json = await environment.api.sql("select coalesce(json_agg(source_path), '[]')::text from resource where resource = 'folders'")
    return {path for path in json.loads(paths_json) if path}


async def stored_dashboards(environment: SyncEnvironment) -> dict[str, str]:
    """Return the names of the stored dashboards by path."""
    rows_json = await environment.api.sql(
        "select coalesce(json_object_agg(source_path, name), '{}')::text from resource where resource = 'dashboards'"
    )
    names_by_path: dict[str, str] = json.loads(rows_json)
    return names_by_path


async def allow_writes(environment: SyncEnvironment) -> None:
    """Add the workflow ``write`` to the repository."""
    _, team = await environment.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["workflows"] = ["write"]
    assert (await environment.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200


async def test_every_commit_is_synced(environment: SyncEnvironment) -> None:
    """After each commit, the repository is healthy. Only files with dashboards, and folders with such files, are stored."""
    environment.work_tree.commit(dict(FIRST_COMMIT))
    await environment.create_repository()
    assert is_healthy(await environment.status()), await environment.errors()
    assert set(await stored_dashboards(environment)) == {path for path in FIRST_COMMIT if path.startswith("dashboards/")}
    assert await stored_folders(environment) == {"dashboards", "dashboards/MySQL", "dashboards/OS", "dashboards/Insight"}
    for files in LATER_COMMITS:
        environment.work_tree.commit(dict(files))
        assert is_healthy(await environment.advance()), await environment.errors()
    assert (await stored_dashboards(environment))["pmm-app/dist/dashboards/Home_Dashboard.json"] == "home"
    dashboards_before, folders_before = await stored_dashboards(environment), await stored_folders(environment)
    await environment.rename("Next sync is full")
    assert is_healthy(await environment.advance())
    status = json.loads(await environment.api.sql("select status from job order by created_at desc limit 1"))
    summary = next(entry for entry in status["summary"] if entry["resource"] == "dashboards")
    assert await stored_dashboards(environment) == dashboards_before
    assert await stored_folders(environment) == folders_before
    # The JSON and YAML files without a dashboard are ignored. The template of a chart, which is not YAML, is a warning, too.
    assert summary["ignored"] == 11
    assert summary["warning"] == 1
    assert summary["error"] == 0


async def test_any_name_is_reached_over_http(environment: SyncEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose name has special characters can be read, edited, previewed and deleted by its path, and has a history."""
    # No expressions worker runs, so the preview would wait for its pictures until the time-out.
    monkeypatch.setattr(picture_client, "TIMEOUT_SECONDS", 0.01)
    environment.work_tree.commit(dict(FIRST_COMMIT))
    await environment.create_repository()
    await allow_writes(environment)
    environment.work_tree.commit(dict(LATER_COMMITS[0]))
    assert is_healthy(await environment.advance())
    path = next(path for path in LATER_COMMITS[0] if "%20" in path)
    quoted_path = quote(path, safe="/")
    _, body = await environment.api("GET", f"{REPOSITORIES}/team/files/{quoted_path}")
    assert body["path"] == path
    assert body["resource"]["file"]["metadata"]["name"] == "odd"
    status, edited = await environment.api("PUT", f"{REPOSITORIES}/team/files/{quoted_path}", json.loads(dashboard("odd", "Edited")))
    assert status == 200
    assert "errors" not in edited
    _, history = await environment.api("GET", f"{REPOSITORIES}/team/history/{quoted_path}")
    assert len(history["items"]) == 2
    assert (await environment.titles())["odd"] == "Edited"
    async with environment.api.session.get(f"/preview/team/{quoted_path}", headers={"Authorization": ADMIN}) as page:
        assert page.status == 200
        assert "&amp; + &#39; , # = ; @ ! [a] {b} ~ %20" in await page.text()
    assert (await environment.api("DELETE", f"{REPOSITORIES}/team/files/{quoted_path}"))[0] == 200
    assert "odd" not in await environment.titles()


async def test_patterns_choose_the_files(environment: SyncEnvironment) -> None:
    """Changed patterns cause a full sync, which stores only the selected files. Files that are not selected cannot be written."""
    environment.work_tree.commit({**FIRST_COMMIT, "pmm-app/dist/dashboards/Home_Dashboard.json": dashboard("home", "Another")})
    await environment.create_repository()
    await allow_writes(environment)
    # Two files have dashboards with one name, until the patterns exclude one of them.
    assert (await environment.status())["sync"]["state"] == "error"
    await environment.change(exclude=["pmm-app/dist/", "**/OS/**"])
    status = await environment.advance()
    assert is_healthy(status)
    assert not status["sync"]["incremental"]
    assert set(await stored_dashboards(environment)) == {
        "dashboards/MySQL/MySQL_Instance_Summary.json",
        "dashboards/Insight/Home_Dashboard.json",
    }
    assert await stored_folders(environment) == {"dashboards", "dashboards/MySQL", "dashboards/Insight", "pmm-app"}
    code, error = await environment.api("POST", f"{REPOSITORIES}/team/files/dashboards/OS/x.json", json.loads(dashboard("x", "X")))
    assert code == 400
    assert "not selected by include and exclude" in error["message"]
    await environment.change(include=["dashboards/Insight/"], exclude=[])
    assert is_healthy(await environment.advance())
    assert set(await stored_dashboards(environment)) == {"dashboards/Insight/Home_Dashboard.json"}
    assert await stored_folders(environment) == {"dashboards", "dashboards/Insight"}

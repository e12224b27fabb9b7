"""Files in a folder become dashboards that clients read, through real processes."""

from tests.acceptance import dashboard_files
from tests.acceptance.client import DASHBOARDS, PROVISIONING, Client, counts
from tests.acceptance.processes import Stack


async def test_a_sync_follows_the_files_of_a_folder(stack: Stack, client: Client) -> None:
    """The first sync creates all objects, the second changes none, a changed file is an update, and a removed file a deletion."""
    names = dashboard_files.make_team(stack.repositories / "team")
    await client.create_repository("team", "team")

    status = await client.sync_and_wait("team")
    assert status["state"] == "success"
    assert status["message"] == "completed successfully"
    assert status["progress"] == 100
    assert counts(status, "dashboards") == {"total": 21, "create": 21, "write": 21}
    assert counts(status, "folders") == {"total": 8, "create": 8, "write": 8}
    dashboards, folders = await client.dashboards(), await client.folders()
    assert sorted(dashboards) == sorted(names)
    # The eight folders of directories, and the root folder of the repository.
    assert len(folders) == 9
    assert folders["team"]["spec"]["title"] == "Team"
    titles = {name: folder["spec"]["title"] for name, folder in folders.items()}
    annotations = dashboards["shop-prod-0"]["metadata"]["annotations"]
    assert titles[annotations["grafana.app/folder"]] == "prod"
    assert annotations["grafana.app/managerId"] == "team"
    assert annotations["grafana.app/sourcePath"] == "shop/prod/shop-prod-0.json"

    status = await client.sync_and_wait("team")
    assert status["state"] == "success"
    assert status["message"] == "no changes to sync"
    assert counts(status, "dashboards") == {"total": 21, "noop": 21}
    assert counts(status, "folders") == {"total": 8, "noop": 8}
    assert await client.dashboards() == dashboards

    dashboard_files.write(stack.repositories / "team/shop/prod/shop-prod-0.json", dashboard_files.classic("shop-prod-0", "New title"))
    assert counts(await client.sync_and_wait("team"), "dashboards") == {"total": 21, "update": 1, "write": 1, "noop": 20}
    changed = await client.call("GET", f"{DASHBOARDS}/shop-prod-0")
    assert changed["spec"]["title"] == "New title"
    assert changed["metadata"]["generation"] == 2

    (stack.repositories / "team/shop/prod/shop-prod-0.json").unlink()
    assert counts(await client.sync_and_wait("team"), "dashboards") == {"total": 21, "delete": 1, "noop": 20}
    assert sorted(await client.dashboards()) == sorted(set(names) - {"shop-prod-0"})

    repository = await client.call("GET", f"{PROVISIONING}/repositories/team")
    assert repository["status"]["sync"]["state"] == "success"
    assert repository["status"]["health"]["healthy"]
    assert {item["resource"]: item["count"] for item in repository["status"]["stats"]} == {"dashboards": 20, "folders": 9}


async def test_a_bad_file_does_not_stop_the_others(stack: Stack, client: Client) -> None:
    """Broken files, and the second of two files with one dashboard name, are errors of the sync. The other files are synced."""
    root = stack.repositories / "mixed"
    dashboard_files.write(root / "good.json", dashboard_files.classic("good", "Good"))
    (root / "broken.json").write_text('{"title": ')
    (root / "broken.yaml").write_text("apiVersion: [")
    dashboard_files.write(root / "a.json", dashboard_files.classic("twin", "A"))
    dashboard_files.write(root / "b.json", dashboard_files.classic("twin", "B"))
    await client.create_repository("mixed", "mixed")
    status = await client.sync_and_wait("mixed")
    assert status["state"] == "error"
    assert status["message"] == "completed with errors"
    assert counts(status, "dashboards") == {"total": 5, "create": 2, "write": 2, "error": 3}
    errors = "\n".join(status["errors"])
    assert "broken.json" in errors
    assert "broken.yaml" in errors
    assert "duplicate resource name: twin" in errors
    assert sorted(await client.dashboards()) == ["good", "twin"]


async def test_a_job_is_found_by_name_and_uid_after_it_ended(stack: Stack, client: Client) -> None:
    """An ended job is in the list of jobs of its repository and can be read by its uid. An invalid uid gets 400, an unknown one 404."""
    dashboard_files.write(stack.repositories / "r/a.json", dashboard_files.classic("a", "A"))
    await client.create_repository("r", "r")
    job = await client.wait_for_job(await client.sync("r"))
    uid = job["metadata"]["uid"]
    jobs = f"{PROVISIONING}/repositories/r/jobs"
    assert await client.call("GET", f"{jobs}/{uid}") == job
    assert [item["metadata"]["uid"] for item in (await client.call("GET", jobs))["items"]] == [uid]
    assert (await client.call("GET", f"{jobs}/none", status=400))["message"] == "invalid job uid: none"
    await client.call("GET", f"{jobs}/00000000-0000-4000-8000-000000000000", status=404)


async def test_deleting_a_repository_deletes_its_objects(stack: Stack, client: Client) -> None:
    """Dashboards and folders of a deleted repository are deleted, and those of other repositories are kept."""
    for name in ("one", "two"):
        dashboard_files.write(stack.repositories / name / f"{name}.json", dashboard_files.classic(name, name))
        await client.create_repository(name, name)
        await client.sync_and_wait(name)
    await client.call("DELETE", f"{PROVISIONING}/repositories/one")
    assert list(await client.dashboards()) == ["two"]
    assert list(await client.folders()) == ["two"]

"""Files are told with what the rules find in their dashboards, by the configuration of the commit that they are read at."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.api.calls import Calls
from tests.contract.api.conftest import Api
from tests.contract.api.test_files_read_by_the_worker import local
from tests.contract.api.test_sync_from_git import dashboard, repository
from tests.servers.git import GitServer

from dashwright.common.messaging.memory import MemoryBroker

RULE = "uneditable-dashboard"


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    async with Calls(broker, "team") as calls:
        yield calls


async def severities(calls: Calls, ref: str = "") -> list[tuple[str, str]]:
    shown = (await calls.file("a.json", ref)).wrapper
    assert shown.errors is None
    return [(issue.rule, issue.severity.value) for issue in shown.lint or []]


async def test_the_configuration_is_that_of_the_commit(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    assert await severities(calls) == [(RULE, "warning")]
    work.commit({".dashboard-lint": f"warnings:\n  {RULE}:\n"}, branch="other")
    work.commit({".dashboard-lint": f"exclusions:\n  {RULE}:\n    reason: it is edited through here\n"})
    assert await severities(calls) == []
    assert await severities(calls, "other") == [(RULE, "warning")]
    assert await severities(calls, first) == [(RULE, "warning")]


async def test_a_configuration_that_cannot_be_read_is_an_issue(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """The file is told as ever, and the rules find what they find without one."""
    folder = await local(git_api, tmp_path)
    (folder / "a.json").write_text(dashboard("a", "A"))
    (folder / ".dashboard-lint").write_text("exclusions: [")
    assert await severities(calls) == [("dashboard-lint", "error"), (RULE, "warning")]
    (folder / ".dashboard-lint").unlink()
    (folder / ".dashboard-lint").symlink_to("a.json")
    assert await severities(calls) == [("dashboard-lint", "error"), (RULE, "warning")]


async def test_a_misspelt_key_of_the_configuration_is_an_issue(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """A warning; the rest of the configuration counts."""
    folder = await local(git_api, tmp_path)
    (folder / "a.json").write_text(dashboard("a", "A"))
    (folder / ".dashboard-lint").write_text(f"warnigs: {{}}\nexclusions:\n  {RULE}:\n")
    assert await severities(calls) == [("dashboard-lint", "warning")]


async def test_what_is_no_dashboard_has_no_issues(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    folder = await local(git_api, tmp_path)
    (folder / "a.json").write_text("{")
    shown = (await calls.file("a.json")).wrapper
    assert shown.errors
    assert shown.lint is None

"""Lint of dashboards in repositories. A file is returned with its lint issues, by the lint configuration at its commit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.file_calls import Calls
from tests.contract.api.test_files_read_by_the_worker import make_local_repository
from tests.contract.api.test_sync_from_git import create_repository, dashboard
from tests.servers.git import GitServer

from dashwright.common.messaging.memory import MemoryBroker

#: A lint rule that the dashboards of these tests break.
RULE = "uneditable-dashboard"


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    """Yield the calls about the files of the repository ``team``."""
    async with Calls(broker, "team") as calls:
        yield calls


async def severities(calls: Calls, ref: str = "") -> list[tuple[str, str]]:
    """Return rule and severity of each lint issue of the file ``a.json``."""
    wrapper = (await calls.file("a.json", ref)).wrapper
    assert wrapper.errors is None
    return [(issue.rule, issue.severity.value) for issue in wrapper.lint or []]


async def test_the_configuration_is_that_of_the_commit(git_api: Api, git_server: GitServer, calls: Calls) -> None:
    """Lint uses the configuration at the ref of the file."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    assert await severities(calls) == [(RULE, "warning")]
    work_tree.commit({".dashboard-lint": f"warnings:\n  {RULE}:\n"}, branch="other")
    work_tree.commit({".dashboard-lint": f"exclusions:\n  {RULE}:\n    reason: it is edited through here\n"})
    assert await severities(calls) == []
    assert await severities(calls, "other") == [(RULE, "warning")]
    assert await severities(calls, first) == [(RULE, "warning")]


async def test_an_invalid_configuration_is_an_issue(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """A configuration that is invalid or a symbolic link is an issue. The file is then linted by the default rules."""
    folder = await make_local_repository(git_api, tmp_path)
    (folder / "a.json").write_text(dashboard("a", "A"))
    (folder / ".dashboard-lint").write_text("exclusions: [")
    assert await severities(calls) == [("dashboard-lint", "error"), (RULE, "warning")]
    (folder / ".dashboard-lint").unlink()
    (folder / ".dashboard-lint").symlink_to("a.json")
    assert await severities(calls) == [("dashboard-lint", "error"), (RULE, "warning")]


async def test_a_misspelt_key_of_the_configuration_is_an_issue(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """A misspelt key is a warning, and the other keys apply."""
    folder = await make_local_repository(git_api, tmp_path)
    (folder / "a.json").write_text(dashboard("a", "A"))
    (folder / ".dashboard-lint").write_text(f"warnigs: {{}}\nexclusions:\n  {RULE}:\n")
    assert await severities(calls) == [("dashboard-lint", "warning")]


async def test_an_invalid_file_is_not_linted(git_api: Api, tmp_path: Path, calls: Calls) -> None:
    """A file that cannot be parsed has errors instead of lint issues."""
    folder = await make_local_repository(git_api, tmp_path)
    (folder / "a.json").write_text("{")
    wrapper = (await calls.file("a.json")).wrapper
    assert wrapper.errors
    assert wrapper.lint is None

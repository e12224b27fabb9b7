"""The check of the git program's version, which each worker repeats until it passes."""

import os
from pathlib import Path

import pytest

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git.command import GitProgram


def install(folder: Path, version: str) -> Path:
    """Install a git program that prints a version. Return the path of a file to which each run appends a line."""
    program, runs = folder / "git", folder / "runs"
    program.write_text(f"#!/bin/sh\necho run >> '{runs}'\necho 'git version {version}'\n")
    program.chmod(0o755)
    return runs


async def test_an_outdated_git_is_reported_until_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker checks the version before each use until it is sufficient, without a restart, and not afterwards."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = GitProgram()
    install(tmp_path, "2.36.9")
    # Each of two uses checks the version.
    for _ in range(2):
        with pytest.raises(SourceFailed, match=r"git 2\.37 or newer is needed .* 'git version 2\.36\.9"):
            await program.require(tmp_path)
    runs = install(tmp_path, "2.37.0")
    before = len(runs.read_text().splitlines())
    # Only the first of two uses checks it.
    for _ in range(2):
        await program.require(tmp_path)
    assert len(runs.read_text().splitlines()) == before + 1


async def test_each_worker_checks_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result of one worker's check is not used by another worker."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    install(tmp_path, "2.40.1")
    await GitProgram().require(tmp_path)
    install(tmp_path, "1.9.0")
    with pytest.raises(SourceFailed, match="newer is needed"):
        await GitProgram().require(tmp_path)

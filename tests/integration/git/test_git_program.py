"""The version of the git program: asked for until it will do, by each worker for itself."""

import os
from pathlib import Path

import pytest

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git.command import Program


def install(folder: Path, version: str) -> Path:
    """A program that tells a version; each run of it leaves a line in the file."""
    program, runs = folder / "git", folder / "runs"
    program.write_text(f"#!/bin/sh\necho run >> '{runs}'\necho 'git version {version}'\n")
    program.chmod(0o755)
    return runs


async def test_a_git_that_is_too_old_is_named_until_there_is_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to start the worker again; then it is asked no more."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = Program()
    install(tmp_path, "2.36.9")
    for _ in range(2):
        with pytest.raises(SourceFailed, match=r"git 2\.37 or newer is needed .* 'git version 2\.36\.9"):
            await program.require(tmp_path)
    runs = install(tmp_path, "2.37.0")
    before = len(runs.read_text().splitlines())
    for _ in range(2):
        await program.require(tmp_path)
    assert len(runs.read_text().splitlines()) == before + 1


async def test_what_one_worker_found_is_no_other_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looks for itself."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    install(tmp_path, "2.40.1")
    await Program().require(tmp_path)
    install(tmp_path, "1.9.0")
    with pytest.raises(SourceFailed, match="newer is needed"):
        await Program().require(tmp_path)

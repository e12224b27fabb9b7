"""Names of branches: names that git rejects are rejected before git is called."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.kinds.branches import is_branch


@pytest.mark.parametrize(
    "name", ["main", "a", "feature.add.tests", "feature_add_tests", "team/x/y", "ünïcode", "v1.2", "a@b", "refs", "a/refs/b", "HEADS"]
)
def test_names_that_git_accepts_are_valid(name: str) -> None:
    """A name that git accepts as the name of a branch is valid."""
    assert is_branch(name)


INVALID_NAMES = [
    "", " ", "feature.", "feature ", "feature//branch", "feature..branch", "feature@{branch", "feature^branch", "feature:branch",
    "feature*branch", "feature[branch", "feature]branch", "feature\\branch", "feature.lock", "a/b.lock/c", "-x", "/x", "x/", ".x",
    "a/.b", "@", "a\tb", "a\x7fb", "a~1", "a?b",
    # References that are not branches.
    "HEAD", "refs/heads/main", "refs/x",
    # Too long.
    "x" * 256,
]  # fmt: skip


@pytest.mark.parametrize("name", INVALID_NAMES, ids=repr)
def test_names_that_git_or_its_clients_refuse_are_invalid(name: str) -> None:
    """A name that git refuses, that looks like another reference, or that is too long is invalid."""
    assert not is_branch(name)


# Characters with a meaning in git, and those of the forbidden suffix ``.lock``.
@given(st.text(alphabet="ab./@{-~ \\:lock", min_size=1, max_size=12))
def test_accepted_names_are_valid_for_git(name: str) -> None:
    """The program ``git`` accepts each accepted name."""
    if is_branch(name):
        assert subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False).returncode == 0

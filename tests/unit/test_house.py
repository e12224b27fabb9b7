"""The rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for room in ("libs", "services") for path in (ROOT / room).rglob("*.py"))
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
LONGEST_MODULE = 400
VAGUE = {"utils.py", "helpers.py", "core.py", "manager.py", "base.py", "misc.py"}


def test_the_import_law_is_kept() -> None:
    """Every contract of .importlinter holds."""
    done = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_package_says_what_may_live_there(path: Path) -> None:
    """A package's docstring is its rule."""
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_modules_are_small_and_named_for_what_they_hold() -> None:
    """No module is longer than 400 lines, none is a drawer, each says why it exists."""
    for path in SOURCES:
        text = path.read_text()
        assert len(text.splitlines()) <= LONGEST_MODULE, path
        assert path.name not in VAGUE, path
        assert not text or ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


def test_the_namespace_is_shared() -> None:
    """dashwright itself is no package, so that every distribution can bring its part."""
    assert not list(ROOT.glob("*/*/src/dashwright/__init__.py"))


def test_locked_requirements_name_hashes_and_no_address() -> None:
    """Each locked package has hashes; no file names a registry."""
    for path in ROOT.glob("requirements/*.txt"):
        text = path.read_text()
        assert "://" not in text, path
        pinned = re.findall(r"^\S+==\S+", text, re.MULTILINE)
        hashed = re.findall(r"^\S+==.*\\\n    --hash=", text, re.MULTILINE)
        assert len(pinned) == len(hashed) > 0, path


def test_no_test_sleeps() -> None:
    """Tests wait for events, not for time: time.sleep does not occur."""
    for path in (ROOT / "tests").rglob("*.py"):
        assert "time" + ".sleep(" not in path.read_text(), path

"""Property tests use the same examples in each run."""

import importlib.util
import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies
from hypothesis.internal.conjecture import providers
from tests import examples


def test_loaded_modules_do_not_change_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is imported between two runs of a property test does not change the examples."""
    # ``fix_examples`` replaces this function for the process; the monkeypatch restores it after the test.
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)
    examples.fix_examples()
    before = _draw_examples()
    path = tmp_path / "strange.py"
    path.write_text(f"CONSTANTS = {[str(index) for index in range(1000, 1100)]}\n")
    spec = importlib.util.spec_from_file_location("strange", path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "strange", importlib.util.module_from_spec(spec))
    assert _draw_examples() == before


def _draw_examples() -> list[str]:
    """Return the examples of a property test."""
    texts: list[str] = []

    @hypothesis.settings(derandomize=True, database=None, max_examples=200)
    @hypothesis.given(strategies.text())
    def draw(text: str) -> None:
        texts.append(text)

    draw()
    return texts

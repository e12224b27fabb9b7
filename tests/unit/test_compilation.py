"""Compilation of test modules before their import."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from tests import compilation


def test_pytest_uses_the_compiled_module(pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pytest does not compile a compiled test module again."""
    module = tmp_path / "test_sum.py"
    module.write_text("assert 1 + 1 == 2\n")
    compilation.rewrite_assertions(module, pytestconfig)
    # Pytest cannot call None, so a compilation would fail.
    monkeypatch.setattr(rewrite, "_rewrite_test", None)
    specification = spec_from_file_location("test_sum", module)
    assert specification is not None
    hook = rewrite.AssertionRewritingHook(pytestconfig)
    hook.exec_module(module_from_spec(specification))

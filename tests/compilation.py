"""Compilation of modules before a run, shared between its workers.

Every worker imports all modules in the same order. Without this plugin, each worker of a new clone would compile every module, and
rewrite the assertions of every test module.
"""

import compileall
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir

_ROOT = Path(__file__).parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Compile the share of this worker. A module that another worker has not compiled yet is compiled at its import."""
    workerinput = getattr(session.config, "workerinput", None)
    if workerinput is None or sys.dont_write_bytecode:
        return
    index, count = int(workerinput["workerid"].removeprefix("gw")), workerinput["workercount"]
    for source in _sources("libs/*/src", "services/*/src")[index::count]:
        compileall.compile_file(source, quiet=2)
    for source in _test_modules(session.config)[index::count]:
        rewrite_assertions(source, session.config)


def _sources(*folders: str) -> list[Path]:
    """Return the modules of the product, in the same order in each worker."""
    return sorted(source for pattern in folders for folder in _ROOT.glob(pattern) for source in folder.rglob("*.py"))


def _test_modules(config: pytest.Config) -> list[Path]:
    """Return the test modules in the directories of the run, in the same order in each worker."""
    return sorted(source for argument in config.args for source in Path(argument).rglob("test_*.py"))


def rewrite_assertions(source: Path, config: pytest.Config) -> None:
    """Write the compiled form of a test module to the cache of pytest, unless it is cached already."""
    compiled = get_cache_dir(source) / (source.stem + PYC_TAIL)
    if _read_pyc(source, compiled) is None:
        compiled.parent.mkdir(exist_ok=True)
        digest, code = _rewrite_test(source, config)
        _write_pyc(config.stash[assertstate_key], code, digest, compiled)

"""Imports at the start of a service, which take most of the time until the service is ready."""

import gc
import json
import subprocess
import sys
from contextlib import suppress

import pytest

from dashwright.common.imports import without_garbage_collection


@pytest.mark.parametrize("module", ["api.__main__", "jobs_worker.__main__", "expressions.__main__", "standalone.serve"])
def test_entry_points_import_their_service_without_garbage_collection(module: str) -> None:
    """The module of an entry point imports neither its service nor libraries. Its function imports them, without garbage collection."""
    assert not _imported_modules(f"dashwright.{module}") & {"pydantic", "aiohttp", "asyncpg", "structlog", "dashwright.common.settings"}


#: A program in which the engine is warmed up while another thread parses its first statement. Threads switch after each microsecond.
_TWO_FIRST_USES = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sql.engine import SqlEngine
sys.setswitchinterval(1e-6)
engine, both = SqlEngine(Limits(), slots=1), threading.Barrier(2)
with ThreadPoolExecutor() as pool:
    warming = pool.submit(lambda: (both.wait(), engine.warm(60)))
    parsing = pool.submit(lambda: (both.wait(), engine.parse("select 1", "A")))
engine.stop()
warming.result(), parsing.result()
"""


@pytest.mark.exhaustive
def test_threads_import_the_parser_of_sql_completely() -> None:
    """A statement that arrives while the engine warms up is parsed, although the modules of the parser import each other in a cycle."""
    subprocess.run([sys.executable, "-c", _TWO_FIRST_USES], check=True)


@pytest.mark.exhaustive
def test_expressions_import_no_parser_of_sql() -> None:
    """The service of expressions starts without importing sqlglot, because most workers run no SQL statement."""
    loaded = _imported_modules("dashwright.expressions.main")
    assert "dashwright.expressions.sql.engine" in loaded
    assert not loaded & {"sqlglot", "duckdb", "resvg"}


def test_collections_are_switched_on_again() -> None:
    """Garbage is collected again after the imports of a start, even if an import failed."""
    frozen_count = gc.get_freeze_count()
    with suppress(ImportError), without_garbage_collection():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
    # The imported modules are exempt from later collections.
    assert gc.get_freeze_count() > frozen_count


def _imported_modules(module: str) -> set[str]:
    """Return the modules that importing ``module`` imports."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(process.stdout))

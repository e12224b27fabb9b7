"""Rules of the source tree that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.product_modules import ROOT, ProductModule, module_paths, parse_module

SOURCES = module_paths()
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
LONGEST_MODULE = 400
VAGUE_MODULE_NAMES = {"utils.py", "helpers.py", "core.py", "manager.py", "base.py", "misc.py"}


def test_the_import_contracts_hold() -> None:
    """Every contract of .importlinter holds."""
    process = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-3000:]


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_package_has_a_docstring(path: Path) -> None:
    """Each package has a docstring, which says what belongs into the package."""
    assert ast.get_docstring(parse_module(path).tree)


def test_modules_are_small_and_named_for_their_content() -> None:
    """No module is longer than 400 lines or has a catch-all name, and each has a docstring."""
    for path in SOURCES:
        source = parse_module(path)
        assert len(source.text.splitlines()) <= LONGEST_MODULE, path
        assert path.name not in VAGUE_MODULE_NAMES, path
        assert not source.text or ast.get_docstring(source.tree), f"{path} has no docstring"


def test_the_namespace_is_shared() -> None:
    """``dashwright`` itself has no ``__init__.py``, so that every distribution can add a package."""
    assert not list(ROOT.glob("*/*/src/dashwright/__init__.py"))


def test_locked_requirements_name_hashes_and_no_address() -> None:
    """Each locked package has a version and hashes, and no file names the address of a registry."""
    for path in ROOT.glob("requirements/*.txt"):
        text = path.read_text()
        assert "://" not in text, path
        pinned = re.findall(r"^\S+==\S+", text, re.MULTILINE)
        hashed = re.findall(r"^\S+==.*\\\n    --hash=", text, re.MULTILINE)
        assert len(pinned) == len(hashed) > 0, path


def test_no_test_sleeps() -> None:
    """Tests wait for events, not for time: time.sleep does not occur."""
    # The string is divided, so that this module does not contain it.
    for path in (ROOT / "tests").rglob("*.py"):
        assert "time" + ".sleep(" not in path.read_text(), path


def test_common_contains_what_two_services_import() -> None:
    """A module of libs/common is imported, directly or not, by at least two services."""
    graph = {path: _imports(parse_module(path)) for path in SOURCES}
    common = {parse_module(path).module: path for path in SOURCES if path.parts[len(ROOT.parts)] == "libs"}
    services_by_module: dict[str, set[str]] = {module: set() for module in common}
    for path, imported in graph.items():
        if path not in common.values():
            # All modules of the library that this module of a service imports, directly or by other modules of the library.
            reached, remaining = set[str](), [module for module in imported if module in common]
            while remaining:
                module = remaining.pop()
                if module not in reached:
                    reached.add(module)
                    remaining += [imported_module for imported_module in graph[common[module]] if imported_module in common]
            for module in reached:
                services_by_module[module].add(path.parts[len(ROOT.parts) + 1])
    modules_of_one_service = {
        module for module, services in services_by_module.items() if len(services) < 2 and common[module].name != "__init__.py"
    }
    # The in-memory broker is used by standalone and by the tests of every service.
    assert modules_of_one_service == {"dashwright.common.messaging.memory"}


def _imports(source: ProductModule) -> set[str]:
    """Return the dotted names that a module imports, both of modules and of names in modules."""
    names = set[str]()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return names


def test_public_classes_have_names_of_their_own() -> None:
    """Two public classes of a distribution never share a name."""
    owners: dict[tuple[str, str], list[str]] = {}
    for source in map(parse_module, SOURCES):
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault((source.distribution, node.name), []).append(source.module)
    assert not {key: modules for key, modules in owners.items() if len(modules) > 1}

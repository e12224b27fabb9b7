"""Parsed modules of the product, for tests of rules on its code. Each module is parsed once in a process."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class ProductModule:
    """A module of the product."""

    path: Path
    text: str
    #: All nodes of the module, itself included, in the order of ``ast.walk``.
    nodes: tuple[ast.AST, ...]

    @property
    def tree(self) -> ast.Module:
        """The root of the syntax tree."""
        assert isinstance(self.nodes[0], ast.Module)
        return self.nodes[0]

    @property
    def distribution(self) -> str:
        """The folder of the distribution, such as ``services/api``."""
        return "/".join(self.path.relative_to(ROOT).parts[:2])

    @property
    def module(self) -> str:
        """The dotted name of the module, or of its package."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        below = parts[parts.index("src") + 1 :] if "src" in parts else parts
        return ".".join(part for part in below if part != "__init__")


def module_paths() -> list[Path]:
    """Return the paths of all modules of the product."""
    return sorted(path for directory in ("libs", "services") for path in (ROOT / directory).rglob("*.py"))


@cache
def parse_module(path: Path) -> ProductModule:
    """Return the module at a path. It is read and parsed only once."""
    text = path.read_text()
    return ProductModule(path, text, tuple(ast.walk(ast.parse(text))))

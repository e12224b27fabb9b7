"""YAML from strangers, over ryaml: YAML 1.2 types, no aliases that explode, no key twice, one document.

The binding is behind this door so that it can be exchanged; the tests hold one case for each hazard it is chosen for.
"""

import math
from collections.abc import Iterator
from typing import Any

import ryaml

from dashwright.common.errors import Invalid


def read_yaml(text: str) -> Any:
    """Plain JSON data: texts as keys, finite numbers, integers of 64 bits. Raises Invalid with the line of the fault."""
    try:
        tree = ryaml.loads(text)  # type: ignore[attr-defined]  # its stub re-exports nothing
    except ValueError as fault:
        raise Invalid(f"not valid YAML: {fault}") from fault
    for reason in _faults(tree):
        raise Invalid(f"not usable as JSON: {reason}")
    return tree


def _faults(tree: Any) -> Iterator[str]:
    """ryaml bounds the depth (128), so this recursion is bounded, too."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if not isinstance(key, str):
                yield f"the key {key!r} is not a text: put it in quotes"
            elif key == "<<":
                yield "merge keys (<<) are not supported: write the fields out"
            yield from _faults(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _faults(value)
    elif isinstance(tree, float) and not math.isfinite(tree):
        yield f"{tree} is not a JSON number: leave the field out or write null"

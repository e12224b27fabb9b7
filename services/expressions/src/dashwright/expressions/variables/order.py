"""The order in which variables are resolved: a variable follows those that it refers to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dashwright.expressions.variables.definitions import Definition
from dashwright.expressions.variables.scope import names_in


@dataclass(frozen=True, slots=True)
class Order:
    """Groups of variables, each of which refers to earlier groups only, and the variables that refer to each other in a circle."""

    groups: Sequence[Sequence[str]]
    circular: Sequence[str]


def order_of(definitions: Mapping[str, Definition], used: Iterable[str]) -> Order:
    """Return the order of the used variables, and of all variables that they refer to, directly or through others."""
    references = {name: references_of(definition) & definitions.keys() for name, definition in definitions.items()}
    required, pending = set[str](), [name for name in used if name in definitions]
    while pending:
        name = pending.pop()
        if name not in required:
            required.add(name)
            pending += references[name]
    remaining = [name for name in definitions if name in required]
    groups: list[list[str]] = []
    while ready := [name for name in remaining if not references[name] & set(remaining)]:
        groups.append(ready)
        remaining = [name for name in remaining if name not in ready]
    return Order(groups, remaining)


def references_of(definition: Definition) -> set[str]:
    """Return the names that a definition refers to. The name of a text box or constant in its own text is not a reference."""
    own = {definition.name} if definition.kind in ("textbox", "constant") else set()
    return set(names_in(definition.dependent_members)) - own

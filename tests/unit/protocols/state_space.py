"""Exhaustive search of a protocol model: every order of its steps, from an initial state.

A model is a class of immutable states. ``steps`` yields the name and the next state of each step that is possible, and ``check``
raises AssertionError if a state breaks an invariant. The search is breadth first, so that a violation is reported with the
shortest sequence of steps that leads to it.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar


class State(Hashable, Protocol):
    """State of a model."""

    def steps(self) -> Iterator[tuple[str, Self]]:
        """Yield each possible step with the state after it."""
        ...

    def check(self, *, is_final: bool) -> None:
        """Raise AssertionError if an invariant does not hold. No step is possible in a final state."""
        ...


Model = TypeVar("Model", bound=State)


@dataclass(frozen=True, slots=True)
class Violation:
    """State that breaks an invariant."""

    invariant: str
    #: The steps from the initial state, in order.
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a search."""

    states: int
    violation: Violation | None


def explore(initial: Model, goal: Callable[[Model], bool] | None = None) -> Search:
    """Visit every reachable state until one violates an invariant.

    ``origins`` has the state and step by which each state was reached first, and ``predecessors`` all states from which it was reached.
    With ``goal``, a state from which no sequence of steps leads to a goal is a violation, too.
    """
    origins: dict[Model, tuple[Model, str] | None] = {initial: None}
    predecessors: dict[Model, list[Model]] = {initial: []}
    queue = deque([initial])
    while queue:
        state = queue.popleft()
        successors = list(state.steps())
        try:
            state.check(is_final=not successors)
        except AssertionError as error:
            return Search(len(origins), Violation(str(error), _trace(origins, state)))
        for name, successor in successors:
            if successor not in origins:
                origins[successor] = (state, name)
                predecessors[successor] = []
                queue.append(successor)
            predecessors[successor].append(state)
    if goal is not None and (stuck := _first_stuck(predecessors, goal)) is not None:
        return Search(len(origins), Violation("no sequence of steps leads to a goal", _trace(origins, stuck)))
    return Search(len(origins), None)


def _first_stuck(predecessors: dict[Model, list[Model]], goal: Callable[[Model], bool]) -> Model | None:
    """Return the first visited state that cannot reach a goal."""
    live = {state for state in predecessors if goal(state)}
    queue = deque(live)
    while queue:
        for predecessor in predecessors[queue.popleft()]:
            if predecessor not in live:
                live.add(predecessor)
                queue.append(predecessor)
    return next((state for state in predecessors if state not in live), None)


def _trace(origins: dict[Model, tuple[Model, str] | None], state: Model) -> tuple[str, ...]:
    """Return the names of the steps from the initial state to a state."""
    names: list[str] = []
    while (origin := origins[state]) is not None:
        state, name = origin
        names.append(name)
    return tuple(reversed(names))

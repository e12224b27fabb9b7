"""Search for cycles in a directed graph, in time linear in its size, because requests may try to make it slow."""

from collections.abc import Iterator, Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def cycles(graph: Graph) -> dict[str, list[str]]:
    """Return each node on a cycle, with a path from it back to itself that meets no other node twice."""
    found = {}
    readers = _reversed(graph)
    for component in _components(graph, readers):
        if len(component) > 1:
            root = next(iter(component))
            away, back = _tree(root, graph, component), _tree(root, readers, component)
            found[root] = [root, *_way(next(other for other in graph[root] if other in component), root, back)]
            found |= {node: _way_back(node, root, away, back) for node in component if node != root}
    return found


def _reversed(graph: Graph) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = {node: [] for node in graph}
    for node, inputs in graph.items():
        for other in inputs:
            readers[other].append(node)
    return readers


def _components(graph: Graph, readers: Graph) -> Iterator[dict[str, None]]:
    """Yield groups of nodes that reach one another (Kosaraju's algorithm)."""
    seen: set[str] = set()
    for node in reversed(_finished(graph)):
        if node not in seen:
            component, reached = {node: None}, [node]
            for member in reached:
                for other in readers[member]:
                    if other not in seen and other not in component:
                        component[other] = None
                        reached.append(other)
            seen |= component.keys()
            yield component


def _finished(graph: Graph) -> list[str]:
    """Return the nodes in the order in which a depth-first walk leaves them."""
    # Without recursion, because a chain of expressions may be longer than Python's stack.
    finished: list[str] = []
    seen: set[str] = set()
    for start in graph:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(graph[start]))]
        while path:
            node, others = path[-1]
            following = next((other for other in others if other not in seen), None)
            if following is None:
                finished.append(node)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(graph[following])))
    return finished


def _tree(root: str, graph: Graph, component: Mapping[str, None]) -> dict[str, str]:
    """Return, for each node of the component but the root, the node before it on a shortest path from the root."""
    before: dict[str, str] = {}
    reached = [root]
    for node in reached:
        for other in graph[node]:
            if other in component and other not in before and other != root:
                before[other] = node
                reached.append(other)
    return before


def _way_back(node: str, root: str, away: Mapping[str, str], back: Mapping[str, str]) -> list[str]:
    """Return a path from the node to the root and back, switching over where the two paths first meet."""
    there, home = _way(node, root, back), _way(node, root, away)
    place = {other: number for number, other in enumerate(home)}
    meeting = next(number for number, other in enumerate(there) if number and other in place)
    return there[: meeting + 1] + home[: place[there[meeting]]][::-1]


def _way(node: str, root: str, step: Mapping[str, str]) -> list[str]:
    way = [node]
    while way[-1] != root:
        way.append(step[way[-1]])
    return way

"""Random frames and transformations that editors rarely produce: missing cells, columns of unknown types, and wrong options."""

from typing import Any

from tests.oracles.grafana.random_cases import Cases
from tests.unit.expressions.json_trees import Path, paths, replace_at


class UnusualCases(Cases):
    """A source of random cases with unusual members."""

    def frame(self) -> dict[str, Any]:
        """Return a frame, whose columns may lack values, and may have an unknown type or no labels."""
        frame = super().frame()
        # Columns with equal names must have one type, because Grafana would append texts to numbers if it merged them.
        types = {field["name"]: field["type"] for field in frame["fields"]}
        frame["fields"] = [field for field in frame["fields"] if field["type"] == types[field["name"]]]
        for field in frame["fields"]:
            if self.chance(0.1):
                field["values"] = [None] * len(field["values"])
            if self.chance(0.1) and field["type"] == "number":
                field["values"] = [{"special": "NaN"} if self.chance(0.3) else value for value in field["values"]]
            if self.chance(0.1) and field["type"] == "time":
                field["values"] = [None if self.chance(0.3) else value for value in field["values"]]
            if self.chance(0.05):
                field["type"] = "other"
            if self.chance(0.05):
                field["labels"] = {}
        return frame

    def transformation(self, name: str) -> dict[str, Any]:
        """Return a transformation. One of its options may be missing or wrong."""
        transformation = super().transformation(name)
        options = transformation["options"]
        # An unknown time zone is an error in Dashwright only, so it is not generated.
        option_paths = [path for path in paths(options) if path and path[-1] != "timezone"]
        if not option_paths or self.chance(0.5):
            return transformation
        path = self.one_of(*option_paths)
        return {**transformation, "options": remove_at(options, path) if self.chance(0.3) else self._replace_value(options, path)}

    def _replace_value(self, options: Any, path: Path) -> Any:
        """Return a copy of the options with another value at a path."""
        value = member(options, path)
        if isinstance(value, bool):
            return replace_at(options, path, not value)
        if isinstance(value, str):
            return replace_at(options, path, self.one_of("", "gone", "unknown", "A"))
        if isinstance(value, int | float):
            return replace_at(options, path, self.one_of(0, 7, 1_000))
        return replace_at(options, path, type(value)())


def member(tree: Any, path: Path) -> Any:
    """Return the value at a path."""
    for key in path:
        tree = tree[key]
    return tree


def remove_at(tree: Any, path: Path) -> Any:
    """Return a copy of a tree without the member or item at a path."""
    parent = member(tree, path[:-1])
    if isinstance(parent, dict):
        return replace_at(tree, path[:-1], {key: value for key, value in parent.items() if key != path[-1]})
    return replace_at(tree, path[:-1], [item for index, item in enumerate(parent) if index != path[-1]])

"""Members of JSON documents by their path, such as ``base.repo.full_name``."""

from collections.abc import Mapping
from typing import Any, Final

#: Largest number up to which JSON represents all whole numbers exactly.
MAX_NUMBER: Final = 2**53 - 1

#: Largest number of a pull request, which the API stores as a 32-bit integer.
MAX_SHORT_NUMBER: Final = 2**31 - 1


def member_of(data: Any, path: str) -> Any:
    """Return a member, or None if it or an object on its path is missing.

    A number in a path selects an item of a list. The empty path selects the whole document.
    """
    for name in path.split(".") if path else ():
        if isinstance(data, list) and name.isdigit():
            data = data[int(name)] if int(name) < len(data) else None
        else:
            data = data.get(name) if isinstance(data, dict) else None
    return data


def document_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with these values by their paths."""
    document: dict[str, Any] = {}
    for path, value in values.items():
        *parents, name = path.split(".")
        container = document
        for parent in parents:
            container = container.setdefault(parent, {})
        container[name] = value
    return document


class MemberReader:
    """A reader of a document, which collects the paths of missing and invalid members in ``faults``."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.faults: list[str] = []

    def text(self, *paths: str) -> str:
        """Return the first text among the members. Without a text, return an empty one and record a fault."""
        text = self.optional_text(*paths)
        if not text and paths[0] not in self.faults:
            self.faults.append(paths[0])
        return text

    def optional_text(self, *paths: str) -> str:
        """Return the first text among the members; an empty text if all are missing. Another value is a fault."""
        for path in paths:
            value = member_of(self._data, path) if path else None
            if isinstance(value, str):
                return value
            if value is not None:
                self.faults.append(path)
        return ""

    def number(self, path: str, limit: int = MAX_NUMBER) -> int:
        """Return a number from 0 to ``limit``; 0 for a missing or invalid one, which is a fault."""
        value = member_of(self._data, path)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limit:
            return value
        self.faults.append(path)
        return 0

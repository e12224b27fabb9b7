"""Pages of long lists on HTML pages, with links to the previous and the next one."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

PAGE_PARAMETER = "page"
"""The parameter of URLs with the number of the page of a list, from 1."""


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a list, with the addresses of the previous and the next one, which are empty at the ends of the list."""

    number: int
    count: int
    previous_url: str
    next_url: str

    @classmethod
    def of(cls, path: str, parameters: Iterable[tuple[str, str]], *, number: int, item_count: int, size: int) -> "Paging":
        """Return page ``number``, or the last page if there are fewer, of a list at a path with other parameters."""
        count = max(1, -(-item_count // size))
        number, other_parameters = min(number, count), [(name, value) for name, value in parameters if name != PAGE_PARAMETER]

        def address(page: int) -> str:
            return f"{path}?{urlencode([*other_parameters, (PAGE_PARAMETER, str(page))])}"

        return cls(number, count, address(number - 1) if number > 1 else "", address(number + 1) if number < count else "")

"""Pages of long lists on HTML pages, with links to the previous and the next one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

PAGE_PARAMETER = "page"
"""Name of the query parameter for the number of a page, which starts at 1."""


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a list, with the addresses of the previous and the next one, which are empty at the ends of the list."""

    number: int  #: Number of the page, from 1.
    count: int  #: Number of all pages, at least 1.
    previous_url: str
    next_url: str

    @classmethod
    def of(cls, path: str, parameters: Iterable[tuple[str, str]], *, number: int, item_count: int, size: int) -> "Paging":
        """Return page ``number`` of a list, or the last page if the list has fewer.

        ``path`` and ``parameters`` are those of the current URL. ``size`` is the number of items of a page.
        """
        count = max(1, math.ceil(item_count / size))
        number = min(number, count)
        other_parameters = [(name, value) for name, value in parameters if name != PAGE_PARAMETER]

        def address(page: int) -> str:
            return f"{path}?{urlencode([*other_parameters, (PAGE_PARAMETER, str(page))])}"

        return cls(number, count, address(number - 1) if number > 1 else "", address(number + 1) if number < count else "")

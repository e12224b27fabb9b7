"""What the gateway asks the expressions worker beside the body: by which door the request came, and how to answer it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Door(StrEnum):
    """``query`` is ``/api/ds/query``, which forgives what saved panels hold; ``panel`` is strict; ``validation`` runs nothing."""

    QUERY = "query"
    PANEL = "panel"
    VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class Asking:
    """``lenient``: unlisted properties are warnings. ``explain``: tell how it ran. ``accept``: the client's header of that name."""

    door: Door = Door.QUERY
    lenient: bool = False
    explain: bool = False
    accept: str = ""

    def headers(self) -> dict[str, str | bool]:
        """As the headers of the message."""
        return {"door": self.door.value, "lenient": self.lenient, "explain": self.explain, "accept": self.accept}

    @staticmethod
    def of(headers: Mapping[str, object]) -> "Asking":
        """From the headers of a message; a missing one takes its default. Raises ValueError for a door that is not known."""
        return Asking(
            Door(str(headers.get("door", Door.QUERY))),
            lenient=bool(headers.get("lenient")),
            explain=bool(headers.get("explain")),
            accept=str(headers.get("accept", "")),
        )

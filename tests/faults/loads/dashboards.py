"""Writes of dashboards over HTTP: each dashboard is created, updated and deleted by one client in a known order."""

import random
from dataclasses import dataclass, field

from tests.acceptance.client import DASHBOARDS
from tests.faults.audit import Audit
from tests.faults.loads.load import Database
from tests.faults.system import Response, System


@dataclass(slots=True)
class _Dashboard:
    """The state of a dashboard by the responses to its client. Each title is written once. None is the title of a missing one."""

    name: str
    #: Number of the last write.
    writes: int = 0
    #: Result of the last accepted write.
    title: str | None = None
    #: Possible stored titles: that of the last accepted write, and those of writes without a response.
    possible: set[str | None] = field(default_factory=lambda: {None})
    #: Titles whose writes were accepted.
    accepted: list[str] = field(default_factory=list)


class Dashboards:
    """Writes of dashboards.

    A write without a response may still be executed later, so its dashboard is not written again.
    """

    name = "dashboard writes"

    def __init__(self, system: System, *, count: int = 40) -> None:
        self._system = system
        self._audit = Audit(self.name)
        self._dashboards: list[_Dashboard] = []
        #: Dashboards that no client is writing.
        self._free = [self._new_dashboard() for _ in range(count)]

    async def prepare(self) -> None:
        """Do nothing: the first write of a dashboard creates it."""

    async def run(self) -> bool:
        """Create, update or delete a dashboard."""
        board = self._free.pop(random.randrange(len(self._free)))
        is_accepted = await self._write(board)
        is_state_known = len(board.possible) == 1
        self._free.append(board if is_state_known else self._new_dashboard())
        return is_accepted

    def _new_dashboard(self) -> _Dashboard:
        """Return another dashboard, which does not exist yet."""
        self._dashboards.append(_Dashboard(f"board-{len(self._dashboards)}"))
        return self._dashboards[-1]

    async def _write(self, board: _Dashboard) -> bool:
        """Create a missing dashboard, and update or sometimes delete an existing one. Return whether that was accepted."""
        board.writes += 1
        title: str | None = f"{board.name} {board.writes}"
        if board.title is None:
            response = await self._system.request("POST", DASHBOARDS, json=_body(board.name, title))
        elif random.random() < 0.1:
            title = None
            response = await self._system.request("DELETE", f"{DASHBOARDS}/{board.name}")
        else:
            response = await self._system.request("PUT", f"{DASHBOARDS}/{board.name}", json=_body(board.name, title))
        self._record(board, title, response)
        return response is not None and response.is_accepted

    def _record(self, board: _Dashboard, title: str | None, response: Response | None) -> None:
        """Record the response to a write, or to a deletion if the title is None."""
        if response is None:
            self._audit.unknown += 1
            board.possible.add(title)
        elif response.is_accepted:
            self._audit.accepted += 1
            board.title, board.possible = title, {title}
            if title is not None:
                board.accepted.append(title)
        elif response.status == 429:
            self._audit.refused += 1
        else:
            self._audit.wrong.append(f"write of {title} to {board.name}: {response}")

    async def audit(self, database: Database) -> Audit:
        """Check the stored titles, and that each accepted title was written once."""
        audit = self._audit.copy()
        rows = await database.fetch("select name, title from resource where resource = 'dashboards' and namespace = 'default'")
        stored_titles = {row["name"]: row["title"] for row in rows}
        for board in self._dashboards:
            title = stored_titles.get(board.name)
            if title not in board.possible:
                audit.lost.append(f"{board.name} has the title {title}; possible are {board.possible}")
            changes = "select title from change where name = $1 and type <> 'DELETED'"
            written_titles = [row[0] for row in await database.fetch(changes, board.name)]
            audit.lost += [f"the write of {accepted} is in no change" for accepted in board.accepted if accepted not in written_titles]
            repeated = {title for title in written_titles if written_titles.count(title) > 1}
            audit.doubled += [f"{title} was written {written_titles.count(title)} times" for title in repeated]
        return audit


def _body(name: str, title: str | None) -> dict[str, object]:
    """Return the manifest of a dashboard."""
    return {"metadata": {"name": name}, "spec": {"title": title}}

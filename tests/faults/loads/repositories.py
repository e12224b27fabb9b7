"""Local repositories whose files change, and the jobs that synchronize them, submitted over HTTP and through the queue."""

import json
import random
from typing import Any
from uuid import uuid4

from tests.acceptance import dashboard_files
from tests.acceptance.client import PROVISIONING
from tests.acceptance.polling import wait_until
from tests.acceptance.queue_client import JOB_SPEC
from tests.faults.audit import Audit
from tests.faults.loads.load import Database, audit_jobs, wait_for_end
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.system import System


class Repositories:
    """Local repositories of one dashboard each. The title of the dashboard is the number of its last edit."""

    def __init__(self, system: System, *, count: int) -> None:
        self._system = system
        self.names = [f"team-{number}" for number in range(count)]
        self._edits = dict.fromkeys(self.names, 0)
        self._prepared = False

    async def prepare(self) -> None:
        """Create the repositories once."""
        if self._prepared:
            return
        self._prepared = True
        for name in self.names:
            self._write(name)
            spec = {
                "title": name,
                "workflows": [],
                "type": "local",
                "local": {"path": name},
                "sync": {"enabled": True, "target": "folder"},
            }
            body = {"metadata": {"name": name}, "spec": spec}
            response = await self._system.request("POST", f"{PROVISIONING}/repositories", json=body)
            assert response is not None
            assert response.is_accepted, response

    def edit(self) -> str:
        """Edit the file of any repository and return the repository's name."""
        name = random.choice(self.names)
        self._edits[name] += 1
        self._write(name)
        return name

    async def audit(self, database: Database, audit: Audit) -> None:
        """Add findings about the dashboards: each must have its last title, and each of its titles was written once."""
        for name in self.names:
            titles = [
                row[0]
                for row in await database.fetch(
                    "select title from change where resource = 'dashboards' and name = $1 order by resource_version", name
                )
            ]
            expected = f"{name} {self._edits[name]}"
            if not titles or titles[-1] != expected:
                audit.wrong.append(f"dashboard {name} has the title {titles[-1:]} instead of {expected}")
            audit.doubled += [f"dashboard {name}: {title} was written {titles.count(title)} times" for title in _duplicates(titles)]

    def _write(self, name: str) -> None:
        """Write the file of a repository."""
        folder = self._system.repositories / name
        folder.mkdir(exist_ok=True)
        new = folder / ".new"
        new.write_text(json.dumps(dashboard_files.classic(name, f"{name} {self._edits[name]}")))
        new.rename(folder / f"{name}.json")  # in one step, since a sync may be reading


def _duplicates(titles: list[str]) -> set[str]:
    """Return the titles that occur more than once."""
    return {title for title in titles if titles.count(title) > 1}


class JobsOverHttp:
    """Syncs requested over HTTP."""

    name = "jobs over HTTP"

    def __init__(self, system: System, repositories: Repositories) -> None:
        self._system = system
        self._repositories = repositories
        self.prepare = repositories.prepare
        self._audit = Audit(self.name)
        #: Names of the operations, by the uid of their job.
        self._jobs: dict[str, str] = {}

    async def run(self) -> bool:
        """Edit a file and request a sync."""
        repository = self._repositories.edit()
        response = await self._system.request("POST", f"{PROVISIONING}/repositories/{repository}/sync")
        if response is None:
            self._audit.unknown += 1
        elif response.status in (424, 429):
            self._audit.refused += 1
        elif response.status != 202:
            self._audit.wrong.append(f"sync of {repository}: {response}")
        else:
            self._audit.accepted += 1
            self._jobs[response.body["metadata"]["uid"]] = f"sync of {repository}"
        return response is not None and response.is_accepted

    async def audit(self, database: Database) -> Audit:
        """Check the jobs, and the dashboards after a last sync of each repository."""
        for name in self._repositories.names:
            last: list[str] = []

            async def is_accepted(name: str = name, last: list[str] = last) -> bool:
                """Request a sync. Return True if this or an earlier request was accepted."""
                response = await self._system.request("POST", f"{PROVISIONING}/repositories/{name}/sync")
                if response is not None and response.is_accepted:
                    last.append(response.body["metadata"]["uid"])
                return bool(last)

            await wait_until(is_accepted, seconds=60)
            self._jobs |= dict.fromkeys(last, f"last sync of {name}")
            await wait_for_end(database, last)
        audit = self._audit.copy()
        await audit_jobs(database, self._jobs, audit)
        await self._repositories.audit(database, audit)
        return audit


class JobsByQueue:
    """Syncs submitted through the queue, some of them delivered repeatedly and late."""

    name = "jobs by queue"

    def __init__(self, queue: QueueSubmitter, repositories: Repositories) -> None:
        self._queue = queue
        self._repositories = repositories
        self.prepare = repositories.prepare
        #: Earlier messages, to be delivered again.
        self._earlier: list[tuple[str, Any]] = []

    async def run(self) -> bool:
        """Publish a submission, and sometimes an earlier one again."""
        message_id, body = f"sync-{uuid4().hex}", JOB_SPEC | {"repository": self._repositories.edit()}
        is_accepted = await self._queue.publish(message_id, body)
        self._earlier = [*self._earlier[-20:], (message_id, body)]
        if random.random() < 0.3:
            await self._queue.publish(*random.choice(self._earlier))
        return is_accepted

    async def audit(self, database: Database) -> Audit:
        """Check that each confirmed message became exactly one submission whose job succeeded."""
        return await self._queue.audit(database, Audit(self.name), prefix="sync-")

"""Calls from gateways to workers, which change nothing: queries of the expressions worker, and reads of files by the jobs worker."""

import random

from tests.acceptance.client import PROVISIONING
from tests.acceptance.queries import QUERY
from tests.faults.audit import Audit
from tests.faults.loads.load import Database
from tests.faults.loads.repositories import Repositories
from tests.faults.system import System


class Queries:
    """Queries, each of an expression of its own. A response must be complete and correct."""

    name = "queries"

    def __init__(self, system: System) -> None:
        self._system = system
        self._audit = Audit(self.name)

    async def prepare(self) -> None:
        """Do nothing: queries need no preparation."""

    async def run(self) -> bool:
        """Request the sum of a number and one."""
        number = random.randrange(1_000_000)
        query = {**QUERY, "queries": [{"refId": "A", "datasource": {"uid": "__expr__"}, "type": "math", "expression": f"{number} + 1"}]}
        response = await self._system.request("POST", "/api/ds/query", json=query)
        if response is None:
            self._audit.unknown += 1
        elif response.status == 429:
            self._audit.refused += 1
        elif not response.is_accepted or response.body["results"]["A"]["frames"][0]["data"]["values"] != [[number + 1]]:
            self._audit.wrong.append(f"the query {number} + 1: {response}")
        else:
            self._audit.accepted += 1
        return response is not None and response.is_accepted

    async def audit(self, database: Database) -> Audit:
        """Return the findings of the responses. Queries store nothing that could be checked."""
        return self._audit.copy()


class FileReads:
    """Reads of the files of a repository."""

    name = "reads of files"

    def __init__(self, system: System, repositories: Repositories) -> None:
        self._system = system
        self._repositories = repositories
        self.prepare = repositories.prepare
        self._audit = Audit(self.name)

    async def run(self) -> bool:
        """Request the file of a repository."""
        name = random.choice(self._repositories.names)
        response = await self._system.request("GET", f"{PROVISIONING}/repositories/{name}/files/{name}.json")
        if response is None:
            self._audit.unknown += 1
        elif response.status == 429:
            self._audit.refused += 1
        elif not response.is_accepted or not response.body["resource"]["file"]["spec"]["title"].startswith(f"{name} "):
            self._audit.wrong.append(f"the file of {name}: {response}")
        else:
            self._audit.accepted += 1
        return response is not None and response.is_accepted

    async def audit(self, database: Database) -> Audit:
        """Return the findings of the responses. Reads store nothing that could be checked."""
        return self._audit.copy()

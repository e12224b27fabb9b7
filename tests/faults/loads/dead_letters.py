"""Submissions that are refused without a reply address, and so become dead letters."""

import asyncio
from uuid import uuid4

from tests.acceptance.queue_client import JOB_SPEC
from tests.faults.audit import Audit
from tests.faults.loads.load import Database, wait_while_fewer
from tests.faults.loads.queue import QueueSubmitter

#: Time between two messages, since no response slows the client down.
_PAUSE_SECONDS = 1.0


class DeadLetters:
    """Jobs of a repository that does not exist. The id of each message names its letter."""

    name = "dead letters"

    def __init__(self, queue: QueueSubmitter) -> None:
        self._queue = queue
        self._audit = Audit(self.name)
        #: Ids of the messages that the broker has confirmed.
        self._confirmed: list[str] = []

    async def prepare(self) -> None:
        """Do nothing: dead letters need no preparation."""

    async def run(self) -> bool:
        """Publish a submission without a reply address."""
        message_id = f"refused-{uuid4().hex}"
        is_accepted = await self._queue.publish(message_id, JOB_SPEC | {"repository": "absent"}, has_reply=False)
        if is_accepted:
            self._confirmed.append(message_id)
            self._audit.accepted += 1
        else:
            self._audit.unknown += 1
        await asyncio.sleep(_PAUSE_SECONDS)
        return is_accepted

    async def audit(self, database: Database) -> Audit:
        """Check that each confirmed message is one dead letter."""
        audit, confirmed = self._audit.copy(), self._confirmed
        count_statement = "select count(distinct message_id) from dead_letter where message_id = any($1)"
        await wait_while_fewer(len(confirmed), lambda: database.fetchval(count_statement, confirmed))
        rows = await database.fetch("select message_id, count(*) from dead_letter where message_id = any($1) group by 1", confirmed)
        counts = {row["message_id"]: row["count"] for row in rows}
        audit.lost += [
            f"{message_id} was confirmed by the broker, but is not stored" for message_id in confirmed if message_id not in counts
        ]
        audit.doubled += [f"{message_id} is stored as {count} dead letters" for message_id, count in counts.items() if count > 1]
        return audit

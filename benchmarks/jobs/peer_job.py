"""The handler of a small job in another task queue: it evaluates a panel, and writes the same rows as Dashwright.

These are the job as pending, its start, and its end together with the result as JSON and Arrow, each in a transaction of its own.
"""

from collections.abc import Mapping
from typing import Any, Self

import asyncpg
import asyncpg.pool
import orjson

from dashwright.common import media
from dashwright.common.models.evaluation import EvaluationSpec, panel_request
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.queries import QuerySettings, encode_reply, evaluate

TABLES = """
    create table peer_job (
        uid uuid primary key default gen_random_uuid(), spec text not null, state text not null default 'pending',
        created_at timestamptz not null default now(), started_at timestamptz, finished_at timestamptz
    );
    create table peer_result (uid uuid primary key references peer_job, json bytea not null, arrow bytea not null);
"""

_INSERT = "insert into peer_job (spec) values ($1) returning uid"
_START = "update peer_job set state = 'working', started_at = now() where uid = $1 and state = 'pending'"
_FINISH = """
    with finished as (
        update peer_job set state = 'success', finished_at = now() where uid = $1 and state = 'working' returning uid
    )
    insert into peer_result (uid, json, arrow) select uid, $2, $3 from finished
"""

#: Connections of a process. More made the peers slower on two cores.
_CONNECTIONS = 10
_CONTEXT = QueryContext(endpoint=QueryEndpoint.PANEL, org_id=1, readable=frozenset())


class PeerWork:
    """The work of the jobs of one process."""

    def __init__(self, pool: "asyncpg.pool.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._settings = QuerySettings()

    @classmethod
    async def open(cls, database_url: str) -> Self:
        """Connect to the database."""
        return cls(await asyncpg.create_pool(database_url, min_size=_CONNECTIONS, max_size=_CONNECTIONS, reset=_keep))

    async def run(self, spec: Mapping[str, Any]) -> None:
        """Run a job to its end."""
        uid = await self._pool.fetchval(_INSERT, orjson.dumps(spec).decode())
        await self._pool.execute(_START, uid)
        request = panel_request(EvaluationSpec.model_validate(spec))
        evaluation = await evaluate(orjson.dumps(request), _CONTEXT, self._settings)
        bodies = [encode_reply(evaluation, accept).body for accept in (media.JSON, media.ARROW)]
        await self._pool.execute(_FINISH, uid, *bodies)


async def _keep(_connection: Any) -> None:
    """Do not reset a returned connection, which saves a round trip, as in Dashwright's pool."""

"""The handler of jobs in other task queues: it evaluates a panel, and stores the states of the job and its result as Dashwright does.

It has three transactions: one inserts the job as pending, one stores its start, and one its end with the result as JSON and Arrow.
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

#: The statements that create the tables of jobs and results.
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

#: Connections to the database per process. More connections made the other task queues slower on two cores.
_CONNECTIONS = 10
_CONTEXT = QueryContext(endpoint=QueryEndpoint.PANEL, org_id=1, readable=frozenset())


class PeerJobRunner:
    """The runner of the jobs of one process."""

    def __init__(self, pool: "asyncpg.pool.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._settings = QuerySettings()

    @classmethod
    async def open(cls, database_url: str) -> Self:
        """Connect to the database."""
        return cls(await asyncpg.create_pool(database_url, min_size=_CONNECTIONS, max_size=_CONNECTIONS, reset=_keep_state))

    async def run(self, spec: Mapping[str, Any]) -> None:
        """Evaluate the panel of a job, and store the job with its result."""
        uid = await self._pool.fetchval(_INSERT, orjson.dumps(spec).decode())
        await self._pool.execute(_START, uid)
        request = panel_request(EvaluationSpec.model_validate(spec))
        evaluation = await evaluate(orjson.dumps(request), _CONTEXT, self._settings)
        bodies = [encode_reply(evaluation, accept).body for accept in (media.JSON, media.ARROW)]
        await self._pool.execute(_FINISH, uid, *bodies)


async def _keep_state(_connection: Any) -> None:
    """Do not reset a returned connection, which saves a round trip, as in Dashwright's pool."""

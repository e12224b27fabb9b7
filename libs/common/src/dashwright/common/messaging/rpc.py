"""Calls to workers through a queue, with responses that may be larger than any message.

    caller                              worker
      │── request: deadline, patience ──►│  by the worker's queue, mandatory, expires at the deadline
      │◄─ (reply address) ───────────────│  only when the worker takes longer than a moment
      │◄─ piece 0 … last ────────────────│  one message if the response fits into it
      │── taken 4 ──────────────────────►│  only for several pieces: at most `window` are in flight
      │── cancel ───────────────────────►│  the reader stopped; also sent for a piece that belongs to no call

Both sides have an inbox (RabbitMQ's direct reply-to: no queue, nothing stored, closed with its channel). The first piece is due at the
deadline; after it, `patience` seconds of silence end the call on either side.

A request whose worker died is redelivered. It is put into the queue once more as its second attempt. If that one is redelivered
as well, the caller gets an error and the request is dropped, so a request that kills workers kills at most two.
"""

from dashwright.common.messaging.rpc_client import RpcClient, RpcResponse
from dashwright.common.messaging.rpc_server import Reply, Request, RpcServer

__all__ = ["Reply", "Request", "RpcClient", "RpcResponse", "RpcServer"]

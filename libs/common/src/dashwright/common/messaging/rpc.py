"""Calls to workers through a queue, with answers that may be larger than any message.

    caller                              worker
      │── request: deadline, patience ──►│  by the worker's queue, mandatory, expires at the deadline
      │◄─ (where to write to) ───────────│  only when the worker takes longer than a moment
      │◄─ piece 0 … last ────────────────│  one message when the answer fits into one
      │── taken 4 ──────────────────────►│  only when the answer comes in several: at most `window` are under way
      │── cancel ───────────────────────►│  the reader has gone; also sent for a piece that nobody waits for

Both sides have an inbox (RabbitMQ's direct reply-to: no queue, nothing stored, gone with its channel). The first piece is due at the
deadline; after it, `patience` seconds of silence end the call on either side.

A request whose worker died comes back redelivered. It is put into the queue once more as its second attempt; if that one comes back as
well, the caller is told and the request is gone, so one that kills workers kills two.
"""

from dashwright.common.messaging.rpc_client import RpcClient, RpcResponse
from dashwright.common.messaging.rpc_server import Reply, Request, RpcServer

__all__ = ["Reply", "Request", "RpcClient", "RpcResponse", "RpcServer"]

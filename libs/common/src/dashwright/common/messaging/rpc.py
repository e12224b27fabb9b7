"""Remote procedure calls to workers through a queue, with responses that may be larger than a message.

    caller                              worker
      │── request ──────────────────────►│  through the queue of the workers; mandatory; expires at the deadline
      │◄─ announcement ──────────────────│  with the reply address; only if the first chunk takes longer
      │◄─ chunks 0 to n ─────────────────│  one chunk if the response fits into a message
      │── read count ───────────────────►│  if there are several chunks: the worker sends at most `window` unread ones
      │── cancel ───────────────────────►│  if the caller stops reading, or for a chunk of an unknown call

Each side has an inbox: RabbitMQ's direct reply-to, which has no queue, stores nothing and is closed with its channel. The first
chunk must arrive by the deadline. After it, either side ends the call if no message arrives within the idle timeout.

If a worker dies, the broker redelivers its request. The next worker publishes the request again, as its second attempt. If the second
attempt is redelivered as well, the caller receives an error and the request is discarded. Thus a request kills at most two workers.
"""

from dashwright.common.messaging.rpc_client import RpcClient, RpcResponse
from dashwright.common.messaging.rpc_server import Reply, Request, RpcServer

__all__ = ["Reply", "Request", "RpcClient", "RpcResponse", "RpcServer"]

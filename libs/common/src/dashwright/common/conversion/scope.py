"""The scope of conversions in a request: the context of each namespace, and a cache of converted specs."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import blake2b
from typing import NamedTuple

from dashwright.common.conversion.context import EMPTY_CONTEXT, ConversionContext


class ConvertedSpec(NamedTuple):
    """Spec and status of a dashboard in a version that is not the stored one, as JSON strings."""

    spec: str
    status: str


class ConversionCache:
    """Cache of converted specs by the digest of their sources. The least recently used specs are dropped first.

    ``max_chars`` limits the total length of specs and statuses. With 0, nothing is cached.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._entries: OrderedDict[bytes, ConvertedSpec] = OrderedDict()
        # Large bodies are converted in threads.
        self._lock = threading.Lock()

    def find_or_add(self, sources: tuple[str, ...], convert: Callable[[], ConvertedSpec]) -> ConvertedSpec:
        """Return the cached result for ``sources``, or else that of ``convert``. The sources must determine the result."""
        if not self._max_chars:
            return convert()
        digest = blake2b(digest_size=16)
        # The zero byte ends each source, so that ("ab", "c") and ("a", "bc") differ.
        for source in sources:
            digest.update(source.encode() + b"\0")
        key = digest.digest()
        with self._lock:
            if (entry := self._entries.get(key)) is not None:
                self._entries.move_to_end(key)
                return entry
        entry = convert()
        with self._lock:
            if key not in self._entries:
                self._entries[key] = entry
                self._chars += len(entry.spec) + len(entry.status)
            while self._chars > self._max_chars:
                _, dropped = self._entries.popitem(last=False)
                self._chars -= len(dropped.spec) + len(dropped.status)
        return entry


class ConversionScope:
    """The contexts of all namespaces that requests have used, and the cache that they share."""

    def __init__(self, cache_chars: int = 0) -> None:
        self.cache = ConversionCache(cache_chars)
        self._contexts: dict[str, ConversionContext] = {}

    def context_of(self, namespace: str) -> ConversionContext:
        """Return the context of a namespace, or an empty one if the namespace has no context."""
        return self._contexts.get(namespace, EMPTY_CONTEXT)

    def set_context(self, namespace: str, context: ConversionContext) -> None:
        """Set the context of a namespace."""
        self._contexts[namespace] = context


_scope: ContextVar[ConversionScope] = ContextVar("conversion_scope")
_EMPTY_SCOPE = ConversionScope()


def current_scope() -> ConversionScope:
    """Return the scope of the running request; outside of requests, an empty one without a cache."""
    return _scope.get(_EMPTY_SCOPE)


def enter_scope(scope: ConversionScope) -> None:
    """Set the scope for the rest of the running task and for the tasks and threads that it starts."""
    _scope.set(scope)

"""A budget for the memory of responses that their clients have not read yet."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from dashwright.common.errors import TooManyRequests, Unavailable
from dashwright.common.observability import metrics

_ORGANIZATION_DIVISOR: Final = 2
_CALLER_DIVISOR: Final = 4
"""The share of an organization, and of a caller, is the whole budget divided by these numbers."""
_RETRY_SECONDS: Final = 1.0
"""Seconds after which a refused client may retry."""


class ResponseOwner(NamedTuple):
    """The caller and the organization in whose shares of the budget a response counts."""

    caller: str  #: The uid of the caller, or the network of a caller without credentials.
    org_id: int  #: 0: no organization.


class ResponseBudget:
    """Counter of the bytes of responses in flight, limited for the process, each organization and each caller.

    A response that is larger than a limit is accepted if no other response counts against that limit. If it were refused even then, it
    could never be sent.
    """

    def __init__(self, size: int) -> None:
        """Limit the process to ``size`` bytes, an organization to half and a caller to a quarter of them."""
        self._size = size
        self._process = _Share(size)
        self._organizations: dict[int, _Share] = {}
        self._callers: dict[str, _Share] = {}

    @property
    def used(self) -> int:
        """The bytes in flight."""
        return self._process.used

    @contextmanager
    def reserve(self, owner: ResponseOwner, size: int, *, shared_chunk: object = None) -> Iterator[None]:
        """Count ``size`` bytes as in flight within the block.

        ``shared_chunk`` is the object that contains these bytes if several responses send the same object. Its bytes count once for
        each caller, each organization and the process. Raises TooManyRequests if the share of the caller or organization is used
        up, and Unavailable if the budget of the process is used up.
        """
        if not size:
            yield
            return
        caller_share = self._callers.get(owner.caller) or _Share(self._size // _CALLER_DIVISOR)
        organization_share = self._organizations.get(owner.org_id) or _Share(self._size // _ORGANIZATION_DIVISOR)
        if not caller_share.fits(size, shared_chunk):
            raise TooManyRequests(_exhausted_message("your share", caller_share), retry_after=_RETRY_SECONDS)
        if not organization_share.fits(size, shared_chunk):
            raise TooManyRequests(_exhausted_message("the share of your organization", organization_share), retry_after=_RETRY_SECONDS)
        if not self._process.fits(size, shared_chunk):
            raise Unavailable(_exhausted_message("the whole", self._process), retry_after=_RETRY_SECONDS)
        # Stored after the checks: a refused response must not leave an empty share behind.
        self._callers[owner.caller], self._organizations[owner.org_id] = caller_share, organization_share
        for share in (caller_share, organization_share, self._process):
            share.add(size, shared_chunk)
        metrics.response_bytes.set(self._process.used)
        try:
            yield
        finally:
            for share in (caller_share, organization_share, self._process):
                share.remove(size, shared_chunk)
            if not caller_share.used:
                del self._callers[owner.caller]
            if not organization_share.used:
                del self._organizations[owner.org_id]
            metrics.response_bytes.set(self._process.used)


class _Share:
    """The part of the budget for a caller, an organization or the process. A chunk that several responses share counts once."""

    __slots__ = ("_references", "limit", "used")

    def __init__(self, limit: int) -> None:
        #: Number of responses in flight with each shared chunk, by its ``id()``. No other object has this id while the chunk is in flight.
        self._references: Counter[int] = Counter()
        self.limit = limit  #: Limit in bytes.
        self.used = 0  #: Bytes in flight.

    def fits(self, size: int, shared_chunk: object) -> bool:
        """Return whether ``size`` bytes more may be in flight. The first response always fits, and so does a chunk that is counted."""
        is_counted_already = shared_chunk is not None and id(shared_chunk) in self._references
        return not self.used or self.used + size <= self.limit or is_counted_already

    def add(self, size: int, shared_chunk: object) -> None:
        """Count ``size`` bytes, unless they are a shared chunk that another response has in flight."""
        if shared_chunk is not None:
            self._references[id(shared_chunk)] += 1
            if self._references[id(shared_chunk)] > 1:
                return
        self.used += size

    def remove(self, size: int, shared_chunk: object) -> None:
        """Stop counting ``size`` bytes, unless they are a shared chunk that another response has in flight."""
        if shared_chunk is not None:
            self._references[id(shared_chunk)] -= 1
            if self._references[id(shared_chunk)]:
                return
            del self._references[id(shared_chunk)]
        self.used -= size


def _exhausted_message(share_name: str, share: _Share) -> str:
    """Return the error message for a used up share."""
    return f"Unread responses fill {share_name} of DASHWRIGHT_RESPONSE_BYTES ({share.limit >> 20} MiB); read or close them, and retry"

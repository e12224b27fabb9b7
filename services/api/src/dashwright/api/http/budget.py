"""A budget for the memory of responses that their clients have not read yet."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from dashwright.common.errors import TooManyRequests, Unavailable
from dashwright.common.observability import metrics

_ORGANIZATION_SHARE: Final = 2
_CALLER_SHARE: Final = 4
_RETRY_SECONDS: Final = 1.0


class ResponseOwner(NamedTuple):
    """The receiver of a response."""

    caller: str  #: The uid of the caller, or the network of a caller without credentials.
    org_id: int  #: 0: no organization.


class ResponseBudget:
    """Counter of the bytes of responses in flight, limited for the process, each organization and each caller.

    A response larger than a limit is accepted if nothing else counts against that limit, or it could never be sent.
    """

    def __init__(self, size: int) -> None:
        """Limit the process to ``size`` bytes, an organization to half and a caller to a quarter of them."""
        self._size = size
        self._process = _Account(size)
        self._organizations: dict[int, _Account] = {}
        self._callers: dict[str, _Account] = {}

    @property
    def used(self) -> int:
        """The bytes in flight."""
        return self._process.used

    @contextmanager
    def hold(self, owner: ResponseOwner, size: int, *, shared: object = None) -> Iterator[None]:
        """Count ``size`` bytes as in flight within the block.

        An object ``shared`` by several responses counts once for each caller, each organization and the process. Raises
        TooManyRequests if a share of the owner is used up, and Unavailable if the budget of the process is.
        """
        if not size:
            yield
            return
        caller = self._callers.get(owner.caller) or _Account(self._size // _CALLER_SHARE)
        organization = self._organizations.get(owner.org_id) or _Account(self._size // _ORGANIZATION_SHARE)
        if not caller.fits(size, shared):
            raise TooManyRequests(_full("your share", caller), retry_after=_RETRY_SECONDS)
        if not organization.fits(size, shared):
            raise TooManyRequests(_full("the share of your organization", organization), retry_after=_RETRY_SECONDS)
        if not self._process.fits(size, shared):
            raise Unavailable(_full("the memory for responses", self._process), retry_after=_RETRY_SECONDS)
        # Stored only now: a refused response must not leave an empty account behind.
        self._callers[owner.caller], self._organizations[owner.org_id] = caller, organization
        for account in (caller, organization, self._process):
            account.add(size, shared)
        metrics.response_bytes.set(self._process.used)
        try:
            yield
        finally:
            for account in (caller, organization, self._process):
                account.remove(size, shared)
            if not caller.used:
                del self._callers[owner.caller]
            if not organization.used:
                del self._organizations[owner.org_id]
            metrics.response_bytes.set(self._process.used)


class _Account:
    """The bytes in flight of one owner, up to ``most``, and the number of responses that hold each shared object."""

    __slots__ = ("_holders", "most", "used")

    def __init__(self, most: int) -> None:
        self._holders: Counter[int] = Counter()
        self.most = most
        self.used = 0

    def fits(self, size: int, shared: object) -> bool:
        return not self.used or self.used + size <= self.most or (shared is not None and id(shared) in self._holders)

    def add(self, size: int, shared: object) -> None:
        if shared is not None:
            self._holders[id(shared)] += 1
            if self._holders[id(shared)] > 1:
                return
        self.used += size

    def remove(self, size: int, shared: object) -> None:
        if shared is not None:
            self._holders[id(shared)] -= 1
            if self._holders[id(shared)]:
                return
            del self._holders[id(shared)]
        self.used -= size


def _full(what: str, account: _Account) -> str:
    return f"Unread responses fill {what}: {account.most >> 20} MiB, by DASHWRIGHT_RESPONSE_BYTES; read or close them, and retry"

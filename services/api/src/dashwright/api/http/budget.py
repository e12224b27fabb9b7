"""How much memory responses may take up until their clients have read them."""

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
    """The receiver of a response: the caller by uid or, without credentials, by network, and the organization (0: none)."""

    caller: str
    org_id: int


class ResponseBudget:
    """Bytes of responses in flight: ``size`` for the process, half of it for an organization, a quarter for a caller.

    A response that is larger than a share fits where that share is unused.
    """

    def __init__(self, size: int) -> None:
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

        What is ``shared``, one object in several responses, counts once for each caller, each organization and the process. Raises
        TooManyRequests where a share of the owner's is used up, Unavailable where the budget of the process is.
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
    """The bytes in flight of one owner, of ``most``, and how many responses hold each shared object."""

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
    return (
        f"Responses that are not read yet fill {what}: {account.most >> 20} MiB, by DASHWRIGHT_RESPONSE_BYTES; "
        "read or close them, and try again"
    )

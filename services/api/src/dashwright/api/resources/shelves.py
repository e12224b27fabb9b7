"""The tables that objects lie in, behind one face: what the reading verbs of the resource API need of them."""

from typing import Protocol

from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored


class Shelf(Protocol):
    """Objects of the kinds of one table."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Stored | StoredJob: ...

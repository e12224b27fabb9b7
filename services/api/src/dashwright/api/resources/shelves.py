"""The tables that objects lie in, behind one face: what the reading verbs of the resource API need of them."""

from typing import Protocol

from dashwright.api.resources.pages import ListedPage
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored


class Shelf(Protocol):
    """Objects of the kinds of one table."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Stored | StoredJob: ...

    async def list_page(self, kind: Kind, namespace: str, version: str, after: str, limit: int) -> ListedPage: ...

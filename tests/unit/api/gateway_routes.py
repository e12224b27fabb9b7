"""The route table of a gateway, and the traversal of a document that describes it."""

from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from dashwright.api.http.routing import Route
from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load


@cache
def routes() -> tuple[Route, ...]:
    """Return the routes of a gateway that never starts."""
    temporary_folder = Path(gettempdir())
    settings = load(http_port=0, data_dir=temporary_folder, permitted_paths=str(temporary_folder), secret_key="of tests only")
    # A database without ``__init__`` cannot connect: the routes are only listed, never called.
    return tuple(Gateway(settings, Database.__new__(Database), MemoryBroker(), Clock()).routes)


def nodes(tree: Any, path: str = "") -> Any:
    """Yield the path and the value of every JSON object in a document, including the document itself, whose path is empty.

    Names of members and indexes of lists follow slashes: ``/tags/0``.
    """
    if isinstance(tree, dict):
        yield path, tree
        for name, member in tree.items():
            yield from nodes(member, f"{path}/{name}")
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from nodes(item, f"{path}/{index}")

"""Named queries: SQL lives in ``.sql`` files beside the store that owns them, and reads as SQL.

A file is a list of queries, each under its name and a line that says what it is for::

    -- name: insert_job
    -- Records a job that was asked for.
    insert into jobs …
"""

import re
from importlib.resources import files

from dashwright.common.errors import DashwrightError

_HEAD = re.compile(r"^-- name: *(.*?) *$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Queries:
    """The queries of one file; each is an attribute of type str."""

    def __init__(self, source: str, named: dict[str, str]) -> None:
        self._source = source
        self._named = named

    def __getattr__(self, name: str) -> str:
        try:
            return self._named[name]
        except KeyError:
            raise AttributeError(f"{self._source} has no query {name}; it has {', '.join(self._named)}.") from None

    def __dir__(self) -> list[str]:
        return list(self._named)


def load(package: str, file: str) -> Queries:
    """The queries of ``file`` in ``package`` (pass ``__package__``).

    Raises DashwrightError where the file is missing, has text before the first name, or a name that is malformed, doubled or empty.
    """
    try:
        text = (files(package) / file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DashwrightError(f"There is no {file} in {package}.") from error
    return parse(text, source=f"{package}/{file}")


def parse(text: str, *, source: str) -> Queries:
    """The queries in ``text``; ``source`` names it in errors, which are those of ``load``."""
    before, *parts = _HEAD.split(text)
    if before.strip():
        raise DashwrightError(f"{source} has text before its first “-- name:” line.")
    named: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if not _NAME.fullmatch(name):
            raise DashwrightError(f"{source} has a query named {name!r}; a name is small letters, digits and underscores.")
        if name in named:
            raise DashwrightError(f"{source} has two queries named {name}.")
        lines = [line for line in body.splitlines() if line.strip()]
        if all(line.lstrip().startswith("--") for line in lines):
            raise DashwrightError(f"{source} has a query {name} without SQL.")
        named[name] = body.strip()
    return Queries(source, named)

"""Named queries: SQL is kept in ``.sql`` files next to the store that uses it, and reads as SQL.

A file is a list of queries and fragments, each under its name and a line that says what it is for::

    -- fragment: columns
    uid, name, state

    -- name: find_job
    -- A job by its name.
    select {columns} from job where namespace = :namespace and name = :name

``{columns}`` is replaced by the fragment of that name, which may itself use fragments above it. ``:namespace`` becomes ``$1`` and
``:name`` becomes ``$2``, in the order of
their first use; ``bind`` brings values into that order::

    row = await connection.fetchrow(*sql.bind("find_job", namespace="default", name="sync-1"))

A query without named parameters may use ``$1``, ``$2`` … itself, and is passed to the connection as it is.
"""

import re
from importlib.resources import files
from typing import Any

from dashwright.common.errors import DashwrightError

_HEAD = re.compile(r"^-- (name|fragment): *(.*?) *$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Text in quotes and comments is matched first, so that it is left alone. A cast (``::text``) is no parameter.
_FRAGMENT = re.compile(r"'[^']*'|--[^\n]*|\{([a-z][a-z0-9_]*)\}")
_PARAMETER = re.compile(r"'[^']*'|--[^\n]*|(?<![:\w]):([a-z][a-z0-9_]*)")


class Queries:
    """Queries of one file; each is an attribute of type str."""

    def __init__(self, source: str, texts: dict[str, str], parameters: dict[str, tuple[str, ...]]) -> None:
        self._source = source
        self._texts = texts
        self._parameters = parameters

    def __getattr__(self, name: str) -> str:
        try:
            return self._texts[name]
        except KeyError:
            raise AttributeError(f"{self._source} has no query {name}; it has {', '.join(self._texts)}.") from None

    def __dir__(self) -> list[str]:
        return list(self._texts)

    def bind(self, query: str, /, **values: Any) -> tuple[Any, ...]:
        """Return the arguments of ``fetch``: the text of a query, then the values of its named parameters in their order.

        Raises TypeError unless exactly the parameters of the query are given.
        """
        names = self._parameters[query]
        if values.keys() != set(names):
            raise TypeError(f"{self._source}: {query} takes {', '.join(names)}; given: {', '.join(values)}")
        return (self._texts[query], *(values[name] for name in names))


def load(package: str, file: str) -> Queries:
    """Return the queries of ``file`` in ``package`` (pass ``__package__``).

    Raises DashwrightError if the file is missing or malformed; see ``parse``.
    """
    try:
        text = (files(package) / file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DashwrightError(f"There is no {file} in {package}.") from error
    return parse(text, source=f"{package}/{file}")


def parse(text: str, *, source: str) -> Queries:
    """Return the queries in ``text``; ``source`` names it in errors.

    Raises DashwrightError for text before the first name, an unknown fragment, and a name that is malformed, used twice or
    without SQL.
    """
    before, *parts = _HEAD.split(text)
    if before.strip():
        raise DashwrightError(f"{source} has text before its first “-- name:” line.")
    bodies: dict[str, str] = {}
    fragments: dict[str, str] = {}
    for sort, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if not _NAME.fullmatch(name):
            raise DashwrightError(f"{source} has a query named {name!r}; a name is small letters, digits and underscores.")
        if name in bodies or name in fragments:
            raise DashwrightError(f"{source} has two queries named {name}.")
        lines = [line for line in body.splitlines() if line.strip()]
        if all(line.lstrip().startswith("--") for line in lines):
            raise DashwrightError(f"{source} has a query {name} without SQL.")
        if sort == "name":
            bodies[name] = body.strip()
        else:
            text = "\n".join(line for line in lines if not line.startswith("--"))
            fragments[name] = _expanded(text, fragments, f"{source}: {name}")
    texts: dict[str, str] = {}
    parameters: dict[str, tuple[str, ...]] = {}
    for name, body in bodies.items():
        texts[name], parameters[name] = _numbered(_expanded(body, fragments, f"{source}: {name}"))
    return Queries(source, texts, parameters)


def _expanded(body: str, fragments: dict[str, str], place: str) -> str:
    """Return a query with its fragments filled in. Raises DashwrightError for a fragment that the file does not have."""

    def fragment(match: re.Match[str]) -> str:
        name = match[1]
        if name is not None and name not in fragments:
            raise DashwrightError(f"{place} uses an unknown fragment {name}.")
        return match[0] if name is None else fragments[name]

    return _FRAGMENT.sub(fragment, body)


def _numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a query with ``$n`` in place of its named parameters, and their names in that order."""
    names: dict[str, int] = {}

    def parameter(match: re.Match[str]) -> str:
        name = match[1]
        return match[0] if name is None else f"${names.setdefault(name, len(names) + 1)}"

    return _PARAMETER.sub(parameter, text), tuple(names)

"""Named queries: SQL is kept in ``.sql`` files next to the store that uses it, and reads as SQL.

A file is a list of queries and fragments, each under its name and a line that says what it is for::

    -- fragment: columns
    uid, name, state

    -- name: find_job
    -- A job by its name.
    select {columns} from job where namespace = :namespace and name = :name

``{columns}`` is replaced by the fragment of that name, which may itself use fragments above it. ``:namespace`` becomes ``$1`` and
``:name`` becomes ``$2``, in the order of their first use; ``bind`` brings values into that order::

    row = await connection.fetchrow(*sql.bind("find_job", namespace="default", name="sync-1"))

A query with ``{conditions}`` has a ``where`` clause that callers may narrow by conditions of the same file::

    -- name: list_jobs
    select {columns} from job where namespace = :namespace {conditions}

    -- condition: in_state
    state = :state

    rows = await connection.fetch(*sql.bind("list_jobs", conditions=["in_state"], namespace="default", state="error"))

A query without named parameters may use ``$1``, ``$2`` … itself, and is passed to the connection as it is.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from dashwright.common.errors import DashwrightError

_SECTION_HEADING = re.compile(r"^-- (name|fragment|condition): *(.*?) *$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Strings and comments are matched first, so that nothing in them is replaced. A cast (``::text``) is not a parameter.
_FRAGMENT = re.compile(r"'[^']*'|--[^\n]*|\{([a-z][a-z0-9_]*)\}")
_PARAMETER = re.compile(r"'[^']*'|--[^\n]*|(?<![:\w]):([a-z][a-z0-9_]*)")
_CONDITIONS = "conditions"


class _Statement(NamedTuple):
    """SQL that the driver executes."""

    sql: str  #: With ``$n`` in place of named parameters.
    parameters: tuple[str, ...]  #: Names of the parameters in the order of their numbers.


class Queries:
    """Queries of one file; each is an attribute of type str."""

    def __init__(self, location: str, bodies: dict[str, str], conditions: dict[str, str]) -> None:
        self._location = location
        self._bodies = bodies
        self._conditions = conditions
        #: Statements by the name of the query, followed by the names of the conditions that narrow it.
        self._statements: dict[tuple[str, ...], _Statement] = {(name,): self._statement(name) for name in bodies}
        # For access like ``sql.find_job``.
        vars(self).update({name: self._statements[name,].sql for name in bodies})

    def __getattr__(self, name: str) -> str:
        # Python calls this for missing attributes only. mypy takes the type of all queries from it.
        raise AttributeError(f"{self._location} has no query {name}; it has {', '.join(self._bodies)}.")

    def __dir__(self) -> list[str]:
        return list(self._bodies)

    def bind(self, query: str, /, *, conditions: Sequence[str] = (), **values: Any) -> tuple[Any, ...]:
        """Return the arguments of ``fetch``: the SQL of a query, then the values of its named parameters in their order.

        ``conditions`` are names of conditions that the query is narrowed by.
        Raises TypeError unless ``values`` has exactly the parameters of the query and its conditions.
        """
        key = (query, *conditions)
        if key not in self._statements:
            self._statements[key] = self._statement(*key)
        statement = self._statements[key]
        if values.keys() != set(statement.parameters):
            raise TypeError(f"{self._location}: {query} takes {', '.join(statement.parameters)}; given: {', '.join(values)}")
        return (statement.sql, *(values[name] for name in statement.parameters))

    def _statement(self, query: str, *conditions: str) -> _Statement:
        """Return the statement of a query that is narrowed by ``conditions``."""
        clause = "".join(f"\n and ({self._conditions[name]})" for name in conditions)
        return _numbered(_expanded(self._bodies[query], {_CONDITIONS: clause}, f"{self._location}: {query}"))


def load(package: str, file: str) -> Queries:
    """Return the queries of ``file`` in ``package`` (pass ``__package__``).

    Raises DashwrightError if the file is missing or malformed; see ``parse``.
    """
    try:
        source = (files(package) / file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DashwrightError(f"There is no {file} in {package}.") from error
    return parse(source, location=f"{package}/{file}")


def parse(source: str, *, location: str) -> Queries:
    """Return the queries in the content of a file. ``location`` names the file in errors.

    Raises DashwrightError for content before the first name, an unknown fragment, and a name that is malformed, used twice or
    without SQL.
    """
    preamble, *sections = _SECTION_HEADING.split(source)
    if preamble.strip():
        raise DashwrightError(f"{location} has text before its first “-- name:” line.")
    queries: dict[str, str] = {}
    # A fragment may contain {conditions}. Each caller chooses them, so it remains in the text until ``_statement`` replaces it.
    fragments = {_CONDITIONS: f"{{{_CONDITIONS}}}"}
    conditions: dict[str, str] = {}
    for section_type, name, body in zip(sections[::3], sections[1::3], sections[2::3], strict=True):
        if not _NAME.fullmatch(name):
            raise DashwrightError(f"{location} has a query named {name!r}; use a letter, then lower-case letters, digits and underscores.")
        if name in queries or name in fragments or name in conditions:
            raise DashwrightError(f"{location} has two queries named {name}.")
        lines = [line for line in body.splitlines() if line.strip()]
        if all(line.lstrip().startswith("--") for line in lines):
            raise DashwrightError(f"{location} has a query {name} without SQL.")
        if section_type == "name":  # a query
            queries[name] = body.strip()
        else:
            sql = "\n".join(line for line in lines if not line.startswith("--"))
            (fragments if section_type == "fragment" else conditions)[name] = _expanded(sql, fragments, f"{location}: {name}")
    bodies = {name: _expanded(body, fragments, f"{location}: {name}") for name, body in queries.items()}
    return Queries(location, bodies, conditions)


def _expanded(body: str, fragments: dict[str, str], location: str) -> str:
    """Return a query with fragments in place of their names in braces. Raises DashwrightError for an unknown fragment."""

    def fragment(match: re.Match[str]) -> str:
        name = match[1]
        if name is not None and name not in fragments:
            raise DashwrightError(f"{location} uses an unknown fragment {name}.")
        return match[0] if name is None else fragments[name]

    return _FRAGMENT.sub(fragment, body)


def _numbered(sql: str) -> _Statement:
    """Return a statement in which numbers replace the named parameters of a query."""
    names: dict[str, int] = {}

    def parameter(match: re.Match[str]) -> str:
        name = match[1]
        return match[0] if name is None else f"${names.setdefault(name, len(names) + 1)}"

    return _Statement(_PARAMETER.sub(parameter, sql), tuple(names))

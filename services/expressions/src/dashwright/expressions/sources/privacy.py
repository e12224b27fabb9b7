"""Errors that may contain the address of a data source, and their form for callers who may not read its settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from dashwright.common.errors import BadRequest, DashwrightError, SourceFailed
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.query_context import QueryContext

#: Errors whose message may contain an address, a user or a database.
_CONFIDENTIAL: WeakSet[DashwrightError] = WeakSet()


@contextmanager
def confidential_errors() -> Iterator[None]:
    """Mark errors of the block as confidential, because they may reveal the settings of the data source."""
    try:
        yield
    except (BadRequest, SourceFailed) as error:
        _CONFIDENTIAL.add(error)
        raise


def visible_error(context: QueryContext, record: SourceRecord | None, error: DashwrightError) -> DashwrightError:
    """Return the error, or one of the same class without details if it is confidential and the caller may not read the data source."""
    if error not in _CONFIDENTIAL or record is None or context.may_read(record.uid):
        return error
    redacted = type(error)(
        f"the data source {record.name or record.uid!r:.80} cannot be reached; ask those who may read its settings "
        "(permission datasources:read): their error names the reason",
        message_id=error.message_id,
    )
    redacted.__cause__ = error
    return redacted

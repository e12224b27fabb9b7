"""Records in the resource API: users, teams and preferences, listed in pages as they are now."""

from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.http.call import Call
from dashwright.api.resources.listing import ListPage
from dashwright.api.resources.pages import ListOptions, Position
from dashwright.api.stores import records as store
from dashwright.api.stores.records import RecordReader, StoredRecord
from dashwright.common.database.pool import Database
from dashwright.common.errors import Gone
from dashwright.common.identity import CallerType
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import changes


def reader_of(call: Call) -> RecordReader:
    """Return the organization and the user for whom a request reads records. The user of a token or key is 0."""
    identity = call.identity
    return RecordReader(identity.org_id, identity.user_id if identity.kind is CallerType.USER else 0)


class RecordSource:
    """The source of records, which are read in their current state."""

    def __init__(self, database: Database, kind: Kind, reader: RecordReader, selection: Selection, list_options: ListOptions) -> None:
        self._database = database
        self._kind = kind
        self._reader = reader
        self._selection = selection
        self._exact_version = list_options.resource_version if list_options.is_exact else None

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page of records as they are now. Raises Gone if an older version is requested."""
        last_name: str | None = "" if position is None else position.last_name
        selected_records: list[StoredRecord] = []
        async with self._database.connection() as connection:
            version = await changes.latest_version(connection)
            # Every page except the last must have a record, so pages are read until a record matches.
            while last_name is not None and not selected_records:
                records, is_last = await store.page(connection, self._kind, self._reader, after=last_name, limit=limit)
                last_name = None if is_last else records[-1].name
                selected_records = [record for record in records if matches(self._selection, record.labels, record.name)]
        if self._exact_version is not None and self._exact_version < version:
            raise Gone(
                f"{self._kind.plural} can be listed only at the newest version, {version}, and not at {self._exact_version}; "
                "list without a resourceVersion"
            )
        sizes = [len(record.spec) for record in selected_records]
        return ListPage(version if position is None else position.resource_version, selected_records, sizes, last_name)

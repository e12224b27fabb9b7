"""Storage of data sources. Secrets are stored encrypted; only ``find`` and ``move_secrets`` decrypt them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.database.unique_violations import convert_unique_violations
from dashwright.common.errors import AlreadyExists, SourceFailed
from dashwright.common.models.data_source_shapes import Access
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.secrets import SecretCipher, SecretUnreadable

_sql = queries.load(__package__, "data_sources.sql")


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a data source that a user can set."""

    name: str
    type: str
    uid: str = ""  #: If empty, a new uid is generated.
    access: Access = "proxy"
    url: str = ""
    user: str = ""
    database: str = ""
    basic_auth: bool = False
    basic_auth_user: str = ""
    with_credentials: bool = False
    is_default: bool = False
    json_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredDataSource:
    """A stored data source, with the names of its secrets but not their values."""

    id: int
    org_id: int
    version: int
    secret_names: Sequence[str]
    fields: Fields

    @property
    def uid(self) -> str:
        """The uid of the data source."""
        return self.fields.uid

    @property
    def name(self) -> str:
        """The name of the data source."""
        return self.fields.name


async def find(connection: Connection, cipher: SecretCipher, org_id: int, uid: str) -> SourceRecord | None:
    """Return the data source with this uid, including its decrypted secrets, or None.

    Raises SourceFailed if a secret cannot be decrypted.
    """
    return _source_record(await connection.fetchrow(_sql.find, org_id, uid), cipher)


async def list_all(connection: Connection, org_id: int) -> Sequence[StoredDataSource]:
    """Return all data sources of an organization, by name."""
    return [_data_source(row) for row in await connection.fetch(_sql.list_all, org_id)]


async def get(
    connection: Connection, org_id: int, *, source_id: int | None = None, uid: str | None = None, name: str | None = None
) -> StoredDataSource | None:
    """Return the data source with this id, uid or name, or None. Pass exactly one of the three."""
    row = await connection.fetchrow(_sql.get, org_id, source_id, uid, name)
    return None if row is None else _data_source(row)


async def lock(connection: Connection, org_id: int) -> None:
    """Make the caller's transaction the only writer of an organization's data sources. Call this after ``quotas.reserve``."""
    await connection.execute(_sql.lock, org_id)


async def insert(connection: Connection, org_id: int, fields: Fields, *, actor: str) -> tuple[int, str]:
    """Create a data source under ``lock`` and return its id and uid. Raises AlreadyExists if the name or uid is in use."""
    # An organization has one default at most.
    if fields.is_default:
        await connection.execute(_sql.clear_default, org_id, None)
    with _convert_name_violations():
        row = await connection.fetchrow(_sql.insert, org_id, fields.uid, *_values(fields), actor)
    assert row is not None, "an insert without a condition writes its row"
    return row["id"], row["uid"]


async def update(connection: Connection, org_id: int, source_id: int, fields: Fields) -> None:
    """Replace all fields of a data source under ``lock``. Raises AlreadyExists if the name or uid is in use."""
    if fields.is_default:
        await connection.execute(_sql.clear_default, org_id, source_id)
    with _convert_name_violations():
        await connection.execute(_sql.update, org_id, source_id, fields.uid, *_values(fields))


async def delete(connection: Connection, org_id: int, source_id: int) -> Mapping[str, str] | None:
    """Delete a data source with its secrets; return its ``uid``, ``name`` and ``type``, or None if it did not exist."""
    row = await connection.fetchrow(_sql.delete, org_id, source_id)
    return None if row is None else dict(row)


async def put_secrets(
    connection: Connection, cipher: SecretCipher, org_id: int, source_id: int, uid: str, secrets: Mapping[str, str]
) -> None:
    """Encrypt and store secrets of the data source, replacing those of the same names."""
    sealed = [cipher.encrypt(plaintext, owner_of(org_id, uid, name)) for name, plaintext in secrets.items()]
    await connection.execute(_sql.put_secrets, source_id, list(secrets), sealed)


async def remove_secrets(connection: Connection, source_id: int, names: Collection[str]) -> None:
    """Delete secrets by name."""
    await connection.execute(_sql.remove_secrets, source_id, list(names))


async def move_secrets(
    connection: Connection, cipher: SecretCipher, org_id: int, source_id: int, old_uid: str, uid: str, exclude: Collection[str]
) -> None:
    """Encrypt the secrets of a data source again for its new uid, except those named in ``exclude``.

    Raises SecretUnreadable if a secret cannot be decrypted.
    """
    # The encryption binds each secret to the uid of its data source.
    rows = [row for row in await connection.fetch(_sql.list_secrets, source_id) if row["name"] not in exclude]
    plaintexts = {row["name"]: cipher.decrypt(row["sealed"], owner_of(org_id, old_uid, row["name"])) for row in rows}
    await put_secrets(connection, cipher, org_id, source_id, uid, plaintexts)


async def count_foreign(connection: Connection, cipher: SecretCipher) -> int:
    """Return the number of stored secrets that were encrypted under a key that is not configured."""
    return int(await connection.fetchval(_sql.count_foreign, list(cipher.headers)))


def owner_of(org_id: int, uid: str, name: str) -> str:
    """Return the record to which the encryption binds a secret. It is unique for each secret, since uids contain no slash."""
    return f"org/{org_id}/data-source/{uid}/{name}"


def _convert_name_violations() -> Any:
    return convert_unique_violations(
        {
            "data_source_org_id_name_key": AlreadyExists("data source with the same name already exists"),
            "data_source_org_id_uid_key": AlreadyExists("data source with the same uid already exists"),
        }
    )


def _values(fields: Fields) -> tuple[Any, ...]:
    return (
        fields.name,
        fields.type,
        fields.access,
        fields.url,
        fields.user,
        fields.database,
        fields.basic_auth,
        fields.basic_auth_user,
        fields.with_credentials,
        fields.is_default,
        orjson.dumps(dict(fields.json_data)).decode(),
    )


def _data_source(row: Any) -> StoredDataSource:
    fields = Fields(
        name=row["name"],
        type=row["type"],
        uid=row["uid"],
        access=row["access"],
        url=row["url"],
        user=row["user"],
        database=row["database"],
        basic_auth=row["basic_auth"],
        basic_auth_user=row["basic_auth_user"],
        with_credentials=row["with_credentials"],
        is_default=row["is_default"],
        json_data=orjson.loads(row["json_data"]),
    )
    return StoredDataSource(row["id"], row["org_id"], row["version"], tuple(row["secret_names"]), fields)


def _source_record(row: Any, cipher: SecretCipher) -> SourceRecord | None:
    """Return the data source of a row with its decrypted secrets. Raises SourceFailed if one cannot be decrypted."""
    if row is None:
        return None
    org_id, uid = row["org_id"], row["uid"]
    try:
        secrets = {
            name: cipher.decrypt(sealed, owner_of(org_id, uid, name)) for name, sealed in zip(row["names"], row["sealed"], strict=True)
        }
    except SecretUnreadable as error:
        raise SourceFailed(f"The data source {row['name']!r} cannot be queried. {error.message}") from error
    return SourceRecord(
        id=row["id"],
        org_id=org_id,
        uid=uid,
        name=row["name"],
        type=row["type"],
        url=row["url"],
        user=row["user"],
        database=row["database"],
        basic_auth=row["basic_auth"],
        basic_auth_user=row["basic_auth_user"],
        json_data=orjson.loads(row["json_data"]),
        version=row["version"],
        secrets=secrets,
    )

"""Rotation of keys: every stored secret is sealed again under the current key and can be opened at any time."""

import base64
import json
import uuid

import pytest
from pydantic import SecretStr

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.notifications import receiver_secret_owner, signing_secret_owner
from dashwright.common.kinds.registry import BATCH, REPOSITORY
from dashwright.common.kinds.repository import signing_key_owner, ssh_key_owner, token_owner, webhook_secret_owner
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import load
from dashwright.common.stores import data_sources, notifications, resources
from dashwright.common.stores.notifications import Notification, Receiver
from dashwright.standalone import resealing
from dashwright.standalone.rotation import _rotate

FORMER_CIPHER = SecretCipher.from_keys("the former key")
NEXT_CIPHER = SecretCipher.from_keys("the next key")
CIPHER_OF_LOST_KEY = SecretCipher.from_keys("a key that was lost")
CIPHER_OF_BOTH_KEYS = SecretCipher.from_keys("the next key", "the former key")
#: The owners to which secrets of the repository ``r`` and of the batch ``b`` are bound.
TOKEN = token_owner("default", "r")
HOOK = webhook_secret_owner("default", "r")
SIGNING_KEY = signing_key_owner("default", "r")
SSH_KEY = ssh_key_owner("default", "r")
SIGNATURE = signing_secret_owner("default", "b")
RECEIVERS = {name: receiver_secret_owner("default", "r", name) for name in ("chat", "pager")}
#: A number that a conversion to a float would change.
BIG_NUMBER = 2**60 + 1


def seal(secret: str, binding: str) -> str:
    """Seal a secret under the former key, as text."""
    return base64.b64encode(FORMER_CIPHER.encrypt(secret, binding)).decode()


async def store_secrets(connection: Connection) -> None:
    """Store each kind of secret: of three generations of a repository, of its webhook, a data source, a batch and an event."""
    for kind, member, sealed in (
        ("githost", "encryptedToken", seal("token 1", TOKEN)),
        ("github", "encryptedToken", seal("token 2", TOKEN)),
        ("git", "encryptedSshKey", seal("key", SSH_KEY)),
    ):
        block = {"url": "https://git.example/1", member: sealed, "encryptedSigningKey": seal(f"signing {kind}", SIGNING_KEY)}
        receivers = [{"name": name, "encryptedSecret": seal(f"{name} {kind}", RECEIVERS[name])} for name in RECEIVERS]
        spec = json.dumps({"type": kind, kind: block, "notifications": receivers, "big": BIG_NUMBER})
        write = resources.Write(REPOSITORY, "r", spec, REPOSITORY.version, extract=Extract("R"))
        await resources.put(await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now())
    status = json.dumps({"webhook": {"encryptedSecret": seal("signs", HOOK)}})
    await resources.write_status(connection, REPOSITORY, "default", "r", status.encode())
    hook_block = json.dumps({"encryptedToken": seal("token 1", TOKEN)})
    uid = await connection.fetchval("select uid from resource where name = 'r'")
    await connection.execute("insert into repository_hook (uid, generation, githost, due) values ($1, 1, $2, now())", uid, hook_block)
    await connection.execute("insert into hook_to_remove (namespace, name, hook, githost) values ('default', 'r', 1, $1)", hook_block)
    await connection.execute("insert into org (name) values ('Main Org.')")
    source = await connection.fetchval("insert into data_source (org_id, uid, name, type) values (1, 'p', 'P', 'prometheus') returning id")
    webhook = {"url": "https://example.com/", "encryptedSecret": seal("whsec", SIGNATURE)}
    batch = resources.Write(BATCH, "b", json.dumps({"notify": {"webhook": webhook}}), BATCH.version, extract=Extract("B"))
    await resources.put(await resources.lock(connection, "default"), "default", batch, actor="user:1", now=Clock().now())
    receiver = Receiver("webhook", "https://example.com/", "https://example.com", seal("whsec", SIGNATURE))
    notification = Notification(
        id=uuid.uuid4(),
        subject_kind="batch",
        subject=uuid.uuid4(),
        namespace="default",
        name="b",
        event="{}",
        receivers=[receiver, Receiver("queue", "q", "q")],
    )
    await notifications.add(connection, notification)
    await data_sources.put_secrets(connection, FORMER_CIPHER, 1, source, "p", {"a": "1", "b": "2", "c": "3"})


async def open_all(connection: Connection, cipher: SecretCipher) -> list[str]:
    """Return every stored secret in clear text, in a fixed order."""
    texts = [
        (row[0], owner)
        for path, owner in (
            *(("githost,encryptedToken", TOKEN), ("github,encryptedToken", TOKEN), ("git,encryptedSshKey", SSH_KEY)),
            *((f"{kind},encryptedSigningKey", SIGNING_KEY) for kind in ("githost", "github", "git")),
        )
        for row in await connection.fetch(f"select spec::jsonb #>> '{{{path}}}' from resource_history")
    ]
    texts += [
        (row[0], SIGNATURE)
        for row in await connection.fetch("select spec::jsonb #>> '{notify,webhook,encryptedSecret}' from resource_history")
    ]
    texts += [
        (row[0], owner)
        for index, owner in enumerate(RECEIVERS.values())
        for row in await connection.fetch(
            "select spec::jsonb #>> array['notifications', $1, 'encryptedSecret'] from resource_history", str(index)
        )
    ]
    texts += [(row[0], SIGNATURE) for row in await connection.fetch("select secret from notification")]
    texts += [(row[0], HOOK) for row in await connection.fetch("select status::jsonb #>> '{webhook,encryptedSecret}' from resource")]
    for table in ("repository_hook", "hook_to_remove"):
        texts += [(row[0], TOKEN) for row in await connection.fetch(f"select githost::jsonb ->> 'encryptedToken' from {table}")]
    secrets = [cipher.decrypt(base64.b64decode(value), binding) for value, binding in texts if value is not None]
    record = await data_sources.find(connection, cipher, 1, "p")
    assert record is not None
    return sorted([*secrets, *record.secrets.values()])


#: The secrets that ``store_secrets`` stores, in the order of ``open_all``.
SECRETS = sorted(
    [
        *("token 1", "token 2", "key", "signing githost", "signing github", "signing git"),
        *("signs", "token 1", "token 1", "1", "2", "3", "whsec", "whsec"),
        *(f"{name} {kind}" for name in RECEIVERS for kind in ("githost", "github", "git")),
    ]
)


async def reseal_counts(database: Database, cipher: SecretCipher, *, batch: int, dry_run: bool = False) -> tuple[int, int, int]:
    """Seal all secrets again; return how many were resealed, were sealed under the current key already, and could not be opened."""
    reports = [progress async for progress in resealing.reseal(database, cipher, batch=batch, dry_run=dry_run)]
    return (
        sum(progress.resealed for progress in reports),
        sum(progress.current for progress in reports),
        sum(progress.unreadable for progress in reports),
    )


@pytest.mark.parametrize("batch", [1, 2, 100])
async def test_every_secret_is_sealed_under_the_current_key(database: Database, batch: int) -> None:
    """Batches of any size seal every secret, and keep numbers of specs exactly. A second run finds nothing to do."""
    async with database.transaction() as connection:
        await store_secrets(connection)
        assert await open_all(connection, FORMER_CIPHER) == SECRETS
    assert await reseal_counts(database, CIPHER_OF_BOTH_KEYS, batch=batch, dry_run=True) == (len(SECRETS), 0, 0)
    assert await reseal_counts(database, FORMER_CIPHER, batch=batch, dry_run=True) == (0, len(SECRETS), 0)
    assert await reseal_counts(database, CIPHER_OF_BOTH_KEYS, batch=batch) == (len(SECRETS), 0, 0)
    async with database.connection() as connection:
        assert await open_all(connection, NEXT_CIPHER) == SECRETS
        assert await connection.fetchval("select count(*) from resource_history where spec like $1", f"%{BIG_NUMBER}%") == 3
    assert await reseal_counts(database, NEXT_CIPHER, batch=batch) == (0, len(SECRETS), 0)


async def test_an_interrupted_rotation_continues(database: Database) -> None:
    """An interrupted rotation continues with the remaining secrets. In between, all secrets can be opened with both keys."""
    async with database.transaction() as connection:
        await store_secrets(connection)
    rotation = resealing.reseal(database, CIPHER_OF_BOTH_KEYS, batch=2, dry_run=False)
    first = await anext(rotation)
    await rotation.aclose()  # type: ignore[attr-defined]
    assert first.resealed == 2
    async with database.connection() as connection:
        assert await open_all(connection, CIPHER_OF_BOTH_KEYS) == SECRETS
    assert await reseal_counts(database, CIPHER_OF_BOTH_KEYS, batch=2) == (len(SECRETS) - 2, 2, 0)


async def test_an_unreadable_secret_is_counted_and_kept(database: Database) -> None:
    """A secret that no key opens is not changed, and can be opened once its key is available."""
    async with database.transaction() as connection:
        await store_secrets(connection)
    assert await reseal_counts(database, CIPHER_OF_LOST_KEY, batch=3) == (0, 0, len(SECRETS))
    async with database.connection() as connection:
        assert await open_all(connection, FORMER_CIPHER) == SECRETS


async def test_the_command_uses_the_settings(database: Database, database_url: str) -> None:
    """The command seals under SECRET_KEY what it has opened with SECRET_KEYS_ACCEPTED."""
    async with database.transaction() as connection:
        await store_secrets(connection)
    settings = load(secret_key="the next key", secret_keys_accepted="another, the former key", database_url=SecretStr(database_url))
    counted = await _rotate(settings, batch=100, dry_run=False)
    # Each of three generations of the repository has four secrets. A webhook's secret is in a status, and its token in two tables.
    assert {kind: counted[kind, "resealed"] for kind, outcome in counted if outcome == "resealed"} == {
        "data sources": 3,
        "repositories": 12,
        "webhooks": 3,
        "batches": 2,
    }
    async with database.connection() as connection:
        assert await open_all(connection, NEXT_CIPHER) == SECRETS

"""The command ``dashwright admin rotate-secrets``: it seals every stored secret with the current SECRET_KEY."""

import asyncio
import sys
from collections import Counter
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from pydantic import SecretStr

from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.observability import logging
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings, SettingsError, load, secret_keys
from dashwright.standalone import resealing, secret_key
from dashwright.standalone.postgres import open_database

# Exit statuses.
UNREADABLE, NOT_RUN = 1, 2
_SERVICE = "dashwright-rotate-secrets"


def rotate_secrets(
    *,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    batch: Annotated[int, Parameter(validator=Number(gte=1, lte=10_000))] = 200,
) -> int:
    """Seal every stored secret with DASHWRIGHT_SECRET_KEY, including those sealed with DASHWRIGHT_SECRET_KEYS_ACCEPTED.

    Services may run at the same time, and the command can be interrupted and repeated. The exit status is 0 if every secret is sealed
    with the current key, 1 if some could not be decrypted and were left unchanged, 2 if nothing was done.

    Parameters
    ----------
    dry_run
        Count the secrets, but write nothing.
    batch
        The number of secrets per transaction.
    """
    logging.configure(_SERVICE)
    try:
        counts = asyncio.run(_rotate(load(), batch=batch, dry_run=dry_run))
    except (DashwrightError, SettingsError) as error:
        print(f"dashwright admin rotate-secrets: {error}", file=sys.stderr)
        return NOT_RUN
    verb = "would be sealed" if dry_run else "sealed"
    for kind in sorted({kind for kind, _ in counts}):  # Keys are kinds and outcomes.
        resealed, current, unreadable = (counts[kind, outcome] for outcome in ("resealed", "current", "unreadable"))
        print(f"{kind}: {resealed} {verb} with the current key, {current} already were, {unreadable} could not be decrypted")
    if any(count for (_, outcome), count in counts.items() if outcome == "unreadable"):
        print(
            "Add the key of the secrets that could not be decrypted to DASHWRIGHT_SECRET_KEYS_ACCEPTED, or enter those secrets again.",
            file=sys.stderr,
        )
        return UNREADABLE
    return 0


async def _rotate(settings: Settings, *, batch: int, dry_run: bool) -> Counter[tuple[str, str]]:
    """Return the number of secrets by kind and outcome, which is ``resealed``, ``current`` or ``unreadable``."""
    counts: Counter[tuple[str, str]] = Counter()
    async with open_database(settings) as (url, folder):
        if not settings.secret_key:
            settings = settings.model_copy(update={"secret_key": SecretStr(secret_key.read_or_create(folder))})
        database = await Database.open(url, application_name=_SERVICE, max_size=1)
        try:
            async for batch_result in resealing.reseal(
                database, SecretCipher.from_keys(*secret_keys(settings)), batch=batch, dry_run=dry_run
            ):
                counts[batch_result.kind, "resealed"] += batch_result.resealed
                counts[batch_result.kind, "current"] += batch_result.current
                counts[batch_result.kind, "unreadable"] += batch_result.unreadable
        finally:
            await database.close()
    return counts

"""``dashwright migrate``: migrates the database schema to this version."""

import asyncio
import os
import sys

from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError
from dashwright.common.observability import logging
from dashwright.common.process import warn_of_unknown_settings
from dashwright.common.settings import SettingsError, load, require

SERVICE = "dashwright"


def migrate() -> int:
    """Migrate the database of DASHWRIGHT_DATABASE_URL to this version's schema.

    The exit status is 0, or 1 if the database cannot be migrated.
    """
    logging.configure(SERVICE)
    warn_of_unknown_settings(os.environ)
    try:
        applied_migrations = asyncio.run(schema.migrate(require(load().database_url, "DATABASE_URL")))
    except (SettingsError, DashwrightError) as error:
        sys.stderr.write(f"dashwright migrate: {error}\n")
        return 1
    sys.stdout.write(f"applied: {', '.join(applied_migrations)}\n" if applied_migrations else "nothing to do: the schema is current\n")
    return 0

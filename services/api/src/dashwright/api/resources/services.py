"""The parts of a gateway that the verbs of the resource API use."""

from dataclasses import dataclass

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.changes.feed import Feed
from dashwright.api.jobs import Jobs
from dashwright.api.resources.watching.lines import Lines
from dashwright.api.resources.writing.writer import Writer
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    """The parts, composed once for a gateway."""

    settings: Settings
    database: Database
    clock: Clock
    admission: AdmissionSettings
    jobs: Jobs
    feed: Feed
    policy: AccessPolicy
    lines: Lines
    writer: Writer

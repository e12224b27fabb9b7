"""The components of a gateway that the verbs of the resource API use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.batches.batches import Batches
from dashwright.api.batches.open_batch import ItemLimits
from dashwright.api.batches.results import BatchResults
from dashwright.api.batches.upload import ItemUploads
from dashwright.api.changes.feed import Feed
from dashwright.api.dead_letters.letters import DeadLetters
from dashwright.api.job_repositories import JobRepositories
from dashwright.api.jobs import Jobs
from dashwright.api.resources.conversion_contexts import ConversionContexts
from dashwright.api.resources.watching.lines import EventLines
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.receiver_sealing import ReceiverSecretSealer
from dashwright.api.resources.writing.sealing import SecretSealer, TokenSealer
from dashwright.api.resources.writing.webhook_sealing import WebhookSecretSealer
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import BATCH, REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.object_storage import ObjectStorage
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    """The components, which the gateway creates once."""

    settings: Settings
    database: Database
    clock: Clock
    admission: AdmissionSettings
    jobs: Jobs
    batches: Batches
    item_uploads: ItemUploads
    batch_results: BatchResults
    dead_letters: DeadLetters
    feed: Feed
    policy: AccessPolicy
    event_lines: EventLines
    writer: Writer
    conversion_contexts: ConversionContexts


def create_services(
    settings: Settings,
    database: Database,
    jobs: Jobs,
    job_repositories: JobRepositories,
    item_limits: ItemLimits,
    dead_letters: DeadLetters,
    feed: Feed,
    clock: Clock,
    cipher: SecretCipher,
    jobs_worker: RepositoryClient,
    policy: AccessPolicy,
) -> Services:
    """Return the components. The arguments are components that other parts of the gateway use, too."""
    local_paths = tuple(str(path) for path in settings.local_paths)
    allowed_hosts = AllowedHosts.parse(settings.allowed_hosts)
    admission = AdmissionSettings(local_paths, settings.min_refresh, settings.folder_depth, allowed_hosts, settings.playlists)
    return Services(
        settings,
        database,
        clock,
        admission,
        jobs,
        Batches(database),
        ItemUploads(database, job_repositories, item_limits),
        BatchResults(database, ObjectStorage.at(settings.results_location)),
        dead_letters,
        feed,
        policy,
        EventLines(database),
        Writer(database, clock, admission, settings.quota_rules, policy, secret_sealers(cipher), Edits(database, jobs_worker, clock)),
        ConversionContexts(database, settings.conversion_cache_bytes),
    )


def secret_sealers(cipher: SecretCipher) -> Mapping[Kind, Sequence[SecretSealer]]:
    """Return the sealers of the secrets of each kind that has secrets."""
    return {REPOSITORY: (ReceiverSecretSealer(cipher), TokenSealer(cipher)), BATCH: (WebhookSecretSealer(cipher),)}

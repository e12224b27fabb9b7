"""Declaration of the settings of single features. ``settings_fields`` has those of services, queries, jobs and repositories."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import Days, Positive, Seconds, setting

_Count = Annotated[int, Field(ge=0)]


class FeatureSettingsFields(BaseSettings):
    """Settings of single features, grouped by feature."""

    # Results of batches
    results_url: str = setting(
        "",
        "where the results of batches are stored: a directory, or `s3://bucket/prefix` of S3 or a compatible server. Give api and "
        "jobs-worker the same value; a directory must be the same for all of them "
        "([results of batches](../how-to/operations.md#results-of-batches))",
        "api, jobs-worker",
        displayed_default="`DATA_DIR/batches`",
    )
    results_endpoint: str = setting(
        "",
        "address of a server that is compatible with S3, such as `https://storage.example.com`; `http` is permitted on this machine, and "
        "for hosts in `ALLOWED_HOSTS`",
        "api, jobs-worker",
        displayed_default="that of AWS",
    )
    results_region: str = setting("us-east-1", "region of the bucket in `RESULTS_URL`", "api, jobs-worker", min_length=1)
    results_access_key: SecretStr | None = setting(
        None, "access key id for `RESULTS_URL`; without one, the credentials are those that AWS gives to the machine", "api, jobs-worker"
    )
    results_secret_key: SecretStr | None = setting(None, "secret access key that belongs to `RESULTS_ACCESS_KEY`", "api, jobs-worker")

    # Snapshots and other small objects of users
    snapshots: _Count = setting(
        1000,
        "maximum number of stored [snapshots](classic.md#snapshots) of one organization, of at most 5 MiB each; a further one is "
        "refused with 403. `0` disables snapshots",
        "api",
    )
    playlists: Positive = setting(1000, "maximum number of playlists of one organization; a further one is refused with 403", "api")
    short_urls: Positive = setting(10_000, "maximum number of short URLs of one organization; a further one is refused with 403", "api")
    short_url_days: Days = setting(90, "days after their last use at which short URLs are deleted; `0` keeps them", "api")
    query_history: Positive = setting(
        1000, "number of entries that the query history of a user keeps; older ones are deleted, those with a star last", "api"
    )
    query_history_days: Days = setting(
        14, "days after which entries without a star are deleted from query histories; `0` keeps them", "api"
    )

    # Versions of dashboards
    preferred_dashboard_version: Literal["v0alpha1", "v1alpha1", "v1beta1", "v1", "v2alpha1", "v2beta1", "v2"] = setting(
        "v2alpha1",
        "version of dashboards that discovery prefers, and that clients such as kubectl therefore read: "
        "`v0alpha1`, `v1alpha1`, `v1beta1`, `v1`, `v2alpha1`, `v2beta1` or `v2`",
        "api",
    )
    conversion_cache_bytes: _Count = setting(
        64 * 1024 * 1024,
        "maximum memory of one gateway for dashboards that were converted to another version; `0` disables the cache",
        "api",
    )

    # Repositories that are declared in files
    provisioning_dir: Path | None = setting(
        None,
        "directory with files that declare repositories; the gateway creates, updates and deletes the repositories accordingly "
        "([repositories declared in files](repositories.md#repositories-declared-in-files)). Give all gateways the same files",
        "api",
    )
    provisioning_seconds: Seconds = setting(10, "seconds between two reads of `PROVISIONING_DIR`", "api")

    # SSH connections to git hosts
    git_seconds: Seconds = setting(600, "maximum number of seconds that a fetch or push of a job may take", "jobs-worker")
    git_idle_seconds: Seconds = setting(
        90,
        "seconds without any data from a git host, after which a fetch or push is given up. Raise this for a host that needs more time "
        "to prepare a large repository",
        "jobs-worker",
    )
    git_authorities: Path | None = setting(
        None,
        "PEM file of the certificate authorities that are trusted for git hosts",
        "jobs-worker",
        displayed_default="the system's",
    )
    ssh_known_hosts: Path | None = setting(
        None,
        "file in the format of OpenSSH's `known_hosts` with host keys that all repositories accept, in addition to the keys in their own "
        "`knownHosts`. A host with any other key is refused",
        "jobs-worker",
        displayed_default="none",
    )

    # Notifications
    notification_seconds: Seconds = setting(
        86_400,
        "time after an event, in seconds, in which its [notification](notifications.md) is sent again while a receiver does not accept it",
        "jobs-worker",
    )
    notifications_kept: Positive = setting(
        10_000,
        "maximum number of [notifications](notifications.md#delivery) of one organization that wait; above it, the oldest are deleted",
        "jobs-worker",
    )

    # The proxy to data sources
    proxy_max_bytes: Positive = setting(
        100 * 1024 * 1024, "maximum size of a response of a data source that the proxy forwards, in bytes as sent", "api"
    )
    proxy_seconds: Seconds = setting(300, "maximum duration of a proxied request with its response, in seconds", "api")
    proxy_streams: Annotated[int, Field(gt=1, le=10_000)] = setting(
        128,
        "maximum number of concurrent proxied requests of one gateway; a quarter is reserved for organizations without a proxied "
        "request, and one caller may use half of this number",
        "api",
    )

    @field_validator("provisioning_dir", mode="before")
    @classmethod
    def _read_empty_as_none(cls, value: object) -> object:
        return None if value == "" else value

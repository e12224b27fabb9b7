"""Declaration of the settings of single features. ``settings_fields`` has those of services, queries, jobs and repositories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode

from dashwright.common.setting_field import Days, Positive, Seconds, setting

_Count = Annotated[int, Field(ge=0)]


class FeatureSettingsFields(BaseSettings):
    """Settings of single features, grouped by feature."""

    # Results of batches
    results_url: str = setting(
        "",
        "where the results of batches are stored: a directory, or `s3://bucket/prefix` on S3 or a compatible server. Give api and "
        "jobs-worker the same value. If it is a directory, all of these processes must have the same directory ([results of "
        "batches](../how-to/operations.md#results-of-batches))",
        "api, jobs-worker",
        displayed_default="`DATA_DIR/batches`",
    )
    results_endpoint: str = setting(
        "",
        "address of a server that is compatible with S3, such as `https://storage.example.com`. `http` is permitted for this machine, and "
        "for hosts in `ALLOWED_HOSTS`",
        "api, jobs-worker",
        displayed_default="that of AWS",
    )
    results_region: str = setting("us-east-1", "region of the bucket in `RESULTS_URL`", "api, jobs-worker", min_length=1)
    results_access_key: SecretStr | None = setting(
        None, "access key id for `RESULTS_URL`. Without it, the credentials are those that AWS gives to the machine", "api, jobs-worker"
    )
    results_secret_key: SecretStr | None = setting(None, "secret access key that belongs to `RESULTS_ACCESS_KEY`", "api, jobs-worker")

    # Snapshots and other small objects of users
    snapshots: _Count = setting(
        1000,
        "maximum number of stored [snapshots](classic.md#snapshots) of one organization; further snapshots are refused with 403. A "
        "snapshot has at most 5 MiB. `0` disables snapshots",
        "api",
    )
    playlists: Positive = setting(1000, "maximum number of playlists of one organization; further playlists are refused with 403", "api")
    short_urls: Positive = setting(
        10_000, "maximum number of short URLs of one organization; further short URLs are refused with 403", "api"
    )
    short_url_days: Days = setting(90, "days after its last use at which a short URL is deleted; `0` keeps short URLs", "api")
    query_history: Positive = setting(
        1000,
        "maximum number of entries in the query history of a user, in all organizations together. If there are more, the oldest are "
        "deleted; entries with a star are deleted last",
        "api",
    )
    query_history_days: Days = setting(
        14, "days after which entries without a star are deleted from query histories; `0` keeps these entries", "api"
    )

    # Versions of dashboards
    versions_kept: Positive = setting(20, "number of versions that are kept of each dashboard: the newest ones", "jobs-worker, import")
    trash_days: Days = setting(30, "days for which a deleted dashboard can be restored", "api, jobs-worker")
    preferred_dashboard_version: Literal["v0alpha1", "v1alpha1", "v1beta1", "v1", "v2alpha1", "v2beta1", "v2"] = setting(
        "v2alpha1",
        "API version of dashboards that discovery prefers: `v0alpha1`, `v1alpha1`, `v1beta1`, `v1`, `v2alpha1`, `v2beta1` or `v2`. "
        "Clients such as kubectl read dashboards in this version",
        "api",
    )
    conversion_cache_bytes: _Count = setting(
        64 * 1024 * 1024,
        "maximum memory of one gateway for dashboards that were converted to another API version; `0` disables the cache",
        "api",
    )

    # Repositories that are declared in files
    provisioning_dir: Path | None = setting(
        None,
        "directory with files that declare repositories. The gateway creates, updates and deletes repositories as the files say "
        "([repositories declared in files](repositories.md#repositories-declared-in-files)). Give all gateways the same files",
        "api",
    )
    provisioning_seconds: Seconds = setting(10, "seconds between two reads of `PROVISIONING_DIR`", "api")

    # Connections to git hosts
    git_seconds: Seconds = setting(600, "maximum time of a fetch or push by a job, in seconds", "jobs-worker")
    git_idle_seconds: Seconds = setting(
        90,
        "seconds after which a fetch or push fails if the git host sends no data. Increase this value for a host that needs more time to "
        "prepare a large repository",
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
        "file in the format of OpenSSH's `known_hosts`. All repositories accept its host keys, in addition to the keys in their own "
        "`knownHosts`. A host with any other key is refused",
        "jobs-worker",
        displayed_default="none",
    )
    host_requests: Annotated[int, Field(ge=0)] = setting(
        600,
        "maximum number of requests per minute that all workers together send to one git host (name and port); `0` means unlimited. The "
        "last quarter is reserved for requests that a caller waits for. An organization must leave some requests to other organizations: "
        "an eighth of the number that it has sent in the last minute, such as 50 after 400 requests. A fetch counts as three requests. A "
        "check of a branch counts as one request, but as two over SSH or for a host without version 2 of the git protocol",
        "jobs-worker",
    )
    git_host_apis: Annotated[Mapping[str, str], NoDecode] = setting(
        None,
        "comma-separated list that describes git hosts as `host=kind`, `host=address` or `host=kind+address` (or `host:port=…`). The kind "
        "is `github`, `gitlab`, `gitea` or `bitbucket`, and the address is that of the REST API. An entry is needed only if the host is "
        "not recognized or the address is not the usual one ([git hosts](pull-requests.md#git-hosts)). An address that ends in `/api/v3`, "
        "`/api/v4`, `/api/v1` or `/2.0` implies the kind. `host=` alone means that the host has no API",
        "jobs-worker",
        displayed_default="empty",
        default_factory=dict,
    )

    # Notifications
    notification_seconds: Seconds = setting(
        86_400,
        "seconds after an event, during which its [notification](notifications.md) is sent again as long as a receiver does not accept it",
        "jobs-worker",
    )
    notifications_kept: Positive = setting(
        10_000,
        "maximum number of waiting [notifications](notifications.md#delivery) of one organization. If there are more, the oldest are "
        "deleted",
        "jobs-worker",
    )

    # The proxy to data sources
    proxy_max_bytes: Positive = setting(
        100 * 1024 * 1024, "maximum size of a response that the proxy forwards, in bytes as the data source sent it", "api"
    )
    proxy_seconds: Seconds = setting(300, "maximum time of a proxied request, including its response, in seconds", "api")
    proxy_streams: Annotated[int, Field(gt=1, le=10_000)] = setting(
        128,
        "maximum number of concurrent proxied requests of one gateway. A quarter of them is reserved for organizations without a proxied "
        "request. One caller may use half of them",
        "api",
    )

    @field_validator("provisioning_dir", mode="before")
    @classmethod
    def _read_empty_as_none(cls, value: object) -> object:
        return None if value == "" else value

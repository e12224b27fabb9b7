"""Declaration of every setting: its type, default, meaning and unit, and the programs that read it.

``make docs`` writes docs/reference/settings.md from it.
"""

import ipaddress
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode

DEFAULT_PASSWORD = "admin"  # noqa: S105

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Days = Annotated[int, Field(ge=0, le=36_500)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def setting(
    default: Any,
    description: str,
    read_by: str,
    *,
    shown: str | None = None,
    default_factory: Callable[[], Any] | None = None,
    **constraints: Any,
) -> Any:
    """Return the field of a setting.

    ``read_by`` names the services and commands that read it, separated by commas; ``shown`` is the default in the documentation
    if it differs from ``default``.
    """
    extra: dict[str, Any] = {"read_by": read_by, "shown": shown}
    if default_factory is not None:
        return Field(default_factory=default_factory, description=description, json_schema_extra=extra, **constraints)
    return Field(default=default, description=description, json_schema_extra=extra, **constraints)


class SettingsFields(BaseSettings):
    """Settings of all services; each service reads those it needs."""

    http_host: str = setting("127.0.0.1", "address on which the gateway listens", "api")
    http_port: Annotated[int, Field(ge=0, le=65535)] = setting(3000, "port of the gateway; with `0` the system chooses one", "api")
    tls_cert: Path | None = setting(None, "PEM file; with `TLS_KEY` the gateway serves https", "api")
    tls_key: Path | None = setting(None, "PEM file", "api")
    tls: Literal["", "self-signed"] = setting(
        "",
        "`self-signed`: the gateway serves https with a self-signed certificate, generated in `DATA_DIR/tls` for "
        "`localhost`, the loopback addresses and `HTTP_HOST` (the name of the machine, if it listens on all "
        "addresses), and renewed at a start within 30 days of its expiry. Clients trust "
        "`DATA_DIR/tls/certificate.pem`, which cannot sign other certificates. Do not combine it with `TLS_CERT` and `TLS_KEY`",
        "api",
    )
    database_url: SecretStr | None = setting(
        None,
        "PostgreSQL 15 to 18",
        "api, jobs-worker, expressions, migrate",
        shown="embedded (only in `serve`)",
    )
    database_pool_size: Positive = setting(
        10,
        "maximum number of connections of one process; `api` has one more, which listens for changed rights",
        "api, jobs-worker, expressions",
    )
    amqp_url: SecretStr | None = setting(None, "RabbitMQ 3.10 to 4", "all", shown="in memory (only in `serve`)")
    data_dir: Path = setting(
        Path(".dashwright"),
        "folder of the embedded database, the files of `serve` and the certificate of `TLS=self-signed`",
        "serve, api, jobs-worker",
    )
    admin_user: str = setting("admin", "login of the first user, created on an empty database", "api", min_length=1)
    admin_password: SecretStr = setting(SecretStr(DEFAULT_PASSWORD), "password of the first user", "api")
    allow_default_password: bool = setting(
        False,
        "without it, and where `HTTP_HOST` is reached from other machines, weak passwords are refused ([weak "
        "passwords](identity.md#weak-passwords))",
        "api",
    )
    password_min_length: Annotated[int, Field(ge=4, le=64)] = setting(8, "characters of a new password, 4 to 64", "api")
    basic_auth: bool = setting(True, "whether a login with its password is accepted; `false`: API keys and tokens only", "api")
    login_attempts: Positive = setting(
        5,
        "failed attempts of one login from one address within the window, after which it is refused; ten times as many "
        "from one address over all logins. Each gateway counts separately",
        "api",
    )
    login_window_seconds: Seconds = setting(300, "seconds for which failed logins are counted, from the first", "api")
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = setting(
        (),
        "comma list of addresses and networks (`10.0.0.0/8`) from which `X-Forwarded-For` is accepted as the caller's address; "
        "it is ignored from other addresses",
        "api",
    )
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = setting(
        (),
        "comma list of further names of this server, such as `dash.example.com` or `*.example.com`, which requests "
        "may have as `Host` ([browsers](http.md#browsers)). Addresses, `localhost`, `HTTP_HOST` (the name of the "
        "machine, where it listens on all addresses) and the name in `PUBLIC_URL` need no entry. `*` trusts every "
        "name: only behind a proxy that checks it",
        "api",
    )
    api_key_max_seconds_to_live: Positive | None = setting(
        None, "maximum lifetime of a new token, in seconds; if set, every token must expire", "api"
    )
    token_expiration_day_limit: Annotated[int, Field(gt=0, le=36_500)] | None = setting(None, "the same limit in days", "api")
    expired_token_days: Days = setting(30, "days after which expired tokens are deleted; `0` keeps them", "api")
    last_used_seconds: Seconds = setting(
        10,
        "seconds between two batched writes of last-used times; a killed gateway loses the times of at most one interval",
        "api",
    )
    audit_days: Days = setting(365, "days for which audit events are kept; `0` keeps them", "api")
    quotas_enabled: bool = setting(True, "`false`: nothing is limited, and the quota endpoints return 403", "api, jobs-worker")
    quota_defaults: Annotated[Mapping[str, int], NoDecode] = setting(
        None,
        "default limits of owners that have no limit of their own: "
        "`org_user=10,org_dashboard=100,org_data_source=10,org_api_key=10,org_alert_rule=100,user_org=10`, and "
        "`global_` with `user`, `org`, `dashboard`, `data_source`, `api_key` or `alert_rule`; `-1`, like a "
        "missing entry, means unlimited; `0` allows nothing. Give api and jobs-worker the same",
        "api, jobs-worker",
        default_factory=dict,
    )
    secret_key: SecretStr | None = setting(
        None,
        "key for stored secrets (of data sources, repositories and webhooks) and for the signatures on messages "
        "between services: any long random string (`openssl rand -base64 32`), the same for all services. If the key "
        "is lost, all secrets must be entered again",
        "api, jobs-worker, expressions",
        shown="none; generated by `serve` as `secret.key` next to its database",
    )
    secret_keys_accepted: Annotated[tuple[SecretStr, ...], NoDecode] = setting(
        (),
        "comma list of further keys, which decrypt stored secrets and verify messages, but do not encrypt or sign: for "
        "[exchanging `SECRET_KEY`](../how-to/operations.md#exchanging-secret_key)",
        "api, jobs-worker, expressions",
    )
    secrets_dir: Path | None = setting(
        None,
        "a folder with files named like settings (`dashwright_secret_key`), each with its value; the environment takes precedence",
        "all",
    )
    features: Annotated[frozenset[str], NoDecode] = setting(
        frozenset(),
        "comma list of feature flags: `sqlExpression` enables [`sql` expressions](expressions.md#sql)",
        "api, expressions, eval",
    )
    permitted_paths: Annotated[tuple[Path, ...], NoDecode] = setting(
        (),
        "folders in which `local` repositories may be, separated by `:`; a relative path of a repository starts at "
        "the first. All organizations share them ([what to "
        "do](../how-to/operations.md#local-repositories-and-organizations))",
        "api, jobs-worker",
        shown="`DATA_DIR/repositories`",
    )
    reported_version: str = setting(
        "12.0.0",
        "version that `/api/health` returns, which clients parse",
        "api",
        pattern=r"^\d+\.\d+\.\d+$",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info",
        "`debug`, `info`, `warning` or `error`; on a terminal requests that succeed appear in `debug` only",
        "all",
    )
    log_format: Literal["auto", "json", "console"] = setting(
        "auto",
        "`json`, `console`, or by whether standard error is a terminal",
        "all",
    )
    event_loop: Literal["uvloop", "asyncio"] = setting("uvloop", "or `asyncio`", "all")
    probe_host: str = setting("127.0.0.1", "address on which workers serve probes and metrics", "jobs-worker, expressions")
    probe_port: Annotated[int, Field(ge=0, le=65535)] = setting(9080, "port of probes and metrics", "jobs-worker, expressions")
    metrics_token: SecretStr | None = setting(
        None,
        "if set, the gateway's `/metrics` requires `Authorization: Bearer` with this token; workers serve theirs at `PROBE_HOST`",
        "api",
    )
    address_connections: Positive = setting(
        2000,
        "open connections of one address (IPv6: a network of 64 bits); further ones are closed. Not counted: this "
        "machine's own and those of `TRUSTED_PROXIES`. At most 1,024 of an address may have sent no whole request "
        "head yet; such a connection is closed after 20 seconds",
        "api",
    )
    max_body_bytes: Positive = setting(16 * 1024 * 1024, "maximum size of a query's body; RabbitMQ 4 accepts no larger message", "api")
    response_bytes: Positive = setting(
        128 * 1024 * 1024,
        "memory for responses until their clients have read them; half of it for one organization, a quarter for "
        "one caller. A response that does not fit is refused: 429 if a share is used up, 503 if all memory is. A "
        "larger response is accepted if no other is in flight",
        "api",
    )
    write_seconds: Seconds = setting(
        30,
        "seconds for which a client may read nothing of its response before the connection is closed",
        "api",
    )
    start_seconds: Seconds = setting(60, "seconds that a starting service waits for each of database, schema and broker", "services")
    shutdown_seconds: Seconds = setting(
        20, "seconds that a stopping service waits for work in progress before it returns the work to the queue", "all"
    )
    query_seconds: Seconds = setting(30, "deadline of a query, in seconds", "api")
    query_slots: Positive = setting(
        8,
        "queries that one worker evaluates concurrently; a quarter is reserved for organizations without a running query",
        "expressions",
    )
    query_waiting: Annotated[int, Field(gt=0, le=50_000)] = setting(
        512,
        "queries that wait in one worker for a slot (50,000 at most); an organization may have as many as there are free places",
        "expressions",
    )
    query_bytes: Positive = setting(
        1 << 30,
        "estimated memory of all requests in one worker; at most three quarters of it for one "
        "organization. [How to calculate](../how-to/operations.md#memory-of-an-expressions-worker)",
        "expressions",
    )
    query_response_bytes: Positive = setting(
        256 * 1024 * 1024,
        "size of one response as JSON, estimated before it is encoded",
        "expressions",
    )
    query_targets: Positive = setting(500, "queries and targets of one request", "expressions")
    query_depth: Positive = setting(100, "expressions in one chain of dependencies", "expressions")
    query_series: Positive = setting(100_000, "series (or numbers) of one refId", "expressions")
    query_points: Positive = setting(20_000_000, "points of one refId, over all its series", "expressions")
    query_labels: Positive = setting(100, "labels of one series", "expressions")
    request_points: Positive = setting(
        50_000_000,
        "points that the queries and expressions of one request keep in memory concurrently; each series counts as 32 "
        "more. A hidden result is kept until the last expression that reads it ran",
        "expressions",
    )
    expression_length: Positive = setting(10_000, "characters of one expression", "expressions")
    request_expressions: Positive = setting(200_000, "characters of all expressions of one request", "expressions")
    expression_depth: Annotated[int, Field(gt=0, le=100)] = setting(
        50,
        "nesting depth of parentheses, calls and signs in a math expression; at most 100",
        "expressions",
    )
    resample_buckets: Positive = setting(500_000, "windows of one `resample` expression", "expressions")
    math_bytes: Annotated[int, Field(ge=0)] = setting(
        1 << 30,
        "estimated memory of the result of one math operator; `0` disables the check",
        "expressions",
    )
    evaluation_result_seconds: Positive = setting(
        86_400,
        "seconds for which an evaluation and its result are kept after its end; give expressions and jobs-worker the same",
        "expressions, jobs-worker",
    )
    evaluations_kept: Positive = setting(
        100_000,
        "evaluations of one organization that are kept, in any state; another one is refused with 403. A "
        "hundred full batches a day; results of 10 kB each take about 2 GB of the database then",
        "api",
    )
    evaluation_seconds: Seconds = setting(
        25,
        "seconds for which one request may be evaluated; keep it below `QUERY_SECONDS`, so that the client receives the error",
        "expressions",
    )
    sql_slots: Positive = setting(
        4,
        "requests with `sql` expressions that run concurrently, shared as `QUERY_SLOTS`; each has its own "
        "process, started when it is first needed",
        "expressions",
    )
    sql_seconds: Seconds = setting(10, "seconds for which one `sql` expression may run", "expressions")
    sql_bytes: Positive = setting(
        512 * 1024 * 1024,
        "memory of one `sql` expression; the tables it reads may take as much again, and so may its result",
        "expressions",
    )
    sql_output_cells: Positive = setting(
        1_000_000, "rows times columns of the result of one `sql` expression, before it is truncated", "expressions"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = setting(
        (),
        "comma list of host names, `*.` and the end of host names, addresses and networks (`10.0.0.0/8`) that data "
        "sources and git hosts may have in addition to public ones, and without encryption",
        "expressions, jobs-worker",
        shown="none; in `serve` `localhost,127.0.0.0/8,::1`",
    )
    source_seconds: Seconds = setting(20, "seconds that a query of a data source may take if its record has no `timeout`", "expressions")
    source_bytes: Positive = setting(128 * 1024 * 1024, "bytes of the largest response of a data source, decompressed", "expressions")
    source_rows: Positive = setting(
        1_000_000,
        "rows of one response of a data source with tables (PostgreSQL); further rows are omitted, with a notice",
        "expressions",
    )
    source_connections: Positive = setting(4, "connections of one worker to one data source (over HTTP: to one host)", "expressions")
    query_cache_bytes: Annotated[int, Field(ge=0)] = setting(
        64 * 1024 * 1024,
        "memory of one worker for recent responses of data sources; `0` keeps nothing",
        "expressions",
    )
    query_cache_seconds: Seconds = setting(10, "seconds for which a recent response of a data source is reused", "expressions")
    testdata: bool = setting(True, "whether the data source `grafana-testdata-datasource` is served", "expressions")
    testdata_seconds: Seconds = setting(30, "seconds of the longest `slow_query` of that data source", "expressions")
    job_slots: Positive = setting(4, "jobs that one worker runs concurrently", "jobs-worker, expressions")
    job_lease_seconds: Seconds = setting(
        30,
        "seconds after which the job of an unresponsive worker is taken over by another; a lease is renewed after a third of it",
        "jobs-worker, expressions",
    )
    job_attempts: Positive = setting(5, "attempts of a job whose worker died, before it ends as `error`", "jobs-worker")
    job_history: Positive = setting(
        100,
        "ended jobs kept for each repository, of each of `sync`, `export` and `pr`; evaluations have `EVALUATION_RESULT_SECONDS`",
        "jobs-worker",
    )
    queue_identity: bool = setting(True, "whether messages without `authorization` may submit jobs, their only permission", "api")
    min_refresh: Seconds = setting(5, "seconds; the shortest refresh interval that a dashboard may have", "api, jobs-worker")
    watches: Positive = setting(
        20_000,
        "open watches of one gateway; another one is refused with 429. A caller who is not an Admin may have a quarter of them",
        "api",
    )
    versions_kept: Positive = setting(20, "newest versions kept of each dashboard", "jobs-worker, import")
    trash_days: Days = setting(30, "days for which a deleted dashboard can be restored", "api, jobs-worker")
    change_seconds: Positive = setting(3600, "seconds after which a watch can no longer resume, nor a list continue", "jobs-worker")
    folder_depth: Annotated[int, Field(gt=0, le=64)] = setting(
        8,
        "levels of nested folders, and directories of a repository that become folders",
        "api, jobs-worker",
    )
    scheduling: bool = setting(
        True,
        "whether this worker plans syncs: of new and changed repositories, and of those whose interval has passed. "
        "One worker plans for all",
        "jobs-worker",
    )
    git_seconds: Seconds = setting(600, "seconds that fetching from a git host may take", "jobs-worker")
    git_authorities: Path | None = setting(
        None,
        "PEM file of the certificate authorities that are trusted for git hosts",
        "jobs-worker",
        shown="the system's",
    )
    host_requests: Annotated[int, Field(ge=0)] = setting(
        600,
        "http requests that all workers together make to one git host (name and port) in a minute; `0` is "
        "unlimited. The last quarter is reserved for requests that a caller waits for, and an eighth of what an "
        "organization used in the last minute for others. Reading a branch counts as two, a fetch as three",
        "jobs-worker",
    )
    git_host_apis: Annotated[Mapping[str, str], NoDecode] = setting(
        None,
        "addresses of the REST APIs of git hosts, if not `https://host/api/v3` (`github.com`: "
        "`https://api.github.com`), as `host=address` (`host:port=address`) separated by commas; `host=` alone means "
        "that the host has no API",
        "jobs-worker",
        shown="empty",
        default_factory=dict,
    )
    public_url: str = setting(
        "",
        "address under which users and git hosts reach this service, as `https://dashboards.example.com`: for links "
        "in pull requests, for the webhooks that a git host is asked to call, and as the origin of this service's "
        "pages in browsers",
        "jobs-worker, api",
        shown="from `HTTP_HOST` and `HTTP_PORT`",
    )
    repository_files: Positive = setting(50_000, "files and directories of one repository at most", "jobs-worker")
    repository_bytes: Positive = setting(1 << 30, "bytes of all resource files of one repository together at most", "jobs-worker")
    repository_file_bytes: Positive = setting(5 * 1024 * 1024, "largest file that is read as a dashboard", "jobs-worker")

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

    http_host: str = setting("127.0.0.1", "where the gateway listens", "api")
    http_port: Annotated[int, Field(ge=0, le=65535)] = setting(3000, "its port; `0` lets the system choose", "api")
    tls_cert: Path | None = setting(None, "PEM file; with `TLS_KEY` the gateway serves https", "api")
    tls_key: Path | None = setting(None, "PEM file", "api")
    tls: Literal["", "self-signed"] = setting(
        "",
        "`self-signed`: the gateway serves https with a certificate of its own, made once in `DATA_DIR/tls` for "
        "`localhost`, the loopback addresses and `HTTP_HOST` (the name of the machine, where it listens on all "
        "addresses), and made again at a start within 30 days of its end. Clients trust "
        "`DATA_DIR/tls/certificate.pem`, which can sign no others. `TLS_CERT` and `TLS_KEY` go without it",
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
        "connections of one process at most; `api` has one more, which listens for changed rights",
        "api, jobs-worker, expressions",
    )
    amqp_url: SecretStr | None = setting(None, "RabbitMQ 3.10 to 4", "all", shown="in memory (only in `serve`)")
    data_dir: Path = setting(
        Path(".dashwright"),
        "embedded database, what `serve` keeps, and the certificate of `TLS=self-signed`",
        "serve, api, jobs-worker",
    )
    admin_user: str = setting("admin", "login of the first user, made once on an empty database", "api", min_length=1)
    admin_password: SecretStr = setting(SecretStr(DEFAULT_PASSWORD), "its password", "api")
    allow_default_password: bool = setting(
        False,
        "without it, and where `HTTP_HOST` is reached from other machines, weak passwords are refused ([weak "
        "passwords](identity.md#weak-passwords))",
        "api",
    )
    password_min_length: Annotated[int, Field(ge=4, le=64)] = setting(8, "characters of a new password, 4 to 64", "api")
    basic_auth: bool = setting(True, "whether login and password are taken at all; `false`: keys and tokens only", "api")
    login_attempts: Positive = setting(
        5,
        "failed logins of one login from one address within the window, before it is refused; ten times as many "
        "from one address over all logins. Of each gateway",
        "api",
    )
    login_window_seconds: Seconds = setting(300, "seconds for which failed logins are counted, from the first", "api")
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = setting(
        (),
        "comma list of addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-For` names the caller's address; "
        "that of other senders is ignored",
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
    api_key_max_seconds_to_live: Positive | None = setting(None, "longest life of a new token; with it a token must have an end", "api")
    token_expiration_day_limit: Annotated[int, Field(gt=0, le=36_500)] | None = setting(None, "the same in days", "api")
    expired_token_days: Days = setting(30, "days after which expired tokens are deleted; `0` keeps them", "api")
    last_used_seconds: Seconds = setting(
        10,
        "seconds between two writes of last-used times, in one batch; a killed gateway loses at most as much",
        "api",
    )
    audit_days: Days = setting(365, "days for which audit events are kept; `0` keeps them", "api")
    quotas_enabled: bool = setting(True, "`false`: nothing is limited, and the quota endpoints return 403", "api, jobs-worker")
    quota_defaults: Annotated[Mapping[str, int], NoDecode] = setting(
        None,
        "default limits of owners that have no limit of their own: "
        "`org_user=10,org_dashboard=100,org_data_source=10,org_api_key=10,org_alert_rule=100,user_org=10`, and "
        "`global_` with `user`, `org`, `dashboard`, `data_source`, `api_key` or `alert_rule`; `-1`, as without one, "
        "is no limit, `0` allows nothing. Give api and jobs-worker the same",
        "api, jobs-worker",
        default_factory=dict,
    )
    secret_key: SecretStr | None = setting(
        None,
        "key for stored secrets (of data sources, repositories and webhooks) and for the signatures on messages "
        "between services: any long random text (`openssl rand -base64 32`), the same for all services. If the key "
        "is lost, all secrets must be entered again",
        "api, jobs-worker, expressions",
        shown="none; made once by `serve`, as `secret.key` beside its database",
    )
    secret_keys_accepted: Annotated[tuple[SecretStr, ...], NoDecode] = setting(
        (),
        "comma list of further keys, which open stored secrets and verify messages, but seal and sign nothing: for "
        "[exchanging `SECRET_KEY`](../how-to/operations.md#exchanging-secret_key)",
        "api, jobs-worker, expressions",
    )
    secrets_dir: Path | None = setting(
        None,
        "a folder with files named like settings (`dashwright_secret_key`), each holding its value; the environment wins",
        "all",
    )
    features: Annotated[frozenset[str], NoDecode] = setting(
        frozenset(),
        "comma list of feature flags: `sqlExpression` turns on [`sql` expressions](expressions.md#sql)",
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
    probe_host: str = setting("127.0.0.1", "where workers serve probes and metrics", "jobs-worker, expressions")
    probe_port: Annotated[int, Field(ge=0, le=65535)] = setting(9080, "its port", "jobs-worker, expressions")
    metrics_token: SecretStr | None = setting(
        None,
        "with it the gateway's `/metrics` needs `Authorization: Bearer` and this token; workers serve theirs at `PROBE_HOST`",
        "api",
    )
    address_connections: Positive = setting(
        2000,
        "open connections of one address (IPv6: a network of 64 bits); further ones are closed. Not counted: this "
        "machine's own and those of `TRUSTED_PROXIES`. At most 1,024 of an address may have sent no whole request "
        "head yet; such a connection is closed after 20 seconds",
        "api",
    )
    max_body_bytes: Positive = setting(16 * 1024 * 1024, "largest body of a query; RabbitMQ 4 takes no larger message", "api")
    response_bytes: Positive = setting(
        128 * 1024 * 1024,
        "memory for responses until their clients have read them; half of it for one organization, a quarter for "
        "one caller. A response that finds no room is refused: 429 where a share is used up, 503 where all is. A "
        "larger response fits where nothing else is in flight",
        "api",
    )
    write_seconds: Seconds = setting(
        30,
        "seconds for which a client may read nothing of its response before the connection is closed",
        "api",
    )
    start_seconds: Seconds = setting(60, "seconds that a start waits for each of database, schema and broker", "services")
    shutdown_seconds: Seconds = setting(20, "seconds that a stop waits for work in progress before handing it back", "all")
    query_seconds: Seconds = setting(30, "deadline of a query, in seconds", "api")
    query_slots: Positive = setting(
        8,
        "queries that one worker evaluates concurrently; a quarter stays free for organizations that have none at work",
        "expressions",
    )
    query_waiting: Annotated[int, Field(gt=0, le=50_000)] = setting(
        512,
        "queries that wait in one worker for a slot (50,000 at most); an organization may have as many as there are places left",
        "expressions",
    )
    query_bytes: Positive = setting(
        1 << 30,
        "memory that all requests of one worker hold together, estimated; three quarters of it for one "
        "organization. [How to calculate](../how-to/operations.md#memory-of-an-expressions-worker)",
        "expressions",
    )
    query_response_bytes: Positive = setting(
        256 * 1024 * 1024,
        "size of one response as JSON, estimated before it is encoded",
        "expressions",
    )
    query_targets: Positive = setting(500, "queries and targets of one request", "expressions")
    query_depth: Positive = setting(100, "expressions in a row, each reading the one before", "expressions")
    query_series: Positive = setting(100_000, "series (or numbers) of one refId", "expressions")
    query_points: Positive = setting(20_000_000, "points of one refId, over all its series", "expressions")
    query_labels: Positive = setting(100, "labels of one series", "expressions")
    request_points: Positive = setting(
        50_000_000,
        "points that the queries and expressions of one request hold concurrently, each series counted as 32 more; "
        "a hidden result is held until its last reader ran",
        "expressions",
    )
    expression_length: Positive = setting(10_000, "characters of one expression", "expressions")
    request_expressions: Positive = setting(200_000, "characters of all expressions of one request", "expressions")
    expression_depth: Annotated[int, Field(gt=0, le=100)] = setting(
        50,
        "how deep parentheses, calls and signs nest in a math expression; 100 at most",
        "expressions",
    )
    resample_buckets: Positive = setting(500_000, "windows of one `resample` expression", "expressions")
    math_bytes: Annotated[int, Field(ge=0)] = setting(
        1 << 30,
        "estimated memory of the result of one math operator; `0` turns the check off",
        "expressions",
    )
    evaluation_result_seconds: Positive = setting(
        86_400,
        "seconds for which an evaluation and its result are kept after its end; give expressions and jobs-worker the same",
        "expressions, jobs-worker",
    )
    evaluations_kept: Positive = setting(
        100_000,
        "evaluations of one organization that are kept, whatever their state; one more is refused with 403. A "
        "hundred full batches a day; results of 10 kB each take about 2 GB of the database then",
        "api",
    )
    evaluation_seconds: Seconds = setting(
        25,
        "seconds for which one request may be evaluated; keep it below `QUERY_SECONDS`, so that the error still arrives",
        "expressions",
    )
    sql_slots: Positive = setting(
        4,
        "requests with `sql` expressions that run concurrently, shared as `QUERY_SLOTS`; each has a process of its "
        "own, made when it is first needed",
        "expressions",
    )
    sql_seconds: Seconds = setting(10, "seconds for which one `sql` expression may run", "expressions")
    sql_bytes: Positive = setting(
        512 * 1024 * 1024,
        "memory of one `sql` expression; the tables it reads may take as much again, and so may its result",
        "expressions",
    )
    sql_output_cells: Positive = setting(1_000_000, "rows times columns of its result, before it is cut", "expressions")
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
        "rows of one response of a data source with tables (PostgreSQL); further ones are left out, with a notice",
        "expressions",
    )
    source_connections: Positive = setting(4, "connections of one worker to one data source (over HTTP: to one host)", "expressions")
    query_cache_bytes: Annotated[int, Field(ge=0)] = setting(
        64 * 1024 * 1024,
        "memory of one worker for recent responses of data sources; `0` keeps nothing",
        "expressions",
    )
    query_cache_seconds: Seconds = setting(10, "seconds for which such a response is reused", "expressions")
    testdata: bool = setting(True, "whether the data source `grafana-testdata-datasource` is served", "expressions")
    testdata_seconds: Seconds = setting(30, "seconds of the longest `slow_query` of that data source", "expressions")
    job_slots: Positive = setting(4, "jobs that one worker runs concurrently", "jobs-worker, expressions")
    job_lease_seconds: Seconds = setting(
        30,
        "seconds after which the job of a silent worker is taken up by another; a lease is renewed after a third of it",
        "jobs-worker, expressions",
    )
    job_attempts: Positive = setting(5, "how often a job whose worker died is taken up before it ends as `error`", "jobs-worker")
    job_history: Positive = setting(
        100,
        "ended jobs kept for each repository, of each of `sync`, `export` and `pr`; evaluations have `EVALUATION_RESULT_SECONDS`",
        "jobs-worker",
    )
    queue_identity: bool = setting(True, "whether messages without `authorization` may submit jobs; they may do nothing else", "api")
    min_refresh: Seconds = setting(5, "seconds; the shortest refresh interval that a dashboard may have", "api, jobs-worker")
    watches: Positive = setting(
        20_000,
        "watches open at one gateway; one more is refused with 429, and so is another one of a caller who has a "
        "quarter of them and is not an Admin",
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
        "PEM file of the certificate authorities that git hosts are trusted by",
        "jobs-worker",
        shown="the system's",
    )
    host_requests: Annotated[int, Field(ge=0)] = setting(
        600,
        "http requests that all workers together make to one git host (name and port) in a minute; `0` is "
        "unlimited. The last quarter is kept for requests that a caller waits for, and an organization leaves an "
        "eighth of what it took in the last minute to others. A look at a branch is two, a fetch three",
        "jobs-worker",
    )
    git_host_apis: Annotated[Mapping[str, str], NoDecode] = setting(
        None,
        "where the REST APIs of git hosts are that are not at `https://host/api/v3` (`github.com`: "
        "`https://api.github.com`), as `host=address` (`host:port=address`) separated by commas; `host=` alone says "
        "that it has none",
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

"""Declaration of the settings of services, queries, jobs and repositories: type, default, meaning, unit, and readers.

``feature_settings`` declares those of single features. ``make docs`` writes docs/reference/settings.md from both modules.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode

from dashwright.common.setting_field import Days, Network, Positive, Seconds, setting

DEFAULT_PASSWORD = "admin"  # noqa: S105


class SettingsFields(BaseSettings):
    """Settings of all services. Each service reads only some of them."""

    http_host: str = setting("127.0.0.1", "address on which the gateway listens", "api")
    http_port: Annotated[int, Field(ge=0, le=65535)] = setting(3000, "port of the gateway; with `0` the system chooses one", "api")
    tls_cert: Path | None = setting(
        None, "PEM file with the certificate of the gateway; with this and `TLS_KEY`, the gateway serves https", "api"
    )
    tls_key: Path | None = setting(None, "PEM file with the private key of `TLS_CERT`", "api")
    tls: Literal["", "self-signed"] = setting(
        "",
        "`self-signed`: the gateway serves https with a self-signed certificate, generated in `DATA_DIR/tls` for `localhost`, the "
        "loopback addresses and `HTTP_HOST` (the name of the machine, if the gateway listens on all addresses). A start in the last 30 "
        "days before it expires renews it. Let clients trust the file `DATA_DIR/tls/certificate.pem`, which cannot sign other "
        "certificates. Do not combine this setting with `TLS_CERT` and `TLS_KEY`",
        "api",
    )
    database_url: SecretStr | None = setting(
        None,
        "URL of the database, which is PostgreSQL 15 to 18: `postgresql://user:password@host/name`",
        "api, jobs-worker, expressions, migrate",
        displayed_default="embedded (only in `serve`)",
    )
    database_pool_size: Positive = setting(
        10,
        "maximum number of connections of one process to the database; `api` has one more, which listens for notifications",
        "api, jobs-worker, expressions",
    )
    amqp_url: SecretStr | None = setting(
        None,
        "URL of the broker, which is RabbitMQ 3.10 to 4: `amqp://user:password@host/`",
        "all",
        displayed_default="in memory (only in `serve`)",
    )
    data_dir: Path = setting(
        Path(".dashwright"),
        "directory of the embedded database, of the mirrors of repositories, and of the certificate of `TLS=self-signed`",
        "serve, api, jobs-worker",
    )
    admin_user: str = setting("admin", "login of the first user, created on an empty database", "api", min_length=1)
    admin_password: SecretStr = setting(SecretStr(DEFAULT_PASSWORD), "password of the first user", "api")
    allow_default_password: bool = setting(
        False,
        "`true`: weak passwords are accepted even if other machines can reach the gateway ([weak passwords](identity.md#weak-passwords))",
        "api",
    )
    password_min_length: Annotated[int, Field(ge=4, le=64)] = setting(8, "minimum number of characters of a new password, 4 to 64", "api")
    basic_auth: bool = setting(
        True, "whether clients may authenticate with login and password; `false`: only API keys and tokens are accepted", "api"
    )
    login_attempts: Positive = setting(
        5,
        "failed attempts with one login from one address, after which this login is refused from this address until "
        "`LOGIN_WINDOW_SECONDS` have passed. After ten times as many failed attempts with any logins, the address is refused. Each "
        "gateway counts separately",
        "api",
    )
    login_window_seconds: Seconds = setting(300, "seconds for which failed logins are counted, from the first failure", "api")
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = setting(
        (),
        "comma-separated list of addresses and networks (`10.0.0.0/8`) of proxies. Only in requests from these, the header "
        "`X-Forwarded-For` is used as the caller's address",
        "api",
    )
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = setting(
        (),
        "comma-separated list of further names of this server, such as `dash.example.com` or `*.example.com`, which requests may have as "
        "`Host` ([browsers](http.md#browsers)). Addresses, `localhost`, `HTTP_HOST` (the name of the machine, if the gateway listens on "
        "all addresses) and the name in `PUBLIC_URL` need no entry. `*` trusts every name: use it only behind a proxy that checks `Host`",
        "api",
    )
    api_key_max_seconds_to_live: Positive | None = setting(
        None, "maximum lifetime of a new token, in seconds; if set, every token must expire", "api"
    )
    token_expiration_day_limit: Annotated[int, Field(gt=0, le=36_500)] | None = setting(
        None, "maximum lifetime of a new token, in days; if set, every token must expire", "api"
    )
    expired_token_days: Days = setting(30, "days after their expiry at which tokens are deleted; `0` keeps them", "api")
    last_used_seconds: Seconds = setting(
        10,
        "seconds between two writes of the times at which tokens and keys were last used; a killed gateway loses the times since its last "
        "write",
        "api",
    )
    audit_days: Days = setting(365, "days for which audit events are kept; `0` keeps them", "api")
    dead_letter_days: Days = setting(30, "days for which dead letters are kept; `0` keeps them until there are too many", "api")
    dead_letters_kept: Positive = setting(
        10_000, "dead letters of one organization that are kept; replayed ones are deleted first, then the oldest", "api"
    )
    quotas_enabled: bool = setting(True, "`false`: quotas limit nothing, and the routes about quotas return 403", "api, jobs-worker")
    quota_defaults: Annotated[Mapping[str, int], NoDecode] = setting(
        None,
        "default limits of organizations and users that have no limit of their own ([quotas](accounts.md#quotas)), for example "
        "`org_user=10,org_dashboard=100`. The names are `org_user`, `org_dashboard`, `org_data_source`, `org_api_key`, `org_alert_rule` "
        "and `user_org`, and for the whole server `global_user`, `global_org`, `global_dashboard`, `global_data_source`, `global_api_key` "
        "and `global_alert_rule`. `-1`, like a missing entry, means unlimited; `0` allows nothing. Give api and jobs-worker the same "
        "value",
        "api, jobs-worker",
        default_factory=dict,
    )
    secret_key: SecretStr | None = setting(
        None,
        "key for stored secrets (of data sources, repositories and webhooks) and for the signatures on messages between services: any "
        "random string of at least 12 characters (`openssl rand -base64 32`), the same for all services. If the key is lost, all "
        "secrets must be entered again",
        "api, jobs-worker, expressions",
        displayed_default="none; generated by `serve` as `secret.key` next to its database",
    )
    secret_keys_accepted: Annotated[tuple[SecretStr, ...], NoDecode] = setting(
        (),
        "comma-separated list of further keys, which decrypt stored secrets and verify messages, but do not encrypt or sign: for "
        "[exchanging `SECRET_KEY`](../how-to/operations.md#exchanging-secret_key)",
        "api, jobs-worker, expressions",
    )
    secrets_dir: Path | None = setting(
        None,
        "a directory with files that are named like environment variables, such as `dashwright_secret_key`; the content of a file is the "
        "value of the setting. A variable in the environment takes precedence",
        "all",
    )
    features: Annotated[frozenset[str], NoDecode] = setting(
        frozenset(),
        "comma-separated list of feature flags: `sqlExpression` enables [`sql` expressions](expressions.md#sql)",
        "api, expressions, eval",
    )
    permitted_paths: Annotated[tuple[Path, ...], NoDecode] = setting(
        (),
        "directories in which `local` repositories may be, separated by `:`; a relative path of a repository starts at the first one. "
        "All organizations share these directories ([what this permits](../how-to/operations.md#local-repositories-and-organizations))",
        "api, jobs-worker",
        displayed_default="`DATA_DIR/repositories`",
    )
    reported_version: str = setting(
        "12.0.0",
        "version that `/api/health` returns; Grafana clients parse it to decide which features they use",
        "api",
        pattern=r"^\d+\.\d+\.\d+$",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "lowest level that is logged: `debug`, `info`, `warning` or `error`; on a terminal, successful requests need `debug`", "all"
    )
    log_format: Literal["auto", "json", "console"] = setting(
        "auto", "`json`, `console`, or `auto`: `console` if standard error is a terminal, else `json`", "all"
    )
    event_loop: Literal["uvloop", "asyncio"] = setting("uvloop", "the implementation of the event loop: `uvloop` or `asyncio`", "all")
    probe_host: str = setting("127.0.0.1", "address on which workers serve probes and metrics", "jobs-worker, expressions")
    probe_port: Annotated[int, Field(ge=0, le=65535)] = setting(
        9080, "port on which workers serve probes and metrics", "jobs-worker, expressions"
    )
    metrics_token: SecretStr | None = setting(
        None, "if set, the gateway's `/metrics` requires `Authorization: Bearer` with this token; `/metrics` of workers never does", "api"
    )
    address_connections: Positive = setting(
        2000,
        "maximum number of open connections of one address (for IPv6, of one network with a prefix of 64 bits); further connections are "
        "closed. Connections from this machine and from `TRUSTED_PROXIES` are not counted. At most 1,024 of an address's connections may "
        "wait for their first complete request headers; each of these is closed after 20 seconds",
        "api",
    )
    max_body_bytes: Positive = setting(16 * 1024 * 1024, "maximum size of a query's body; RabbitMQ 4 accepts no larger message", "api")
    response_bytes: Positive = setting(
        128 * 1024 * 1024,
        "maximum memory for responses that their clients have not read yet: half of it for one organization, a quarter for one caller. "
        "Instead of a response that does not fit, the client receives 429 if the share of its caller or organization is used up, and 503 "
        "if all of the memory is used up. A response larger than these limits is sent while no other response waits",
        "api",
    )
    write_seconds: Seconds = setting(
        30, "seconds without any read of a response, after which the connection of the client is closed", "api"
    )
    start_seconds: Seconds = setting(
        60, "seconds for which a starting service waits for the database, then for its schema, and then for the broker", "services"
    )
    shutdown_seconds: Seconds = setting(
        20, "seconds for which a stopping service waits for work in progress, before it returns the work to the queue", "all"
    )
    drain_seconds: Annotated[float, Field(ge=0)] = setting(
        0,
        "seconds for which a stopping gateway still accepts requests, while `/readyz` returns 503 and each response closes its connection. "
        "Use more than the load balancer in front needs to notice the 503 ([scaling](../how-to/operations.md#several-gateways))",
        "api",
    )
    query_seconds: Seconds = setting(30, "deadline of a query, in seconds", "api")
    query_slots: Positive = setting(
        8,
        "maximum number of queries that one worker evaluates concurrently; a quarter is reserved for organizations without a running query",
        "expressions",
    )
    query_waiting: Annotated[int, Field(gt=0, le=50_000)] = setting(
        512,
        "maximum number of waiting queries in one worker, at most 50,000. A query is refused if its organization already has as many "
        "waiting queries as there are free places, so one organization fills at most half of them",
        "expressions",
    )
    query_bytes: Positive = setting(
        1 << 30,
        "maximum memory of all requests in one worker, as estimated; one organization may use at most three quarters of it. [How to "
        "calculate a value](../how-to/operations.md#memory-of-an-expressions-worker)",
        "expressions",
    )
    query_response_bytes: Positive = setting(
        256 * 1024 * 1024, "maximum size of one response as JSON, estimated before it is encoded", "expressions"
    )
    query_targets: Positive = setting(500, "maximum number of queries, or targets of a panel, in one request", "expressions")
    query_depth: Positive = setting(100, "maximum length of a chain of expressions in which each reads the previous one", "expressions")
    query_series: Positive = setting(100_000, "maximum number of series (or numbers) of one refId", "expressions")
    query_points: Positive = setting(20_000_000, "maximum number of points of one refId, in all of its series together", "expressions")
    query_labels: Positive = setting(100, "maximum number of labels of one series", "expressions")
    request_points: Positive = setting(
        50_000_000,
        "maximum number of points that the queries and expressions of one request keep in memory at one time; each series counts as 32 "
        "points more. A hidden result is kept until the last expression that reads it has run",
        "expressions",
    )
    expression_length: Positive = setting(10_000, "maximum number of characters of one expression", "expressions")
    request_expressions: Positive = setting(
        200_000, "maximum number of characters of all expressions of one request together", "expressions"
    )
    expression_depth: Annotated[int, Field(gt=0, le=100)] = setting(
        50, "maximum nesting depth of parentheses, function calls and unary operators in a math expression; at most 100", "expressions"
    )
    resample_buckets: Positive = setting(500_000, "maximum number of windows of one `resample` expression", "expressions")
    math_bytes: Annotated[int, Field(ge=0)] = setting(
        1 << 30, "maximum memory of the result of one math operator, as estimated; `0` disables the check", "expressions"
    )
    evaluation_result_seconds: Positive = setting(
        86_400,
        "seconds for which an evaluation and its result are kept after its end; give expressions and jobs-worker the same value",
        "expressions, jobs-worker",
    )
    evaluations_kept: Positive = setting(
        100_000,
        "maximum number of stored evaluations of one organization, in any state; a further one is refused with 403. With the default and "
        "results of 10 kB each, they take about 2 GB of the database",
        "api",
    )
    evaluation_seconds: Seconds = setting(
        25,
        "maximum time of a request's evaluation, in seconds; keep it below `QUERY_SECONDS`, so that the client receives the error",
        "expressions",
    )
    sql_slots: Positive = setting(
        4,
        "maximum number of `sql` expressions that one worker runs concurrently; the slots are shared between organizations, like those of "
        "`QUERY_SLOTS`. Each slot has its own child process, which is started when it is first needed",
        "expressions",
    )
    sql_seconds: Seconds = setting(10, "maximum number of seconds for which one `sql` expression may run", "expressions")
    sql_bytes: Positive = setting(
        512 * 1024 * 1024,
        "maximum memory of one `sql` expression; the tables that it reads may use as much in addition, and so may its result",
        "expressions",
    )
    sql_output_cells: Positive = setting(
        1_000_000,
        "maximum number of cells (rows times columns) in the result of one `sql` expression; further rows are omitted",
        "expressions",
    )
    transformation_cells: Positive = setting(2_000_000, "maximum number of cells that a transformation reads or returns", "expressions")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = setting(
        (),
        "comma-separated list of host names, patterns of host names (`*.example.com`), addresses and networks (`10.0.0.0/8`). Data "
        "sources, git hosts and receivers of notifications may have these addresses in addition to public ones, and may be reached there "
        "without encryption. The same applies to `RESULTS_ENDPOINT`",
        "expressions, jobs-worker, api",
        displayed_default="none; in `serve` `localhost,127.0.0.0/8,::1`",
    )
    source_seconds: Seconds = setting(
        20,
        "maximum number of seconds that a query of a data source may take, if the record of the data source has no `timeout`",
        "expressions",
    )
    source_bytes: Positive = setting(128 * 1024 * 1024, "maximum size of one response of a data source, after decompression", "expressions")
    source_rows: Positive = setting(
        1_000_000,
        "maximum number of rows in the response to one PostgreSQL statement; further rows are omitted, with a notice",
        "expressions",
    )
    source_connections: Positive = setting(
        4, "maximum number of connections of one worker to one data source (over HTTP: to one host)", "expressions"
    )
    query_cache_bytes: Annotated[int, Field(ge=0)] = setting(
        64 * 1024 * 1024,
        "maximum memory of one worker for the [cache](data-sources.md#the-cache) of data source responses; `0` disables the cache",
        "expressions",
    )
    query_cache_seconds: Seconds = setting(10, "seconds for which a cached response of a data source is reused", "expressions")
    testdata: bool = setting(True, "whether the data source `grafana-testdata-datasource` can be queried", "expressions")
    testdata_seconds: Seconds = setting(30, "maximum delay, in seconds, of a `slow_query` of `grafana-testdata-datasource`", "expressions")
    job_slots: Positive = setting(
        4,
        "maximum number of jobs on repositories that one worker runs concurrently. As soon as several organizations have had jobs, a "
        "quarter of these slots is reserved for organizations without running jobs: at least one slot, unless the worker has only one",
        "jobs-worker",
    )
    evaluation_slots: Positive = setting(
        16,
        "maximum number of evaluations that one worker runs concurrently as jobs; a part of them is reserved, as described for `JOB_SLOTS`",
        "expressions",
    )
    job_lease_seconds: Seconds = setting(
        30,
        "seconds after which another worker takes over the job of an unresponsive worker; a lease is renewed after a third of this time",
        "jobs-worker, expressions",
    )
    job_attempts: Positive = setting(
        5, "number of times that a job is started if its workers die, before it ends in the state `error`", "jobs-worker"
    )
    job_history: Positive = setting(
        100,
        "number of ended jobs that are kept for each repository and action (`sync`, `export`, `pr`); evaluations are not counted",
        "jobs-worker",
    )
    waiting_jobs: Positive = setting(
        200_000,
        "maximum number of jobs of one organization, evaluations included, that wait for a worker. Over HTTP, further ones are refused "
        "with 429; messages in the queue are [delayed](queue.md#too-many-waiting-jobs). Give api and jobs-worker the same value",
        "api, jobs-worker",
    )
    batch_items: Positive = setting(200_000, "maximum number of items of one [batch](batches.md)", "api")
    queue_identity: bool = setting(
        True, "whether messages without the header `authorization` may submit `sync` and `pr` jobs ([queue](queue.md))", "api"
    )
    min_refresh: Seconds = setting(5, "the shortest refresh interval that a dashboard may have, in seconds", "api, jobs-worker")
    watches: Positive = setting(
        20_000,
        "maximum number of open watches of one gateway; a further one is refused with 429. One caller may use a quarter of this number, "
        "and an Admin all of it",
        "api",
    )
    versions_kept: Positive = setting(20, "number of versions of each dashboard that are kept, the newest ones", "jobs-worker, import")
    trash_days: Days = setting(30, "days for which a deleted dashboard can be restored", "api, jobs-worker")
    change_seconds: Positive = setting(
        3600,
        "seconds for which changes are kept: a watch cannot resume, and a `continue` token of a list is not valid, after this time",
        "jobs-worker",
    )
    folder_depth: Annotated[int, Field(gt=0, le=64)] = setting(
        8,
        "maximum number of levels of nested folders; in a repository, only directories of these levels become folders",
        "api, jobs-worker",
    )
    scheduling: bool = setting(
        True,
        "whether this worker may schedule syncs of new and changed repositories, and of repositories whose interval has passed. One worker "
        "at a time schedules the syncs for all workers",
        "jobs-worker",
    )
    host_requests: Annotated[int, Field(ge=0)] = setting(
        600,
        "maximum number of requests that all workers together send to one git host (name and port) per minute; `0` means unlimited. "
        "The last quarter is reserved for requests that a caller waits for. An organization must leave an eighth of its own number of "
        "requests to others: with 400 requests in the last minute, 50. A fetch counts as three requests and a check of a branch as one, "
        "but as two over SSH and for a host without protocol version 2",
        "jobs-worker",
    )
    git_host_apis: Annotated[Mapping[str, str], NoDecode] = setting(
        None,
        "comma-separated list of `host=kind`, `host=address` or `host=kind+address` (or `host:port=…`): the kind of a git host (`github`, "
        "`gitlab`, `gitea` or `bitbucket`) and the address of its REST API. It is needed only if the host is not recognized or the "
        "address is not the usual one ([git hosts](pull-requests.md#git-hosts)). An address that ends in `/api/v3`, `/api/v4`, `/api/v1` "
        "or `/2.0` implies the kind. `host=` alone means that the host has no API",
        "jobs-worker",
        displayed_default="empty",
        default_factory=dict,
    )
    public_url: str = setting(
        "",
        "address under which users and git hosts reach this service, such as `https://dashboards.example.com`. It is used for links to "
        "snapshots and in pull requests, for the webhooks that are created on git hosts, and as the origin of this service's pages in "
        "browsers",
        "jobs-worker, api",
        displayed_default="from `HTTP_HOST` and `HTTP_PORT`",
    )
    repository_files: Positive = setting(50_000, "maximum number of files and directories of one repository", "jobs-worker")
    repository_bytes: Positive = setting(
        1 << 30,
        "maximum size of one repository: of the worker's mirror of it, of all of its resource files together, and of an export",
        "jobs-worker",
    )
    repository_file_bytes: Positive = setting(5 * 1024 * 1024, "maximum size of a file that is read as a dashboard", "jobs-worker")

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
    http_port: Annotated[int, Field(ge=0, le=65535)] = setting(3000, "port of the gateway; with `0`, the system chooses a port", "api")
    tls_cert: Path | None = setting(
        None, "PEM file with the certificate of the gateway. With `TLS_CERT` and `TLS_KEY`, the gateway serves https", "api"
    )
    tls_key: Path | None = setting(None, "PEM file with the private key of `TLS_CERT`", "api")
    tls: Literal["", "self-signed"] = setting(
        "",
        "`self-signed`: the gateway serves https with a self-signed certificate, which it generates in `DATA_DIR/tls`. The certificate is "
        "for `localhost`, the loopback addresses and `HTTP_HOST`. If the gateway listens on all addresses, it is for the name of the "
        "machine instead of `HTTP_HOST`. A start of the gateway in the last 30 days before the certificate expires renews it. Let clients "
        "trust the file `DATA_DIR/tls/certificate.pem`; this certificate cannot sign others. Do not combine this setting with `TLS_CERT` "
        "and `TLS_KEY`",
        "api",
    )
    database_url: SecretStr | None = setting(
        None,
        "URL of the database, such as `postgresql://user:password@host/name`. The database must be PostgreSQL 15 to 18",
        "api, jobs-worker, expressions, migrate",
        displayed_default="embedded (only in `serve`)",
    )
    database_pool_size: Positive = setting(
        10,
        "maximum number of connections of one process to the database; each gateway has one more, which listens for notifications",
        "api, jobs-worker, expressions",
    )
    amqp_url: SecretStr | None = setting(
        None,
        "URL of the broker, such as `amqp://user:password@host/`. The broker must be RabbitMQ 3.10 to 4",
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
        True, "`true`: clients may authenticate with login and password; `false`: only API keys and tokens are accepted", "api"
    )
    login_attempts: Positive = setting(
        5,
        "number of failed logins with one login from one address, after which the address cannot use this login until "
        "`LOGIN_WINDOW_SECONDS` have passed. After ten times as many failures of one address with any logins, the address cannot use any "
        "login. Each gateway counts separately",
        "api",
    )
    login_window_seconds: Seconds = setting(300, "seconds for which failed logins are counted, from the first failure", "api")
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = setting(
        (),
        "comma-separated list of addresses and networks (`10.0.0.0/8`) of proxies. In requests from these proxies, the header "
        "`X-Forwarded-For` has the address of the caller. In all other requests, this header is ignored",
        "api",
    )
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = setting(
        (),
        "comma-separated list of names, such as `dash.example.com` or `*.example.com`, that requests may have as `Host` "
        "([browsers](http.md#browsers)). These names need no entry: addresses, `localhost`, `HTTP_HOST`, the name in `PUBLIC_URL` and, if "
        "the gateway listens on all addresses, the name of the machine. `*` trusts every name: use it only behind a proxy that checks "
        "`Host`",
        "api",
    )
    api_key_max_seconds_to_live: Positive | None = setting(
        None, "maximum lifetime of a new token, in seconds. If this is set, every new token must expire", "api"
    )
    token_expiration_day_limit: Annotated[int, Field(gt=0, le=36_500)] | None = setting(
        None, "maximum lifetime of a new token, in days. If this is set, every new token must expire", "api"
    )
    expired_token_days: Days = setting(30, "days after the expiry of a token at which it is deleted; `0` keeps expired tokens", "api")
    last_used_seconds: Seconds = setting(
        10,
        "seconds between two writes of the times at which tokens and keys were last used. If a gateway is killed, the times since its "
        "last write are lost",
        "api",
    )
    audit_days: Days = setting(365, "days for which audit events are kept; `0` keeps them without a limit", "api")
    dead_letter_days: Days = setting(30, "days for which dead letters are kept; with `0`, only `DEAD_LETTERS_KEPT` limits them", "api")
    dead_letters_kept: Positive = setting(
        10_000,
        "maximum number of dead letters of one organization. If there are more, replayed dead letters are deleted first, then the oldest",
        "api",
    )
    quotas_enabled: bool = setting(True, "`false`: quotas limit nothing, and the routes about quotas return 403", "api, jobs-worker")
    quota_defaults: Annotated[Mapping[str, int], NoDecode] = setting(
        None,
        "limits of organizations and users for which no request has set a limit ([quotas](accounts.md#quotas)), for example "
        "`org_user=10,org_dashboard=100`. The names are `org_user`, `org_dashboard`, `org_data_source`, `org_api_key`, `org_alert_rule` "
        "and `user_org`. Limits for the whole server are named `global_user`, `global_org`, `global_dashboard`, `global_data_source`, "
        "`global_api_key` and `global_alert_rule`. `-1`, like a missing entry, means unlimited; `0` allows nothing. Give api and "
        "jobs-worker the same value",
        "api, jobs-worker",
        default_factory=dict,
    )
    secret_key: SecretStr | None = setting(
        None,
        "key that encrypts stored secrets (of data sources, repositories and webhooks), and that signs messages between services. It is "
        "any random string of at least 12 characters (`openssl rand -base64 32`), the same for all services. If the key is lost, all "
        "secrets must be entered again",
        "api, jobs-worker, expressions",
        displayed_default="none; generated by `serve` as `secret.key` next to its database",
    )
    secret_keys_accepted: Annotated[tuple[SecretStr, ...], NoDecode] = setting(
        (),
        "comma-separated list of further keys. They decrypt stored secrets and verify messages, but do not encrypt or sign. They are used "
        "while [`SECRET_KEY` is exchanged](../how-to/operations.md#exchanging-secret_key)",
        "api, jobs-worker, expressions",
    )
    secrets_dir: Path | None = setting(
        None,
        "directory with files that are named like environment variables, such as `dashwright_secret_key`. The content of a file is the "
        "value of the setting. If the variable is also in the environment, its value there is used",
        "all",
    )
    features: Annotated[frozenset[str], NoDecode] = setting(
        frozenset(),
        "comma-separated list of feature flags: `sqlExpression` enables [`sql` expressions](expressions.md#sql)",
        "api, expressions, eval",
    )
    permitted_paths: Annotated[tuple[Path, ...], NoDecode] = setting(
        (),
        "directories in which `local` repositories may be, separated by `:`. A relative path of a repository is below the first of them. "
        "All organizations share these directories ([what this permits](../how-to/operations.md#local-repositories-and-organizations))",
        "api, jobs-worker",
        displayed_default="`DATA_DIR/repositories`",
    )
    reported_version: str = setting(
        "12.0.0",
        "version of Grafana that `/api/health` returns. Grafana clients use it to decide which features they may use",
        "api",
        pattern=r"^\d+\.\d+\.\d+$",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info",
        "lowest level that is logged: `debug`, `info`, `warning` or `error`. On a terminal, successful requests are logged only with "
        "`debug`",
        "all",
    )
    log_format: Literal["auto", "json", "console"] = setting(
        "auto", "`json`, `console` or `auto`; `auto` means `console` if standard error is a terminal, otherwise `json`", "all"
    )
    event_loop: Literal["uvloop", "asyncio"] = setting("uvloop", "the implementation of the event loop: `uvloop` or `asyncio`", "all")
    probe_host: str = setting("127.0.0.1", "address on which workers serve probes and metrics", "jobs-worker, expressions")
    probe_port: Annotated[int, Field(ge=0, le=65535)] = setting(
        9080, "port on which workers serve probes and metrics", "jobs-worker, expressions"
    )
    metrics_token: SecretStr | None = setting(
        None,
        "if this is set, the gateway's `/metrics` requires `Authorization: Bearer` with this token. `/metrics` of a worker requires no "
        "token",
        "api",
    )
    address_connections: Positive = setting(
        2000,
        "maximum number of open connections of one address, or of one IPv6 network with a prefix of 64 bits; further connections are "
        "closed. Connections from this machine and from `TRUSTED_PROXIES` are not counted. There is a second limit: at most 1,024 "
        "connections of an address may wait for their first complete request headers. Such a connection is closed after 20 seconds",
        "api",
    )
    max_body_bytes: Positive = setting(16 * 1024 * 1024, "maximum size of the body of a query; RabbitMQ 4 accepts no larger message", "api")
    response_bytes: Positive = setting(
        128 * 1024 * 1024,
        "maximum memory for responses that their clients have not read yet. One organization may use half of it, and one caller a "
        "quarter. If a response does not fit into the share of its caller or organization, the client receives 429 instead. If it does "
        "not fit into the whole memory, the client receives 503. A response that is larger than a limit is sent if no other response "
        "counts against this limit",
        "api",
    )
    write_seconds: Seconds = setting(30, "seconds after which a connection is closed if its client reads nothing of a response", "api")
    start_seconds: Seconds = setting(
        60,
        "seconds for which a starting service waits for the database; it then waits as long for the schema of the database, and as long "
        "for the broker",
        "services",
    )
    shutdown_seconds: Seconds = setting(
        20, "seconds for which a stopping service waits for work in progress, before it returns the work to the queue", "all"
    )
    drain_seconds: Annotated[float, Field(ge=0)] = setting(
        0,
        "seconds for which a stopping gateway still accepts requests. During this time, `/readyz` returns 503 and each response closes "
        "its connection. Use more seconds than the load balancer needs to notice the 503 "
        "([scaling](../how-to/operations.md#several-gateways))",
        "api",
    )
    query_seconds: Seconds = setting(30, "maximum time of a query, in seconds, after which the client receives an error", "api")
    query_slots: Positive = setting(
        8,
        "maximum number of queries that one worker evaluates concurrently. A quarter of them is reserved for organizations without a "
        "running query",
        "expressions",
    )
    query_waiting: Annotated[int, Field(gt=0, le=50_000)] = setting(
        512,
        "maximum number of waiting queries in one worker, at most 50,000. A query is refused if the waiting queries of its organization "
        "are as many as the free places. One organization alone can therefore fill only half of the places",
        "expressions",
    )
    query_bytes: Positive = setting(
        1 << 30,
        "maximum memory of all requests in one worker, as estimated. One organization may use at most three quarters of it. [How to "
        "calculate a value](../how-to/operations.md#memory-of-an-expressions-worker)",
        "expressions",
    )
    query_response_bytes: Positive = setting(
        256 * 1024 * 1024, "maximum size of one response as JSON, which is estimated before the response is encoded", "expressions"
    )
    query_targets: Positive = setting(500, "maximum number of queries in one request, or of targets in one panel", "expressions")
    query_depth: Positive = setting(
        100, "maximum length of a chain of expressions, in which each expression reads the previous one", "expressions"
    )
    query_series: Positive = setting(100_000, "maximum number of series (or numbers) of one refId", "expressions")
    query_points: Positive = setting(20_000_000, "maximum number of points in all series of one refId together", "expressions")
    query_labels: Positive = setting(100, "maximum number of labels of one series", "expressions")
    request_points: Positive = setting(
        50_000_000,
        "maximum number of points that the queries and expressions of one request have in memory at one time. Each series counts as 32 "
        "additional points. A hidden result is in memory until the last expression that reads it has run",
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
        1 << 30, "maximum memory, as estimated, of the result of one math operator; `0` disables the check", "expressions"
    )
    evaluation_result_seconds: Positive = setting(
        86_400,
        "seconds for which an evaluation and its result are kept after the end of the evaluation. Give expressions and jobs-worker the "
        "same value",
        "expressions, jobs-worker",
    )
    evaluations_kept: Positive = setting(
        100_000,
        "maximum number of stored evaluations of one organization, in any state. Further evaluations are refused with 403. With the "
        "default, evaluations with results of 10 kB each take about 2 GB of the database",
        "api",
    )
    evaluation_seconds: Seconds = setting(
        25,
        "maximum time in which a worker evaluates one request, in seconds. It must be less than `QUERY_SECONDS`, so that the client "
        "receives the error of the worker",
        "expressions",
    )
    sql_slots: Positive = setting(
        4,
        "maximum number of `sql` expressions that one worker runs concurrently. The slots are shared between organizations, like those of "
        "`QUERY_SLOTS`. Each slot has its own child process, which is started when the slot is first used",
        "expressions",
    )
    sql_seconds: Seconds = setting(10, "maximum number of seconds for which one `sql` expression may run", "expressions")
    sql_bytes: Positive = setting(
        512 * 1024 * 1024,
        "maximum memory of one `sql` expression. The tables that it reads may use the same amount in addition, and its result may, too",
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
        "sources, git hosts, receivers of notifications and `RESULTS_ENDPOINT` may have these addresses in addition to public ones. "
        "Connections to these addresses may be unencrypted ([allowed addresses](data-sources.md#allowed-addresses))",
        "expressions, jobs-worker, api",
        displayed_default="none; in `serve` `localhost,127.0.0.0/8,::1`",
    )
    source_seconds: Seconds = setting(
        20,
        "maximum time of a query of a data source, in seconds; `timeout` in the record of the data source replaces it",
        "expressions",
    )
    source_bytes: Positive = setting(128 * 1024 * 1024, "maximum size of one response of a data source, after decompression", "expressions")
    source_rows: Positive = setting(
        1_000_000,
        "maximum number of rows in the response to one PostgreSQL statement. Further rows are omitted, and a notice reports it",
        "expressions",
    )
    source_connections: Positive = setting(
        4, "maximum number of connections of one worker to one PostgreSQL data source, or to one host over HTTP", "expressions"
    )
    query_cache_bytes: Annotated[int, Field(ge=0)] = setting(
        64 * 1024 * 1024,
        "maximum memory of one worker for the [cache](data-sources.md#the-cache) of data source responses; `0` disables the cache",
        "expressions",
    )
    query_cache_seconds: Seconds = setting(10, "seconds for which a cached response of a data source is reused", "expressions")
    testdata: bool = setting(True, "`false`: queries of the data source `grafana-testdata-datasource` are refused", "expressions")
    testdata_seconds: Seconds = setting(30, "maximum delay, in seconds, of a `slow_query` of `grafana-testdata-datasource`", "expressions")
    job_slots: Positive = setting(
        4,
        "maximum number of jobs on repositories that one worker runs concurrently. When a worker has had jobs of several organizations, a "
        "quarter of its slots, but at least one, is reserved for organizations without running jobs. With one slot, no slot is reserved",
        "jobs-worker",
    )
    evaluation_slots: Positive = setting(
        16,
        "maximum number of evaluations that one worker runs concurrently as jobs. Slots are reserved as described for `JOB_SLOTS`",
        "expressions",
    )
    job_lease_seconds: Seconds = setting(
        30,
        "seconds after which another worker takes over the job of an unresponsive worker. A working worker renews its lease after a third "
        "of this time",
        "jobs-worker, expressions",
    )
    job_attempts: Positive = setting(
        5, "number of times that a job is started if its workers die. After that, the job ends in the state `error`", "jobs-worker"
    )
    job_history: Positive = setting(
        100,
        "number of ended jobs that are kept for each repository and action (`sync`, `export`, `pr`); evaluations are not counted",
        "jobs-worker",
    )
    waiting_jobs: Positive = setting(
        200_000,
        "maximum number of jobs and evaluations of one organization that wait for a worker. Over HTTP, further ones are refused with 429. "
        "Over the queue, further messages are [delayed](queue.md#too-many-waiting-jobs). Give api and jobs-worker the same value",
        "api, jobs-worker",
    )
    batch_items: Positive = setting(200_000, "maximum number of items of one [batch](batches.md)", "api")
    queue_identity: bool = setting(
        True, "`true`: messages without the header `authorization` may submit `sync` and `pr` jobs ([queue](queue.md))", "api"
    )
    min_refresh: Seconds = setting(5, "the shortest refresh interval that a dashboard may have, in seconds", "api, jobs-worker")
    watches: Positive = setting(
        20_000,
        "maximum number of open watches of one gateway; further watches are refused with 429. One caller may have a quarter of this "
        "number, but an Admin may have all of it",
        "api",
    )
    change_seconds: Positive = setting(
        3600,
        "seconds for which changes are kept. A watch cannot resume from an older version, and an older `continue` token of a list is not "
        "valid",
        "jobs-worker",
    )
    folder_depth: Annotated[int, Field(gt=0, le=64)] = setting(
        8,
        "maximum number of levels of nested folders. In a repository, directories below these levels do not become folders",
        "api, jobs-worker",
    )
    scheduling: bool = setting(
        True,
        "`true`: this worker may schedule syncs of new and changed repositories, and of repositories whose interval has passed. At any "
        "time, only one worker schedules the syncs",
        "jobs-worker",
    )
    public_url: str = setting(
        "",
        "address under which users and git hosts reach this service, such as `https://dashboards.example.com`. It is used in links to "
        "snapshots, in pull requests, and for the webhooks that are created on git hosts. In browsers, it is the origin of the pages of "
        "this service",
        "jobs-worker, api",
        displayed_default="from `HTTP_HOST` and `HTTP_PORT`",
    )
    repository_files: Positive = setting(50_000, "maximum number of files and directories of one repository", "jobs-worker")
    repository_bytes: Positive = setting(
        1 << 30,
        "maximum size of one repository. The limit applies to the worker's mirror of the repository, to all of its resource files "
        "together, and to an export",
        "jobs-worker",
    )
    repository_file_bytes: Positive = setting(5 * 1024 * 1024, "maximum size of a file that is read as a dashboard", "jobs-worker")

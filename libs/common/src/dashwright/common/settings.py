"""What can be set from outside, by environment variables with the prefix ``DASHWRIGHT_``; ``.env`` is read in development.

Secrets may lie in files instead: each file in the folder ``DASHWRIGHT_SECRETS_DIR`` that is named like a variable (in any case) is that
variable's value, unless the environment has it.

A wrong value stops the start with one sentence a setting. Every field is documented in docs/reference/settings.md.
"""

import difflib
import ipaddress
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.models.quotas import QuotaRules, read_defaults
from dashwright.common.password_policy import PasswordPolicy

PREFIX = "DASHWRIGHT_"
_SECRETS_DIR = f"{PREFIX}SECRETS_DIR"
DEFAULT_PASSWORD = "admin"  # noqa: S105
ANY_HOST = "*"
"""The entry of ``TRUSTED_HOSTS`` that trusts every name."""
_SHORTEST_KEY = 12
_FOR_TESTS = f"{PREFIX}TEST_"
_FOR_CLIENTS = frozenset({"DASHWRIGHT_URL", "DASHWRIGHT_TOKEN", "DASHWRIGHT_USER", "DASHWRIGHT_NAMESPACE"})
"""Where the command line finds a server, and who it asks as."""

SQL_FEATURE = "sqlExpression"
FEATURES = frozenset({SQL_FEATURE})

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Days = Annotated[int, Field(ge=0, le=36_500)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SettingsError(Exception):
    """One or more settings are wrong; the text says which, and what would be right."""


class Settings(BaseSettings):
    """All settings of all services; each reads those it needs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore")

    http_host: str = "127.0.0.1"
    http_port: Annotated[int, Field(ge=0, le=65535)] = 3000
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls: Literal["", "self-signed"] = ""
    database_url: SecretStr | None = None
    database_pool_size: Positive = 10
    amqp_url: SecretStr | None = None
    data_dir: Path = Path(".dashwright")
    admin_user: str = Field(default="admin", min_length=1)
    admin_password: SecretStr = SecretStr(DEFAULT_PASSWORD)
    allow_default_password: bool = False
    password_min_length: Annotated[int, Field(ge=4, le=64)] = 8
    basic_auth: bool = True
    login_attempts: Positive = 5
    login_window_seconds: Seconds = 300
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = ()
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    api_key_max_seconds_to_live: Positive | None = None
    token_expiration_day_limit: Annotated[int, Field(gt=0, le=36_500)] | None = None
    expired_token_days: Days = 30
    last_used_seconds: Seconds = 10
    audit_days: Days = 365
    quotas_enabled: bool = True
    quota_defaults: Annotated[Mapping[str, int], NoDecode] = Field(default_factory=dict)
    secret_key: SecretStr | None = None
    secret_keys_accepted: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    secrets_dir: Path | None = None
    features: Annotated[frozenset[str], NoDecode] = frozenset()
    permitted_paths: Annotated[tuple[Path, ...], NoDecode] = ()
    reported_version: str = Field(default="12.0.0", pattern=r"^\d+\.\d+\.\d+$")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "console"] = "auto"
    event_loop: Literal["uvloop", "asyncio"] = "uvloop"
    probe_host: str = "127.0.0.1"
    probe_port: Annotated[int, Field(ge=0, le=65535)] = 9080
    metrics_token: SecretStr | None = None
    address_connections: Positive = 2000
    max_body_bytes: Positive = 16 * 1024 * 1024
    response_bytes: Positive = 128 * 1024 * 1024
    write_seconds: Seconds = 30
    start_seconds: Seconds = 60
    shutdown_seconds: Seconds = 20
    query_seconds: Seconds = 30
    query_slots: Positive = 8
    query_waiting: Annotated[int, Field(gt=0, le=50_000)] = 512
    query_bytes: Positive = 1 << 30
    query_response_bytes: Positive = 256 * 1024 * 1024
    query_targets: Positive = 500
    query_depth: Positive = 100
    query_series: Positive = 100_000
    query_points: Positive = 20_000_000
    query_labels: Positive = 100
    request_points: Positive = 50_000_000
    expression_length: Positive = 10_000
    request_expressions: Positive = 200_000
    expression_depth: Annotated[int, Field(gt=0, le=100)] = 50
    resample_buckets: Positive = 500_000
    math_bytes: Annotated[int, Field(ge=0)] = 1 << 30
    evaluation_result_seconds: Positive = 86_400
    evaluations_kept: Positive = 100_000
    evaluation_seconds: Seconds = 25
    sql_slots: Positive = 4
    sql_seconds: Seconds = 10
    sql_bytes: Positive = 512 * 1024 * 1024
    sql_output_cells: Positive = 1_000_000
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    source_seconds: Seconds = 20
    source_bytes: Positive = 128 * 1024 * 1024
    source_rows: Positive = 1_000_000
    source_connections: Positive = 4
    query_cache_bytes: Annotated[int, Field(ge=0)] = 64 * 1024 * 1024
    query_cache_seconds: Seconds = 10
    testdata: bool = True
    testdata_seconds: Seconds = 30
    job_slots: Positive = 4
    job_lease_seconds: Seconds = 30
    job_attempts: Positive = 5
    job_history: Positive = 100
    queue_identity: bool = True
    min_refresh: Seconds = 5
    watches: Positive = 20_000
    versions_kept: Positive = 20
    trash_days: Days = 30
    change_seconds: Positive = 3600
    folder_depth: Annotated[int, Field(gt=0, le=64)] = 8
    scheduling: bool = True
    git_seconds: Seconds = 600
    git_authorities: Path | None = None
    host_requests: Annotated[int, Field(ge=0)] = 600
    git_host_apis: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    public_url: str = ""
    repository_files: Positive = 50_000
    repository_bytes: Positive = 1 << 30
    repository_file_bytes: Positive = 5 * 1024 * 1024

    @field_validator("features", mode="before")
    @classmethod
    def _split_features(cls, value: object) -> object:
        return frozenset(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("features")
    @classmethod
    def _know_features(cls, value: frozenset[str]) -> frozenset[str]:
        if unknown := value - FEATURES:
            raise ValueError(f"unknown feature {', '.join(sorted(unknown))}; known: {', '.join(sorted(FEATURES))}")
        return value

    @field_validator("permitted_paths", mode="before")
    @classmethod
    def _split_paths(cls, value: object) -> object:
        return tuple(Path(part) for part in value.split(":") if part) if isinstance(value, str) else value

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split_networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return tuple(ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip())
        except ValueError as error:
            raise ValueError(f"{error}; give addresses or networks like 10.0.0.0/8, separated by commas") from error

    @field_validator("allowed_hosts", "trusted_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("secret_keys_accepted", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("allowed_hosts")
    @classmethod
    def _know_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedHosts.of(value)
        return value

    @field_validator("trusted_hosts")
    @classmethod
    def _know_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedHosts.of(name for name in value if name != ANY_HOST)
        return value

    @field_validator("git_host_apis", mode="before")
    @classmethod
    def _split_apis(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
        for host, separator, address in pairs:
            if not host or not separator or (address and not _is_address(address)):
                text = f"{host[:80]!r}: give host=https://address, separated by commas; host= alone where a host has no API"
                raise ValueError(text)
        return {host.lower(): address.rstrip("/") for host, _, address in pairs}

    @field_validator("public_url")
    @classmethod
    def _know_public_url(cls, value: str) -> str:
        if value and not _is_address(value):
            raise ValueError(f"{value[:80]!r} is no address; give one like https://dashboards.example.com, without query")
        return value.rstrip("/")

    @field_validator("secret_key")
    @classmethod
    def _is_long(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and 0 < len(value.get_secret_value()) < _SHORTEST_KEY:
            raise ValueError(f"shorter than {_SHORTEST_KEY} characters, which can be guessed; make one by: openssl rand -base64 32")
        return value

    @field_validator("quota_defaults", mode="before")
    @classmethod
    def _split_quotas(cls, value: object) -> object:
        return read_defaults(value) if isinstance(value, str) else value

    @field_validator("api_key_max_seconds_to_live", "token_expiration_day_limit", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return None if value == "" else value

    @model_validator(mode="after")
    def _check_together(self) -> "Settings":
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError(f"{PREFIX}TLS_CERT and {PREFIX}TLS_KEY go together: set both or neither")
        if self.tls and self.tls_cert:
            raise ValueError(f"{PREFIX}TLS=self-signed and {PREFIX}TLS_CERT exclude one another: leave one out")
        if self.is_exposed and self.is_weak_password(self.admin_password.get_secret_value(), self.admin_user):
            raise ValueError(
                f"{PREFIX}HTTP_HOST {self.http_host} listens beyond this machine with the default password, or with one that is empty, "
                f"shorter than {self.password_min_length} characters or widely used: set {PREFIX}ADMIN_PASSWORD, or "
                f"{PREFIX}ALLOW_DEFAULT_PASSWORD=true where that is meant"
            )
        return self

    @property
    def is_exposed(self) -> bool:
        """Whether strangers may reach the listener, and nothing says that weak passwords are meant."""
        return not self.allow_default_password and not is_loopback(self.http_host)

    @property
    def password_policy(self) -> PasswordPolicy:
        return PasswordPolicy(self.password_min_length)

    def is_weak_password(self, password: str, login: str) -> bool:
        """Return whether a password must not be used where strangers can try it."""
        return password == DEFAULT_PASSWORD or self.password_policy.is_weak(password, login)

    @property
    def trusting(self) -> Mapping[str, str]:
        """The settings that trust everything, each with what to set instead."""
        networks = [entry for entry in self.allowed_hosts if entry.endswith("/0")]
        found = {
            "PERMITTED_PATHS": Path("/") in self.permitted_paths and "the folders that local repositories may lie in",
            "TRUSTED_PROXIES": any(not proxy.prefixlen for proxy in self.trusted_proxies) and "the addresses of your proxies",
            "ALLOWED_HOSTS": bool(networks) and "the hosts that data sources and git hosts may have",
            "TRUSTED_HOSTS": ANY_HOST in self.trusted_hosts and "the names of this server",
        }
        return {PREFIX + name: advice for name, advice in found.items() if advice}

    @property
    def local_paths(self) -> tuple[Path, ...]:
        """The folders that ``local`` repositories may lie in, absolute."""
        chosen = self.permitted_paths or (self.data_dir / "repositories",)
        return tuple(Path(path).absolute() for path in chosen)

    @property
    def public_address(self) -> str:
        """Where people and git hosts find us, without a slash at the end."""
        scheme = "https" if self.tls or self.tls_cert else "http"
        host = f"[{self.http_host}]" if ":" in self.http_host else self.http_host
        return self.public_url or f"{scheme}://{host}:{self.http_port}"

    @property
    def quota_rules(self) -> QuotaRules:
        return QuotaRules(enabled=self.quotas_enabled, defaults=self.quota_defaults)

    @property
    def log_as_json(self) -> bool | None:
        return None if self.log_format == "auto" else self.log_format == "json"


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    return has_port and is_plain and parts.scheme in ("https", "http") and bool(parts.hostname)


def is_loopback(host: str) -> bool:
    """Whether a listener on ``host`` is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(**overrides: object) -> Settings:
    """Reads the environment; raises SettingsError that names each wrong setting."""
    try:
        return Settings(_secrets_dir=_secrets_dir(), **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(fault) for fault in error.errors())) from error


def _secrets_dir() -> Path | None:
    """Where files are looked for is asked before the settings are read, and of the environment only."""
    named = os.environ.get(_SECRETS_DIR)
    if not named:
        return None
    if not os.access(named, os.R_OK | os.X_OK) or not Path(named).is_dir():
        raise SettingsError(f"{_SECRETS_DIR}: {named} is no folder that may be read; name one, or leave the variable out")
    return Path(named)


def unknown(environment: Mapping[str, str | None]) -> dict[str, str]:
    """Variables with our prefix that are no setting, each with the setting that was probably meant (or an empty text)."""
    known = [name.upper() for name in Settings.model_fields]
    given = [name for name in environment if name.startswith(PREFIX) and not name.startswith(_FOR_TESTS)]
    strange = [name.removeprefix(PREFIX) for name in given if name.removeprefix(PREFIX) not in known and name not in _FOR_CLIENTS]
    # Without the prefix, which alone would make any two of them alike.
    alike = {name: difflib.get_close_matches(name, known, n=1) for name in strange}
    return {PREFIX + name: PREFIX + found[0] if found else "" for name, found in alike.items()}


def _sentence(fault: object) -> str:
    assert isinstance(fault, dict)
    name = PREFIX + "_".join(str(part) for part in fault["loc"][:1]).upper() if fault["loc"] else "Settings"
    return f"{name}: {str(fault['msg']).removeprefix('Value error, ')}"


@contextmanager
def listening_at(which: str, host: str, port: int) -> Iterator[None]:
    """Says by its settings (``{which}_HOST``, ``{which}_PORT``) what an address that cannot be listened at needs."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        text = f"cannot listen at {host}:{port} ({reason}); free it, or set {PREFIX}{which}_PORT or {PREFIX}{which}_HOST"
        raise SettingsError(text) from error


def require(value: SecretStr | None, name: str) -> str:
    """The value of a setting that this service cannot do without."""
    if value is None or not value.get_secret_value():
        raise SettingsError(f"{PREFIX}{name} must be set for this service")
    return value.get_secret_value()


def secret_keys(settings: Settings) -> tuple[str, ...]:
    """Return SECRET_KEY, which seals and signs, and after it the keys that only open and verify."""
    accepted = (key.get_secret_value() for key in settings.secret_keys_accepted)
    return (require(settings.secret_key, "SECRET_KEY"), *accepted)

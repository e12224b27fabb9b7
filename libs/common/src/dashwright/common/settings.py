"""Settings from environment variables with the prefix ``DASHWRIGHT_``; ``.env`` is read in development.

A secret may be in a file instead: a file in the directory ``DASHWRIGHT_SECRETS_DIR`` that is named like a variable, in upper or
lower case, contains the value of that variable. The environment takes precedence.

An invalid value stops the start with one line for each such setting. ``settings_fields`` and ``feature_settings`` declare the settings.
"""

import difflib
import ipaddress
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.feature_settings import FeatureSettingsFields
from dashwright.common.git_hosts.registry import HOSTS, parse_choice
from dashwright.common.models.quotas import QuotaRules, read_defaults
from dashwright.common.password_policy import PasswordPolicy
from dashwright.common.settings_fields import DEFAULT_PASSWORD, SettingsFields
from dashwright.common.storage_location import StorageLocation

PREFIX = "DASHWRIGHT_"
_SECRETS_DIR_VARIABLE = f"{PREFIX}SECRETS_DIR"
#: Entry of ``TRUSTED_HOSTS`` that trusts every name.
ANY_HOST = "*"
_MIN_SECRET_KEY_LENGTH = 12
#: Maximum number of characters of an invalid value in an error message.
_MAX_EXCERPT_LENGTH = 80
_S3_SCHEME = "s3://"
#: Prefix of variables that only the tests read.
_TEST_PREFIX = f"{PREFIX}TEST_"
#: Variables that client commands read: the server and the credentials.
_CLIENT_VARIABLES = frozenset({"DASHWRIGHT_URL", "DASHWRIGHT_TOKEN", "DASHWRIGHT_USER", "DASHWRIGHT_NAMESPACE"})

#: Feature flag for ``sql`` expressions.
SQL_FEATURE = "sqlExpression"
FEATURES = frozenset({SQL_FEATURE})


class SettingsError(Exception):
    """Invalid settings. The message names each invalid setting and says what is valid."""


class Settings(FeatureSettingsFields, SettingsFields):
    """Validated settings of all services. Each service reads those that it needs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore")

    @field_validator("features", mode="before")
    @classmethod
    def _split_features(cls, value: object) -> object:
        return frozenset(_comma_separated(value)) if isinstance(value, str) else value

    @field_validator("features")
    @classmethod
    def _check_features(cls, value: frozenset[str]) -> frozenset[str]:
        if unknown := value - FEATURES:
            raise ValueError(f"unknown feature {', '.join(sorted(unknown))}; known: {', '.join(sorted(FEATURES))}")
        return value

    @field_validator("permitted_paths", mode="before")
    @classmethod
    def _split_paths(cls, value: object) -> object:
        return tuple(Path(path) for path in value.split(":") if path) if isinstance(value, str) else value

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split_networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return tuple(map(ipaddress.ip_network, _comma_separated(value)))
        except ValueError as error:
            raise ValueError(f"{error}; give addresses or networks like 10.0.0.0/8, separated by commas") from error

    @field_validator("allowed_hosts", "trusted_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return tuple(_comma_separated(value)) if isinstance(value, str) else value

    @field_validator("secret_keys_accepted", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        return tuple(_comma_separated(value)) if isinstance(value, str) else value

    @field_validator("allowed_hosts")
    @classmethod
    def _check_allowed_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedHosts.parse(value)
        return value

    @field_validator("trusted_hosts")
    @classmethod
    def _check_trusted_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedHosts.parse(name for name in value if name != ANY_HOST)
        return value

    @field_validator("git_host_apis", mode="before")
    @classmethod
    def _split_git_host_apis(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [item.partition("=") for item in _comma_separated(value)]
        for host, separator, address in pairs:
            if not host or not separator or not _is_api(address):
                message = (
                    f"{host[:_MAX_EXCERPT_LENGTH]!r}: give host=https://address, host=gitlab or host=gitlab+https://address, separated by "
                    f"commas; the kinds are {', '.join(sorted(kind.name for kind in HOSTS))}, and host= alone is for a host without an API"
                )
                raise ValueError(message)
        return {host.lower(): address.rstrip("/") for host, _, address in pairs}

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, value: str) -> str:
        if value and not _is_url(value):
            excerpt = value[:_MAX_EXCERPT_LENGTH]
            raise ValueError(f"{excerpt!r} is not an address; give one like https://dashboards.example.com, without query")
        return value.rstrip("/")

    @field_validator("results_url")
    @classmethod
    def _check_results_url(cls, value: str) -> str:
        is_bucket = bool(value.startswith(_S3_SCHEME) and urlsplit(value).netloc)
        if value and not is_bucket and not Path(value).is_absolute():
            raise ValueError(f"{value[:_MAX_EXCERPT_LENGTH]!r} is neither an absolute path nor s3://bucket/prefix")
        return value

    @field_validator("results_endpoint")
    @classmethod
    def _check_results_endpoint(cls, value: str) -> str:
        if value and not _is_url(value):
            raise ValueError(f"{value[:_MAX_EXCERPT_LENGTH]!r} is not an address; give one like https://storage.example.com, without query")
        return value.rstrip("/")

    @field_validator("secret_key")
    @classmethod
    def _check_secret_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and 0 < len(value.get_secret_value()) < _MIN_SECRET_KEY_LENGTH:
            raise ValueError(
                f"shorter than {_MIN_SECRET_KEY_LENGTH} characters, which can be guessed; make one by: openssl rand -base64 32"
            )
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
    def _check_combinations(self) -> "Settings":
        """Raise ValueError for settings that do not fit together."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError(f"{PREFIX}TLS_CERT and {PREFIX}TLS_KEY go together: set both or neither")
        if (self.results_access_key is None) != (self.results_secret_key is None):
            raise ValueError(f"{PREFIX}RESULTS_ACCESS_KEY and {PREFIX}RESULTS_SECRET_KEY go together: set both or neither")
        if self.tls and self.tls_cert:
            raise ValueError(f"{PREFIX}TLS=self-signed and {PREFIX}TLS_CERT exclude one another: leave one out")
        if self.refuses_weak_passwords and self.is_weak_password(self.admin_password.get_secret_value(), self.admin_user):
            raise ValueError(
                f"{PREFIX}HTTP_HOST {self.http_host} listens beyond this machine with the default password, or with one that is empty, "
                f"shorter than {self.password_min_length} characters or widely used: set {PREFIX}ADMIN_PASSWORD, or "
                f"{PREFIX}ALLOW_DEFAULT_PASSWORD=true if that is intended"
            )
        return self

    @property
    def results_location(self) -> StorageLocation:
        """The place where results of batches are stored. Raises SettingsError for an endpoint that is neither https nor allowed."""
        if not self.results_url.startswith(_S3_SCHEME):
            return StorageLocation(Path(self.results_url) if self.results_url else self.data_dir / "batches")
        endpoint = urlsplit(self.results_endpoint)
        if endpoint.scheme == "http" and not self._permits_unencrypted(endpoint.hostname or ""):
            raise SettingsError(f"{PREFIX}RESULTS_ENDPOINT: use https, or list the host in {PREFIX}ALLOWED_HOSTS")
        bucket, _, prefix = self.results_url.removeprefix(_S3_SCHEME).partition("/")
        keys = self.results_access_key, self.results_secret_key
        return StorageLocation(None, bucket, prefix.strip("/"), self.results_endpoint, self.results_region, *keys)

    def _permits_unencrypted(self, host: str) -> bool:
        """Return whether services may connect to a host without encryption."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            address = None
        return is_loopback(host) or AllowedHosts.parse(self.allowed_hosts).lists(address, host)

    @property
    def gateway_connections(self) -> int:
        """Size of the database pool of a gateway. The lock of provisioning takes one more connection."""
        return self.database_pool_size if self.provisioning_dir is None else self.database_pool_size + 1

    @property
    def refuses_weak_passwords(self) -> bool:
        """True if other machines can reach the listener and ``ALLOW_DEFAULT_PASSWORD`` is false."""
        return not self.allow_default_password and not is_loopback(self.http_host)

    @property
    def password_policy(self) -> PasswordPolicy:
        """Policy for passwords."""
        return PasswordPolicy(self.password_min_length)

    def is_weak_password(self, password: str, login: str) -> bool:
        """Return whether a password must not be used where unauthenticated clients can try it."""
        return password == DEFAULT_PASSWORD or self.password_policy.is_weak(password, login)

    @property
    def unrestricted_settings(self) -> Mapping[str, str]:
        """Settings that trust every path, address or name, each with a description of what to list instead."""
        trusts_all_proxies = any(proxy.prefixlen == 0 for proxy in self.trusted_proxies)
        allows_all_hosts = any(entry.endswith("/0") for entry in self.allowed_hosts)
        settings = (
            ("PERMITTED_PATHS", Path("/") in self.permitted_paths, "the directories in which local repositories may be"),
            ("TRUSTED_PROXIES", trusts_all_proxies, "the addresses of your proxies"),
            ("ALLOWED_HOSTS", allows_all_hosts, "the hosts that data sources and git hosts may have"),
            ("TRUSTED_HOSTS", ANY_HOST in self.trusted_hosts, "the names of this server"),
        )
        return {PREFIX + name: advice for name, is_unrestricted, advice in settings if is_unrestricted}

    @property
    def local_paths(self) -> tuple[Path, ...]:
        """Absolute paths of the directories in which ``local`` repositories may be."""
        paths = self.permitted_paths or (self.data_dir / "repositories",)
        return tuple(Path(path).absolute() for path in paths)

    @property
    def public_address(self) -> str:
        """URL at which users and git hosts reach this server, without a trailing slash."""
        scheme = "https" if self.tls or self.tls_cert else "http"
        host = f"[{self.http_host}]" if ":" in self.http_host else self.http_host
        return self.public_url or f"{scheme}://{host}:{self.http_port}"

    @property
    def quota_rules(self) -> QuotaRules:
        """The default limits of quotas, and whether quotas are enabled."""
        return QuotaRules(enabled=self.quotas_enabled, defaults=self.quota_defaults)

    @property
    def log_as_json(self) -> bool | None:
        """True if logs are JSON. None: they are JSON unless standard error is a terminal."""
        return None if self.log_format == "auto" else self.log_format == "json"


def _comma_separated(value: str) -> list[str]:
    """Return the items of a comma list, without surrounding white space and without empty items."""
    return [item.strip() for item in value.split(",") if item.strip()]


def _is_api(value: str) -> bool:
    """Return whether a value of GIT_HOST_APIS is empty, a kind of host, an address, or both."""
    try:
        choice = parse_choice(value) if value else None
    except ValueError:
        return False
    return choice is None or not choice.address or _is_url(choice.address)


def _is_url(value: str) -> bool:
    """Return whether a value is an http or https URL without credentials, query and fragment."""
    try:
        parts = urlsplit(value)
        is_port_valid = parts.port != 0  # reading an invalid port raises ValueError
    except ValueError:
        return False
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    return is_port_valid and is_plain and parts.scheme in ("https", "http") and bool(parts.hostname)


def is_loopback(host: str) -> bool:
    """Return whether a listener on ``host`` can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(**overrides: object) -> Settings:
    """Return the settings from the environment. Raises SettingsError, naming each invalid setting."""
    try:
        return Settings(_secrets_dir=_secrets_dir(), **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError("\n".join(_error_line(item) for item in error.errors())) from error


def _secrets_dir() -> Path | None:
    """Return the directory with secrets, or None. Only the environment can set it, because it is needed to read the settings."""
    path = os.environ.get(_SECRETS_DIR_VARIABLE)
    if not path:
        return None
    if not os.access(path, os.R_OK | os.X_OK) or not Path(path).is_dir():
        raise SettingsError(f"{_SECRETS_DIR_VARIABLE}: {path} is not a readable directory; name one, or leave the variable out")
    return Path(path)


def unknown_variables(environment: Mapping[str, str | None]) -> dict[str, str]:
    """Return variables with the prefix that are not settings. Each value is the most similar variable, or an empty string."""
    setting_names = [name.upper() for name in Settings.model_fields]
    variables = [name for name in environment if name.startswith(PREFIX) and not name.startswith(_TEST_PREFIX)]
    # Names are compared without the prefix, which would make any two of them similar.
    names = [name.removeprefix(PREFIX) for name in variables if name not in _CLIENT_VARIABLES]
    matches = {name: difflib.get_close_matches(name, setting_names, n=1) for name in names if name not in setting_names}
    return {PREFIX + name: PREFIX + similar[0] if similar else "" for name, similar in matches.items()}


def _error_line(error: object) -> str:
    """Return a validation error of pydantic as one line that names the variable."""
    assert isinstance(error, dict)
    name = PREFIX + str(error["loc"][0]).upper() if error["loc"] else "Settings"
    return f"{name}: {str(error['msg']).removeprefix('Value error, ')}"


@contextmanager
def reporting_listen_errors(setting_prefix: str, host: str, port: int) -> Iterator[None]:
    """Raise an OSError of the block, which tries to listen at ``host`` and ``port``, as SettingsError.

    The message names ``{setting_prefix}_HOST`` and ``{setting_prefix}_PORT``.
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        message = (
            f"cannot listen at {host}:{port} ({reason}); free it, or set {PREFIX}{setting_prefix}_PORT or {PREFIX}{setting_prefix}_HOST"
        )
        raise SettingsError(message) from error


def require(value: SecretStr | None, name: str) -> str:
    """Return the value of a setting that the service needs. Raises SettingsError if it is missing."""
    if value is None or not value.get_secret_value():
        raise SettingsError(f"{PREFIX}{name} must be set for this service")
    return value.get_secret_value()


def secret_keys(settings: Settings) -> tuple[str, ...]:
    """Return SECRET_KEY, which encrypts and signs, followed by the keys that only decrypt and verify."""
    accepted = (key.get_secret_value() for key in settings.secret_keys_accepted)
    return (require(settings.secret_key, "SECRET_KEY"), *accepted)

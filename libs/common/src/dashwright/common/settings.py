"""Settings from environment variables with the prefix ``DASHWRIGHT_``; ``.env`` is read in development.

Secrets may be in files instead: each file in the folder ``DASHWRIGHT_SECRETS_DIR`` that is named like a variable (in any case) has
its value, unless the environment has it.

A wrong value stops the start with one sentence for each setting. ``settings_fields`` declares and describes them.
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
from dashwright.common.models.quotas import QuotaRules, read_defaults
from dashwright.common.password_policy import PasswordPolicy
from dashwright.common.settings_fields import DEFAULT_PASSWORD, SettingsFields

PREFIX = "DASHWRIGHT_"
_SECRETS_DIR = f"{PREFIX}SECRETS_DIR"
#: Entry of ``TRUSTED_HOSTS`` that trusts every name.
ANY_HOST = "*"
_SHORTEST_KEY = 12
_FOR_TESTS = f"{PREFIX}TEST_"
#: Variables of the command line: the server to use, and the caller.
_FOR_CLIENTS = frozenset({"DASHWRIGHT_URL", "DASHWRIGHT_TOKEN", "DASHWRIGHT_USER", "DASHWRIGHT_NAMESPACE"})

SQL_FEATURE = "sqlExpression"
FEATURES = frozenset({SQL_FEATURE})


class SettingsError(Exception):
    """Wrong settings. The text says which ones are wrong and what would be right."""


class Settings(SettingsFields):
    """Settings of all services, checked. Each service reads those it needs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore")

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
                text = f"{host[:80]!r}: give host=https://address, separated by commas; host= alone for a host without an API"
                raise ValueError(text)
        return {host.lower(): address.rstrip("/") for host, _, address in pairs}

    @field_validator("public_url")
    @classmethod
    def _know_public_url(cls, value: str) -> str:
        if value and not _is_address(value):
            raise ValueError(f"{value[:80]!r} is not an address; give one like https://dashboards.example.com, without query")
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
                f"{PREFIX}ALLOW_DEFAULT_PASSWORD=true if that is intended"
            )
        return self

    @property
    def is_exposed(self) -> bool:
        """True if other machines can reach the listener, and no setting allows weak passwords."""
        return not self.allow_default_password and not is_loopback(self.http_host)

    @property
    def password_policy(self) -> PasswordPolicy:
        """Policy for passwords."""
        return PasswordPolicy(self.password_min_length)

    def is_weak_password(self, password: str, login: str) -> bool:
        """Return whether a password must not be used where unauthenticated clients can try it."""
        return password == DEFAULT_PASSWORD or self.password_policy.is_weak(password, login)

    @property
    def trusting(self) -> Mapping[str, str]:
        """Settings that trust everything, each with what to set instead."""
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
        """Folders in which ``local`` repositories may be, absolute."""
        chosen = self.permitted_paths or (self.data_dir / "repositories",)
        return tuple(Path(path).absolute() for path in chosen)

    @property
    def public_address(self) -> str:
        """Address under which users and git hosts reach this server, without a trailing slash."""
        scheme = "https" if self.tls or self.tls_cert else "http"
        host = f"[{self.http_host}]" if ":" in self.http_host else self.http_host
        return self.public_url or f"{scheme}://{host}:{self.http_port}"

    @property
    def quota_rules(self) -> QuotaRules:
        """Switch and default limits of quotas."""
        return QuotaRules(enabled=self.quotas_enabled, defaults=self.quota_defaults)

    @property
    def log_as_json(self) -> bool | None:
        """True if to log as JSON; None: decide by whether standard error is a terminal."""
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
    """Return whether a listener on ``host`` can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(**overrides: object) -> Settings:
    """Read the environment. Raises SettingsError, naming each wrong setting."""
    try:
        return Settings(_secrets_dir=_secrets_dir(), **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(fault) for fault in error.errors())) from error


def _secrets_dir() -> Path | None:
    """Return the folder with secrets, which is taken from the environment only, before the settings are read."""
    named = os.environ.get(_SECRETS_DIR)
    if not named:
        return None
    if not os.access(named, os.R_OK | os.X_OK) or not Path(named).is_dir():
        raise SettingsError(f"{_SECRETS_DIR}: {named} is not a readable folder; name one, or leave the variable out")
    return Path(named)


def unknown(environment: Mapping[str, str | None]) -> dict[str, str]:
    """Return variables with the prefix that are not settings, each with the setting probably meant, or an empty text."""
    known = [name.upper() for name in Settings.model_fields]
    given = [name for name in environment if name.startswith(PREFIX) and not name.startswith(_FOR_TESTS)]
    strange = [name.removeprefix(PREFIX) for name in given if name.removeprefix(PREFIX) not in known and name not in _FOR_CLIENTS]
    # Compared without the prefix, which would make any two names similar.
    alike = {name: difflib.get_close_matches(name, known, n=1) for name in strange}
    return {PREFIX + name: PREFIX + found[0] if found else "" for name, found in alike.items()}


def _sentence(fault: object) -> str:
    assert isinstance(fault, dict)
    name = PREFIX + "_".join(str(part) for part in fault["loc"][:1]).upper() if fault["loc"] else "Settings"
    return f"{name}: {str(fault['msg']).removeprefix('Value error, ')}"


@contextmanager
def listening_at(which: str, host: str, port: int) -> Iterator[None]:
    """Raise SettingsError, naming ``{which}_HOST`` and ``{which}_PORT``, if the block cannot listen at an address."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        text = f"cannot listen at {host}:{port} ({reason}); free it, or set {PREFIX}{which}_PORT or {PREFIX}{which}_HOST"
        raise SettingsError(text) from error


def require(value: SecretStr | None, name: str) -> str:
    """Return the value of a setting that the service needs. Raises SettingsError if it is missing."""
    if value is None or not value.get_secret_value():
        raise SettingsError(f"{PREFIX}{name} must be set for this service")
    return value.get_secret_value()


def secret_keys(settings: Settings) -> tuple[str, ...]:
    """Return SECRET_KEY, which seals and signs, and after it the keys that only open and verify."""
    accepted = (key.get_secret_value() for key in settings.secret_keys_accepted)
    return (require(settings.secret_key, "SECRET_KEY"), *accepted)

"""Settings from the environment."""

import ast
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from tests.product_modules import parse_module

from dashwright.common.models.quotas import KNOWN_NAMES, TARGETS, Scope, default_name
from dashwright.common.settings import Settings, SettingsError, load, unknown_variables
from dashwright.expressions.engine.limits import Limits

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/settings.md"
MODULE = ROOT / "libs/common/src/dashwright/common/settings.py"
#: Settings that count as read by the code that uses a property, by the name of the property.
#: Further settings that the property reads only cause warnings, or are defaults.
FALLBACKS = {"unrestricted_settings": set[str](), "public_address": {"public_url"}}
#: Settings of the expressions service that have the names of its limits, and are read by these names. Two limits have no setting.
LIMITS = {limit.name for limit in fields(Limits)} - {"deadline", "memory"}


@pytest.fixture(autouse=True)
def _no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Change to an empty directory, so that no ``.env`` file is read."""
    monkeypatch.chdir(tmp_path)


def test_every_setting_is_documented_with_its_default() -> None:
    """The page, which ``make docs`` writes, has exactly one row for each setting, with the default of the setting."""
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE))
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default = field.default
        if isinstance(default, bool):
            assert rows[name.upper()] == f"`{str(default).lower()}`"
        elif isinstance(default, int | float) or (isinstance(default, str) and default):
            assert rows[name.upper()] == f"`{default}`"


def attributes(nodes: Iterable[ast.AST], *, base: str) -> set[str]:
    """Return the names of the attributes that are read from a name (``settings``) or from an attribute of that name."""
    owners = {base, f"self.{base}", f"self._{base}", f"services.{base}"}
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and _name_of(node.value) in owners}


def _name_of(node: ast.expr) -> str:
    """Return a name such as ``services.settings``, or an empty string for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
    return ""


def fields_read(files: Iterable[Path]) -> set[str]:
    """Return the settings that modules read, directly or by a property or method of Settings."""
    # The settings and methods that each method of Settings reads.
    (declared,) = [node for node in parse_module(MODULE).tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    methods = {
        node.name: attributes(ast.walk(node), base="self") for node in declared.body if isinstance(node, ast.FunctionDef)
    } | FALLBACKS
    # All names that the modules read; methods among them are replaced by the names that the methods read.
    names, unresolved = set[str](), set[str]()
    for file in files:
        source = parse_module(file)
        unresolved |= attributes(source.nodes, base="settings") if "settings" in source.text else set()
        unresolved |= {"secret_key", "secret_keys_accepted"} if "secret_keys(settings)" in source.text else set()
    while unresolved:
        name = unresolved.pop()
        if name not in names:
            names.add(name)
            unresolved |= methods.get(name, set())
    return names & set(Settings.model_fields)


@pytest.mark.parametrize("service", ["api", "jobs-worker", "expressions"])
def test_every_setting_names_the_services_that_read_it(service: str) -> None:
    """A setting is declared to be read by exactly those services whose code reads it."""
    folder = ROOT / "services" / service / "src"
    # Modules of the library that start a service, and a setting that ``load`` itself reads.
    shared = ["process.py"] if service == "api" else ["process.py", "worker_process.py"]
    used_settings = fields_read([*folder.rglob("*.py"), *(MODULE.with_name(name) for name in shared)]) | {"secrets_dir"}
    if service == "expressions":
        used_settings |= LIMITS
    declared = set()
    for name, field in Settings.model_fields.items():
        assert isinstance(field.json_schema_extra, dict)
        readers = {reader.strip() for reader in str(field.json_schema_extra["read_by"]).split(",")}
        if readers & {service, "services", "all"}:
            declared.add(name)
    assert used_settings == declared


def test_each_invalid_setting_is_named() -> None:
    """The error of the settings has one sentence for each invalid setting, with its name."""
    with pytest.raises(SettingsError) as caught:
        load(http_port=70000, job_slots=0, log_level="loud")
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["DASHWRIGHT_HTTP_PORT", "DASHWRIGHT_LOG_LEVEL", "DASHWRIGHT_JOB_SLOTS"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"results_url": "results"}, "DASHWRIGHT_RESULTS_URL"),
        ({"results_url": "s3:///prefix"}, "DASHWRIGHT_RESULTS_URL"),
        ({"results_endpoint": "storage.example.com"}, "DASHWRIGHT_RESULTS_ENDPOINT"),
        ({"results_access_key": "key"}, "DASHWRIGHT_RESULTS_SECRET_KEY"),
        ({"results_url": "s3://bucket", "results_endpoint": "http://storage.example.com"}, "DASHWRIGHT_ALLOWED_HOSTS"),
    ],
)
def test_an_invalid_storage_of_results_is_refused(settings: dict[str, str], message: str) -> None:
    """Results are stored below an absolute path, or in a bucket that is reached by https unless its host is allowed."""
    with pytest.raises(SettingsError, match=message):
        _ = load(**settings).results_location


def test_results_are_stored_in_a_directory_or_a_bucket() -> None:
    """By default, results are in DATA_DIR. A bucket may have a prefix, and a server that is allowed without encryption."""
    assert load(data_dir=Path("/data")).results_location.directory == Path("/data/batches")
    assert load(results_url="/results").results_location.directory == Path("/results")
    endpoint = "http://storage.internal:9000"
    location = load(results_url="s3://bucket/a/b/", results_endpoint=endpoint, allowed_hosts="*.internal").results_location
    assert location.directory is None
    assert location.bucket == "bucket"
    assert location.prefix == "a/b"
    assert location.endpoint == endpoint


def test_the_default_password_needs_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listening beyond loopback with the default password is an error, unless that is allowed explicitly."""
    for host in ("127.0.0.1", "::1", "localhost"):
        load(http_host=host)
    # Every address of the machine.
    monkeypatch.setenv("DASHWRIGHT_HTTP_HOST", "0.0.0.0")
    with pytest.raises(SettingsError, match="default password"):
        load()
    for password in ("", "1", "short77", "Password1"):
        with pytest.raises(SettingsError, match="shorter than 8"):
            load(admin_password=password)
    load(admin_password="a long password")
    load(allow_default_password=True)


def test_a_key_that_can_be_guessed_is_refused() -> None:
    """A short key is refused, and the error has a command that creates a long one."""
    with pytest.raises(SettingsError, match=r"SECRET_KEY: shorter than 12 characters.*openssl"):
        load(secret_key="x")


@pytest.mark.parametrize(
    ("name", "value"),
    [("permitted_paths", "/srv:/"), ("trusted_proxies", "0.0.0.0/0"), ("allowed_hosts", "::/0"), ("trusted_hosts", "*")],
)
def test_a_setting_that_trusts_everything_is_named(name: str, value: str) -> None:
    """A setting that permits every path, proxy, address or host name is listed, so that the start can warn of it."""
    assert list(load(**{name: value}).unrestricted_settings) == [f"DASHWRIGHT_{name.upper()}"]
    assert load().unrestricted_settings == {}


def test_lists_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of paths is split at colons. An unknown feature is refused, and the error lists the known ones."""
    monkeypatch.setenv("DASHWRIGHT_PERMITTED_PATHS", "/one:/two")
    monkeypatch.setenv("DASHWRIGHT_FEATURES", "sqlExpression")
    assert load().local_paths == (Path("/one"), Path("/two"))
    assert load().features == {"sqlExpression"}
    with pytest.raises(SettingsError, match="known: sqlExpression"):
        load(features="warp")


def test_a_misspelt_name_is_reported_with_the_nearest() -> None:
    """A variable with the prefix of this project that is not a setting is reported with the most similar setting."""
    reports = unknown_variables({"DASHWRIGHT_HTTP_PROT": "1", "DASHWRIGHT_HTTP_PORT": "1", "DASHWRIGHT_TEST_AMQP_URL": "x", "PATH": "/"})
    assert reports == {"DASHWRIGHT_HTTP_PROT": "DASHWRIGHT_HTTP_PORT"}


def test_an_unrelated_variable_is_reported_without_a_suggestion() -> None:
    """A variable that has only the prefix in common with a setting is reported without a similar setting."""
    assert unknown_variables({"DASHWRIGHT_FOO": "1"}) == {"DASHWRIGHT_FOO": ""}


def test_secrets_are_masked() -> None:
    """The string form of the settings contains neither passwords nor keys, not even in addresses."""
    settings = load(admin_password="hush", database_url="postgresql://u:hush@h/d", amqp_url="amqp://u:hush@h/", secret_key="hush hush hush")
    assert "hush" not in repr(settings)


def test_quota_defaults_are_limits_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a limit is its scope and target. Negative values, and missing ones, are unlimited: -1."""
    monkeypatch.setenv("DASHWRIGHT_QUOTA_DEFAULTS", "org_user=10, org_dashboard=0,user_org=3,global_user=-7,global_session=5")
    rules = load().quota_rules
    assert rules.enabled
    assert rules.default(Scope.ORG, "org_user") == 10
    assert rules.default(Scope.ORG, "dashboard") == 0
    assert rules.default(Scope.USER, "org_user") == 3
    # A negative value.
    assert rules.default(Scope.GLOBAL, "user") == -1
    # Missing values.
    assert rules.default(Scope.ORG, "api_key") == -1
    assert rules.default(Scope.GLOBAL, "org") == -1
    assert not load(quotas_enabled=False).quota_rules.enabled


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("dashboards=5", "unknown quota 'dashboards'; known: org_user, org_dashboard, .*user_org, global_user, "),
        ("org_user", "'org_user' is not a limit; write org_user=NUMBER"),
        ("org_user=ten", "is not a limit"),
        ("org_user=1.5", "is not a limit"),
        ("org_user=9223372036854775808", "is not a limit"),
        ("org_user=\u0663", "is not a limit"),
        ("org_user=1,org_user=2", "org_user is given twice"),
    ],
)
def test_an_invalid_quota_default_stops_the_start(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    """An unknown name is refused with the known ones, and an invalid limit with the valid form."""
    monkeypatch.setenv("DASHWRIGHT_QUOTA_DEFAULTS", value)
    with pytest.raises(SettingsError, match=f"DASHWRIGHT_QUOTA_DEFAULTS: .*{message}"):
        load()


def test_every_quota_has_one_default() -> None:
    """No two limits share a name in the settings, and each name is known."""
    names = [default_name(scope, target) for scope, targets in TARGETS.items() for target in targets]
    assert len(set(names)) == len(names)
    assert set(names) <= set(KNOWN_NAMES)


def test_trusted_proxies_are_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trusted proxies are addresses and networks of both IP versions. Anything else is refused with the valid form."""
    monkeypatch.setenv("DASHWRIGHT_TRUSTED_PROXIES", "10.0.0.0/8, 192.0.2.1,2001:db8::/32")
    assert [str(network) for network in load().trusted_proxies] == ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]
    monkeypatch.setenv("DASHWRIGHT_TRUSTED_PROXIES", "proxy.example")
    with pytest.raises(SettingsError, match=r"DASHWRIGHT_TRUSTED_PROXIES: .*networks like 10\.0\.0\.0/8"):
        load()


def test_an_empty_limit_of_tokens_is_unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable for the lifetime of keys is an unlimited lifetime, which is None."""
    monkeypatch.setenv("DASHWRIGHT_API_KEY_MAX_SECONDS_TO_LIVE", "")
    monkeypatch.setenv("DASHWRIGHT_TOKEN_EXPIRATION_DAY_LIMIT", "30")
    settings = load()
    assert settings.api_key_max_seconds_to_live is None
    assert settings.token_expiration_day_limit == 30

"""Address and encryption of a data source, as configured in its record."""

import ssl
from dataclasses import replace
from typing import Any

import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.sources.postgres.address import address_of

RECORD = SourceRecord(
    id=1,
    org_id=1,
    uid="uid",
    name="Shop",
    type="postgres",
    url="db.example.com",
    user="reader",
    secrets={"password": "secret"},
)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("db", "db", 5432),
        (" db:6000 ", "db", 6000),
        ("192.0.2.1:1", "192.0.2.1", 1),
        ("[2001:db8::1]", "2001:db8::1", 5432),
        ("[::1]:7", "::1", 7),
    ],
)
def test_an_address_is_a_host_with_an_optional_port(url: str, host: str, port: int) -> None:
    """An address without a port has the default port of PostgreSQL."""
    address = address_of(replace(RECORD, url=url))
    assert address.host == host
    assert address.port == port


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/var/run/postgresql",
        "@socket",
        "postgres://db/x",
        "db/x",
        "a,b",
        "::1",
        "[::1",
        "db:99999",
        "db:x",
        "u@db",
        "db?x",
        "d b",
        "d\\b",
        "fe80::1%eth0",
    ],
)
def test_other_addresses_are_rejected(url: str) -> None:
    """Sockets, paths and URLs are rejected, because the check of addresses does not cover them."""
    with pytest.raises(BadRequest, match="is not host:port"):
        address_of(replace(RECORD, url=url))


@pytest.mark.parametrize(
    ("database", "json_data", "expected"), [("", {}, "reader"), ("a", {}, "a"), ("a", {"database": "b"}, "b"), ("a", {"database": ""}, "a")]
)
def test_the_name_of_the_database_is_that_of_options_record_or_user(database: str, json_data: dict[str, Any], expected: str) -> None:
    """The name of the database is that of the options, else that of the record, else the name of the user."""
    assert address_of(replace(RECORD, database=database, json_data=json_data)).database == expected


@pytest.mark.parametrize(
    ("mode", "verifies_certificate", "verifies_name"),
    [(None, False, False), ("require", False, False), ("Verify-CA", True, False), ("verify-full", True, True)],
)
def test_the_mode_decides_what_is_verified(mode: str | None, verifies_certificate: bool, verifies_name: bool) -> None:
    """By default the connection is encrypted; ``verify-ca`` checks the certificate and ``verify-full`` the name too."""
    tls = address_of(replace(RECORD, json_data={"sslmode": mode})).tls
    assert tls is not None
    assert (tls.verify_mode is ssl.CERT_REQUIRED) == verifies_certificate
    assert tls.check_hostname == verifies_name


def test_only_disable_is_unencrypted() -> None:
    """Only the explicit mode ``disable`` is unencrypted."""
    assert address_of(replace(RECORD, json_data={"sslmode": "disable"})).tls is None


@pytest.mark.parametrize(
    ("json_data", "secrets", "message"),
    [
        ({"sslmode": "prefer"}, {}, "sslmode 'prefer' is not supported; use one of disable, require, verify-ca, verify-full"),
        ({"sslRootCertFile": "/etc/passwd"}, {}, "sslRootCertFile names a file of this server, which is not read"),
        ({"sslKeyFile": "/etc/shadow", "tlsConfigurationMethod": "file-path"}, {}, "sslKeyFile names a file"),
        ({}, {"tlsCACert": "no certificate"}, "tlsCACert is not a certificate in PEM form"),
        ({}, {"tlsClientCert": "a"}, "tlsClientCert and tlsClientKey go together"),
        ({}, {"tlsClientCert": "a", "tlsClientKey": "KEY"}, "tlsClientCert and tlsClientKey cannot be used"),
    ],
)
def test_options_that_cannot_be_used_are_errors(json_data: dict[str, Any], secrets: dict[str, str], message: str) -> None:
    """The error of an unusable option says why. Files that a record names are not read, and no error shows a secret."""
    with pytest.raises(BadRequest, match=message) as error:
        address_of(replace(RECORD, json_data=json_data, secrets=secrets))
    # KEY is the secret; the name of the option is permitted.
    assert "KEY" not in error.value.message.replace("tlsClientKey", "")


def test_a_record_without_a_user_is_rejected() -> None:
    """A record must name a user: no default user is used, because the user's role limits what can be read."""
    with pytest.raises(BadRequest, match="names no user"):
        address_of(replace(RECORD, user=""))


def test_a_password_is_masked() -> None:
    """The representation of an address, which may be logged, does not contain the password."""
    assert "secret" not in repr(address_of(RECORD))

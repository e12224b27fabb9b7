"""A gateway that deliveries come to."""

from tests.contract.api.conftest import _password_hash, api, broker, start_api

__all__ = ["_password_hash", "api", "broker", "start_api"]

"""Fixtures of a gateway that receives deliveries, which are those of the contract tests of the API."""

from tests.contract.api.conftest import _light_passwords, _no_cleaning, _password_hash, _usual_settings, api, start_api

__all__ = ["_light_passwords", "_no_cleaning", "_password_hash", "_usual_settings", "api", "start_api"]

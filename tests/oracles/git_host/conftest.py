"""A gateway that receives deliveries."""

from tests.contract.api.conftest import _light_passwords, _no_cleaning, _password_hash, _usual_settings, api, start_api

__all__ = ["_light_passwords", "_no_cleaning", "_password_hash", "_usual_settings", "api", "start_api"]

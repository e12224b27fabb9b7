"""Declaration of the settings of notifications."""

from pydantic_settings import BaseSettings

from dashwright.common.setting_field import Positive, Seconds, setting


class NotificationSettingsFields(BaseSettings):
    """Settings of notifications."""

    notification_seconds: Seconds = setting(
        86_400,
        "seconds after an event for which its [notification](notifications.md) is sent again while a receiver does not accept it",
        "jobs-worker",
    )
    notifications_kept: Positive = setting(
        10_000,
        "maximum number of [notifications](notifications.md#delivery) of one organization that wait; above it, the oldest are deleted",
        "jobs-worker",
    )

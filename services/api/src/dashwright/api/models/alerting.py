"""Responses of alerting, which this product does not have: empty collections in the form that clients of Grafana read."""

from typing import Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class NotificationPolicy(ApiModel):
    """The root of the notification policies, as Grafana has it before any policy is created."""

    receiver: str = Field(default="empty", description="The name of a contact point without channels")
    group_by: list[str] = Field(default=["grafana_folder", "alertname"], alias="group_by", description="Labels by which alerts are grouped")


class RuleGroups(ApiModel):
    """Groups of alert rules."""

    groups: list[str] = Field(default=[], max_length=0, description="Always empty")


class RuleGroupsResponse(ApiModel):
    """The response with the states of alert rules, in the form of Prometheus."""

    status: Literal["success"] = "success"
    data: RuleGroups = RuleGroups()


class Alerts(ApiModel):
    """Alerts."""

    alerts: list[str] = Field(default=[], max_length=0, description="Always empty")


class AlertsResponse(ApiModel):
    """The response with the states of alerts, in the form of Prometheus."""

    status: Literal["success"] = "success"
    data: Alerts = Alerts()

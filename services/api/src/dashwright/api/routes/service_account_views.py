"""Service accounts as response models, and the account that a path names."""

from dashwright.api.domain import times
from dashwright.api.domain.access.metadata import Subject, access_control
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.models import service_accounts as shapes
from dashwright.api.stores import service_accounts
from dashwright.api.stores.service_accounts import StoredServiceAccount
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Identity


async def account_of(connection: Connection, call: Call, action: str, *, fault: str = "Service Account ID is invalid") -> int:
    """Return the number of the account that ``{id}`` names by number or uid. A number may be unknown.

    Raises Forbidden unless the caller may do ``action`` on it, then BadRequest with ``fault`` for an unknown uid.
    """
    text = call.parameters["id"]
    account_id = parse_integer(text)
    if account_id is None:
        account_id = await service_accounts.number_of(connection, call.identity.org_id, text)
    call.demand(action, f"{Subject.SERVICE_ACCOUNT.prefix}{account_id or 0}")
    if account_id is None:
        raise BadRequest(fault)
    return account_id


def item_view(account: StoredServiceAccount, caller: Identity | None = None) -> shapes.ServiceAccount:
    """Return the response model of a list item. With ``caller``, it includes the caller's permissions."""
    shown = shapes.ServiceAccount(
        id=account.id,
        uid=account.uid,
        name=account.name,
        login=account.login,
        org_id=account.org_id,
        is_disabled=account.is_disabled,
        role=account.role.value,
        tokens=account.tokens,
        avatar_url=avatar_url(account.email, account.name),
    )
    allowed = _allowed(account, caller)
    return shown.model_copy(update={"access_control": allowed}) if allowed else shown


def profile_view(account: StoredServiceAccount, caller: Identity | None = None) -> shapes.ServiceAccountProfile:
    """Return the response model of an account. With ``caller``, it includes the caller's permissions."""
    shown = shapes.ServiceAccountProfile(
        id=account.id,
        uid=account.uid,
        name=account.name,
        login=account.login,
        org_id=account.org_id,
        is_disabled=account.is_disabled,
        created_at=times.format_time(account.created),
        updated_at=times.format_time(account.updated),
        avatar_url=avatar_url(account.email, account.name),
        role=account.role.value,
        teams=None,
    )
    allowed = _allowed(account, caller)
    optional = {**({"tokens": account.tokens} if account.tokens else {}), **({"access_control": allowed} if allowed else {})}
    return shown.model_copy(update=optional)


def _allowed(account: StoredServiceAccount, caller: Identity | None) -> dict[str, bool] | None:
    return None if caller is None else access_control(caller, Subject.SERVICE_ACCOUNT, account.id)

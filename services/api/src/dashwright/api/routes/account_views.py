"""Organizations, members and users as response models."""

from datetime import datetime

from dashwright.api.domain import times
from dashwright.api.domain.access.metadata import ScopedType, access_control
from dashwright.api.domain.times import age, last_seen
from dashwright.api.domain.urls import avatar_url
from dashwright.api.models.organizations import AddressShape, MemberMatch, MemberShape, MembershipShape, OrganizationShape
from dashwright.api.models.users import ProfileShape, UserItem
from dashwright.api.stores.members import Member, Membership
from dashwright.api.stores.orgs import Organization
from dashwright.api.stores.persons import Person
from dashwright.common.identity import Identity


def organization_view(organization: Organization) -> OrganizationShape:
    """Return the response model of an organization."""
    address = organization.address
    address_shape = AddressShape(
        address1=address.address1,
        address2=address.address2,
        city=address.city,
        zip_code=address.zip_code,
        state=address.state,
        country=address.country,
    )
    return OrganizationShape(id=organization.id, name=organization.name, address=address_shape)


def membership_view(membership: Membership) -> MembershipShape:
    """Return the response model of a user's membership."""
    return MembershipShape(org_id=membership.org_id, name=membership.name, role=membership.role.value)


def member_view(member: Member, now: datetime, caller: Identity | None) -> MemberShape:
    """Return the response model of a member. With ``caller``, it includes the caller's permissions on the member."""
    seen_at = last_seen(member.last_seen_at, member.created)
    return MemberShape(
        org_id=member.org_id,
        user_id=member.user_id,
        uid=member.uid,
        email=member.email,
        name=member.name,
        avatar_url=avatar_url(member.email, member.name),
        login=member.login,
        role=member.role.value,
        last_seen_at=times.format_time(seen_at),
        last_seen_at_age=age(seen_at, now),
        created=times.format_time(member.created),
        is_disabled=member.is_disabled,
        access_control=None if caller is None else access_control(caller, ScopedType.MEMBER, member.user_id),
    )


def member_lookup_view(member: Member) -> MemberMatch:
    """Return the response model of a member in a lookup."""
    return MemberMatch(user_id=member.user_id, uid=member.uid, login=member.login, avatar_url=avatar_url(member.email, member.name))


def profile_view(person: Person, *, org_id: int | None = None, caller: Identity | None = None) -> ProfileShape:
    """Return the response model of a user.

    ``org_id`` is the organization of the request, which replaces the user's current organization. With ``caller``, the
    response includes the caller's permissions on the user.
    """
    return ProfileShape(
        id=person.id,
        uid=person.uid,
        email=person.email,
        name=person.name,
        login=person.login,
        theme=person.theme,
        org_id=org_id or person.org_id,
        is_grafana_admin=person.is_admin,
        is_disabled=person.is_disabled,
        updated_at=times.format_time(person.updated),
        created_at=times.format_time(person.created),
        avatar_url=avatar_url(person.email, person.name),
        access_control=None if caller is None else access_control(caller, ScopedType.USER, person.id),
    )


def user_item_view(person: Person, now: datetime) -> UserItem:
    """Return the response model of a user in a list."""
    seen_at = last_seen(person.last_seen_at, person.created)
    return UserItem(
        id=person.id,
        uid=person.uid,
        name=person.name,
        login=person.login,
        email=person.email,
        avatar_url=avatar_url(person.email, person.name),
        is_admin=person.is_admin,
        is_disabled=person.is_disabled,
        last_seen_at=times.format_time(seen_at),
        last_seen_at_age=age(seen_at, now),
        created=times.format_time(person.created),
    )

-- name: claim_first_user
-- Lets one gateway at a time create the first user; the lock ends with the transaction.
select pg_advisory_xact_lock(hashtext('dashwright.first_user'));

-- name: is_empty
-- Whether there is no account yet.
select not exists (select from "user") and not exists (select from org);

-- name: insert_first
-- Organization 1, user 1 and the membership. The ids are explicit, because an attempt that was rolled back has used up sequence values.
with main as (
    insert into org (id, name) overriding system value values (1, 'Main Org.') returning id
), first as (
    insert into "user" (id, login, email, password, org_id, is_admin) overriding system value
    select 1, $1, $2, $3, id, true from main returning id, org_id
)
insert into org_user (org_id, user_id, role) select org_id, id, 'Admin' from first;

-- name: advance_sequences
-- Moves both sequences past the explicit ids.
select setval(pg_get_serial_sequence('org', 'id'), 1), setval(pg_get_serial_sequence('"user"', 'id'), 1);

-- name: find_for_login
-- The person with a login or e-mail, the membership in the requested organization ($2) or else in the current or first one, the teams
-- there, and the grants for it and for all organizations. A login takes precedence over another account's e-mail.
select u.id, u.login, u.password, u.salt, u.is_admin, u.is_disabled, m.org_id, m.role, g.actions, g.scopes,
       array(select team_id from team_member t where t.user_id = u.id and t.org_id = m.org_id) as teams
from person u
left join lateral (
    select org_id, role from org_user
    where user_id = u.id and ($2::bigint is null or org_id = $2)
    order by org_id = u.org_id desc, org_id
    limit 1
) m on true
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = u.id and org_id in (0, coalesce(m.org_id, 0))
) g
where lower(u.login) = lower($1) or lower(u.email) = lower($1)
order by lower(u.login) = lower($1) desc
limit 1;

-- name: identity_in
-- The role and teams of an account in an organization ($2), and its grants for it and for all organizations. For a service account ($3 is
-- true), only its grants for all organizations. No row for a deleted or disabled account.
select u.is_admin, m.role, g.actions, g.scopes,
       array(select team_id from team_member t where t.user_id = u.id and t.org_id = $2) as teams
from "user" u
left join org_user m on m.user_id = u.id and m.org_id = $2 and not $3
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = u.id and (org_id = 0 or (org_id = $2 and not $3))
) g
where u.id = $1 and not u.is_disabled;

-- name: permissions_by_org
-- The role of an account in each of its organizations, with its grants for it and for all organizations. Organization 0 has the grants for
-- all organizations; that row is returned for an unknown account, too.
select m.org_id, m.role, coalesce((select is_admin from person where id = $1), false) as is_admin, g.actions, g.scopes
from (select 0 as org_id, null as role union all select org_id, role from org_user where user_id = $1) m
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = $1 and org_id in (0, m.org_id)
) g;

-- name: replace_password
-- Stores a new hash if the old one ($2) is still stored; no row if it is not.
update "user" set password = $3, salt = null where id = $1 and password = $2 returning id;

-- name: server_admins
-- The first enabled server admins, with their password hashes.
select login, password, salt from "user"
where is_admin and not is_disabled and password is not null order by id limit $1;

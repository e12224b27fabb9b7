-- name: claim_first_user
select pg_advisory_xact_lock(hashtext('dashwright.first_user'));

-- name: is_empty
select not exists (select from "user") and not exists (select from org);

-- name: insert_first
with main as (
    insert into org (id, name) overriding system value values (1, 'Main Org.') returning id
), first as (
    insert into "user" (id, login, email, password, org_id, is_admin) overriding system value
    select 1, $1, $2, $3, id, true from main returning id, org_id
)
insert into org_user (org_id, user_id, role) select org_id, id, 'Admin' from first;

-- name: pass_first_numbers
select setval(pg_get_serial_sequence('org', 'id'), 1), setval(pg_get_serial_sequence('"user"', 'id'), 1);

-- name: find_for_login
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

-- name: seen_in
select u.is_admin, m.role, g.actions, g.scopes,
       array(select team_id from team_member t where t.user_id = u.id and t.org_id = $2) as teams
from "user" u
left join org_user m on m.user_id = u.id and m.org_id = $2 and not $3
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = u.id and (org_id = 0 or (org_id = $2 and not $3))
) g
where u.id = $1 and not u.is_disabled;

-- name: reach
select m.org_id, m.role, coalesce((select is_admin from person where id = $1), false) as is_admin, g.actions, g.scopes
from (select 0 as org_id, null as role union all select org_id, role from org_user where user_id = $1) m
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = $1 and org_id in (0, m.org_id)
) g;

-- name: replace_password
update "user" set password = $3, salt = null where id = $1 and password = $2 returning id;

-- name: role_in
select role from org_user where org_id = $1 and user_id = $2;

-- name: server_admins
select login, password, salt from "user"
where is_admin and not is_disabled and password is not null order by id limit $1;

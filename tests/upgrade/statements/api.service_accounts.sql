-- fragment: matches
u.is_service_account and u.org_id = :org_id
  and (:text = '' or strpos(lower(u.name), lower(:text)) > 0 or strpos(lower(u.login), lower(:text)) > 0
       or strpos(lower(u.email), lower(:text)) > 0)
  and (not :only_disabled::boolean or u.is_disabled)
  and (:expired_at::bigint is null or exists (select from api_key k where k.service_account_id = u.id and k.expires <= :expired_at))
  and (:ids::bigint[] is null or u.id = any(:ids))

-- name: matching
select u.id, u.uid, u.name, u.login, u.email, u.org_id, u.is_disabled, u.created, u.updated, m.role,
  (select count(*) from api_key k where k.service_account_id = u.id) as tokens
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where {matches}
order by lower(u.email), lower(u.login), u.id
limit :limit offset :offset

-- name: count_matching
select count(*)
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where {matches}

-- name: find
select u.id, u.uid, u.name, u.login, u.email, u.org_id, u.is_disabled, u.created, u.updated, m.role,
  (select count(*) from api_key k where k.service_account_id = u.id) as tokens
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where u.is_service_account and u.org_id = $1 and u.id = $2;

-- name: hold_role
select m.role from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where u.is_service_account and u.org_id = $1 and u.id = $2
for key share of u;

-- name: number_of
select id from "user" where is_service_account and org_id = $1 and uid = $2;

-- name: lock_names
select pg_advisory_xact_lock(3, hashtext('org/' || $1::bigint || '/service_account'));

-- name: is_name_taken
select exists (
  select from "user"
  where is_service_account and org_id = $1 and replace(lower(name), ' ', '-') = replace(lower($2), ' ', '-') and id <> $3
);

-- name: insert_where_free
insert into "user" (login, email, name, uid, org_id, is_service_account, is_disabled)
select wanted.login, wanted.login, wanted.name, 's' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 13), $1, true, $4
from unnest($2::text[], $3::text[]) with ordinality as wanted (login, name, position)
order by wanted.position
on conflict do nothing
returning id, login;

-- name: insert_roles
insert into org_user (org_id, user_id, role)
select $1, given.user_id, given.role from unnest($2::bigint[], $3::text[]) as given (user_id, role);

-- name: login_of
select 'sa-' || $1::bigint || '-' || replace(lower($2::text), ' ', '-');

-- name: change
update "user" set name = coalesce($3, name), is_disabled = coalesce($4, is_disabled), updated = now()
where is_service_account and org_id = $1 and id = $2;

-- name: change_role
update org_user set role = $3, updated = now() where org_id = $1 and user_id = $2 and role <> $3;

-- name: delete
delete from "user" where is_service_account and org_id = $1 and id = $2 returning name;

-- fragment: person_columns
id, uid, login, email, name, theme, org_id, is_admin, is_disabled, created, updated, last_seen_at

-- fragment: matches
(:containing = '' or position(lower(:containing) in lower(login)) > 0 or position(lower(:containing) in lower(email)) > 0
    or position(lower(:containing) in lower(name)) > 0)
  and (:only::bigint[] is null or id = any(:only))

-- name: get
select {person_columns} from person where id = $1

-- name: account
select {person_columns} from "user" where id = $1

-- name: find
select {person_columns}
from person
where lower(login) = lower($1) or lower(email) = lower($1)
order by lower(login) = lower($1) desc
limit 1

-- name: hold
select id from "user" where id = $1 and not is_service_account for key share

-- name: page
select {person_columns}
from person
where {matches}
order by lower(login)
limit :limit offset :offset

-- name: count
select count(*) from person where {matches}

-- name: lock_logins
select pg_advisory_xact_lock(3, hashtext('logins'))

-- name: is_taken
select exists (
    select from "user"
    where id <> $3 and (lower(login) in (lower($1), lower($2)) or lower(email) in (lower($1), lower($2)))
)

-- name: insert
insert into "user" (login, email, name, password, org_id) values ($1, $2, $3, $4, $5) returning id, uid

-- name: change
update person
set login = coalesce(:login, login), email = coalesce(:email, email), name = coalesce(:name, name), theme = coalesce(:theme, theme),
    version = version + 1, updated = now()
where id = :id

-- name: password
select password, salt from person where id = $1

-- name: set_password
update person set password = $2, salt = null, version = version + 1, updated = now() where id = $1 returning id

-- name: set_server_admin
update person set is_admin = $2, updated = now() where id = $1

-- name: set_disabled
update person set is_disabled = $2, updated = now() where id = $1

-- name: set_org
update person set org_id = $2, updated = now()
where id = $1 and exists (select from org_user m where m.org_id = $2 and m.user_id = $1)
returning id

-- name: is_only_server_admin
select exists (select from person where id = $1 and is_admin and not is_disabled)
   and not exists (select from person where id <> $1 and is_admin and not is_disabled)

-- name: delete
delete from "user" where id = $1 and not is_service_account

-- name: notify_change
select pg_notify('identity', 'user:' || $1::bigint)

-- name: add_star
insert into star (user_id, org_id, dashboard_uid) values ($1, $2, $3) on conflict do nothing

-- name: remove_star
delete from star where user_id = $1 and org_id = $2 and dashboard_uid = $3

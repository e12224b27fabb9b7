-- name: lock
-- Makes the transaction the only one that creates snapshots in an organization, until it ends.
select pg_advisory_xact_lock(3, hashtext('snapshots/' || $1::bigint))

-- name: count
-- The unexpired snapshots of an organization.
select count(*) from dashboard_snapshot where org_id = $1 and expires_at > $2

-- name: insert
-- Returns no row if a key is in use. A creator who is no longer in the table of users is stored as null.
insert into dashboard_snapshot (org_id, user_id, key, delete_key_hash, name, dashboard_uid, dashboard, created_at, expires_at)
values (:org_id, (select id from "user" where id = :user_id), :key, :delete_key_hash, :name, :dashboard_uid, :dashboard, :now, :expires_at)
on conflict do nothing
returning id

-- name: read
-- The body of an unexpired snapshot of any organization.
select name, dashboard, created_at, expires_at from dashboard_snapshot where key = $1 and expires_at > $2

-- name: find
-- An unexpired snapshot of an organization, by its key ($2) or by the hash of its delete key ($3).
select id, user_id, dashboard_uid from dashboard_snapshot
where org_id = $1 and (key = $2::text or delete_key_hash = $3::bytea) and expires_at > $4

-- name: list
-- Unexpired snapshots of an organization by name; those of one creator unless $2 is null. Names contain $3, in any letter case.
select key, name, created_at, expires_at from dashboard_snapshot
where org_id = $1 and ($2::bigint is null or user_id = $2) and position(lower($3) in lower(name)) > 0 and expires_at > $4
order by name, id
limit $5

-- name: delete
delete from dashboard_snapshot where id = $1 returning id

-- name: delete_expired
-- Deletes at most $2 snapshots that have expired at $1.
with expired as (
    select id from dashboard_snapshot where expires_at <= $1 order by expires_at limit $2 for update skip locked
), deleted as (
    delete from dashboard_snapshot where id in (select id from expired) returning id
)
select count(*) from deleted

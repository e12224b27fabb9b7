-- name: lock
-- Makes the transaction the only one that creates short URLs in an organization, until it ends.
select pg_advisory_xact_lock(3, hashtext('short_urls/' || $1::bigint))

-- name: touch_path
-- The uid of the short URL with path $2, which counts as used at $3.
update short_url set last_used_at = $3 where org_id = $1 and path = $2 returning uid

-- name: count
select count(*) from short_url where org_id = $1

-- name: insert
-- A creator who is no longer in the table of users is stored as null.
insert into short_url (org_id, uid, user_id, path, created_at, last_used_at)
values (:org_id, :uid, (select id from "user" where id = :user_id), :path, :now, :now)

-- name: find
select path, last_used_at from short_url where org_id = $1 and uid = $2

-- name: touch
update short_url set last_used_at = greatest(last_used_at, $3) where org_id = $1 and uid = $2

-- name: delete_unused
-- Deletes at most $2 short URLs that were last used before $1.
with unused as (
    select org_id, uid from short_url where last_used_at < $1 order by last_used_at limit $2 for update skip locked
), deleted as (
    delete from short_url where (org_id, uid) in (select org_id, uid from unused) returning uid
)
select count(*) from deleted

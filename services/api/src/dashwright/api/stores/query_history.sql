-- fragment: columns
id, uid, data_source_uid, queries, comment, is_starred, created_at

-- name: lock
-- Makes the transaction the only one that adds to the history of a user, until it ends.
select pg_advisory_xact_lock(3, hashtext('query_history/' || $1::bigint))

-- name: insert
-- Returns no row if the user was deleted since.
insert into query_history (org_id, user_id, uid, data_source_uid, queries, created_at)
select :org_id, id, :uid, :data_source_uid, :queries, :now from "user" where id = :user_id
returning {columns}

-- name: delete_surplus
-- Deletes all but the newest $2 entries of a user; starred ones are deleted last.
delete from query_history where id in (
    select id from query_history where user_id = $1 order by is_starred desc, created_at desc, id desc offset $2
)

-- name: search
-- Entries of a user in an organization, and the number of all matches. A filter that is null is not applied.
select {columns}, count(*) over () as total
from query_history
where user_id = :user_id and org_id = :org_id
  and (:data_sources::text[] is null or data_source_uid = any(:data_sources))
  and (:containing = '' or position(lower(:containing) in lower(queries)) > 0 or position(lower(:containing) in lower(comment)) > 0)
  and (not :only_starred or is_starred)
  and (:since::timestamptz is null or created_at >= :since)
  and (:until::timestamptz is null or created_at <= :until)
order by case when :oldest_first then created_at end, case when :oldest_first then id end, created_at desc, id desc
limit :limit offset :offset

-- name: change
-- Null keeps a column.
update query_history set comment = coalesce(:comment, comment), is_starred = coalesce(:is_starred, is_starred)
where user_id = :user_id and org_id = :org_id and uid = :uid
returning {columns}

-- name: delete
delete from query_history where user_id = $1 and org_id = $2 and uid = $3 returning id

-- name: delete_old
-- Deletes at most $2 entries without a star from before $1.
with old as (
    select id from query_history where created_at < $1 and not is_starred order by created_at limit $2 for update skip locked
), deleted as (
    delete from query_history where id in (select id from old) returning id
)
select count(*) from deleted

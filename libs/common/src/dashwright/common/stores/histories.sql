-- name: versions
-- Generations of an object without their bodies, the newest first, older than $2 where that is given. $3 how many.
select generation, resource_version, created_at, created_by, message, parent_version, restored_from, metadata, stored_version, layout, '{}' as spec
from resource_history
where uid = $1 and ($2::bigint is null or generation < $2)
order by generation desc
limit $3

-- name: version
select generation, resource_version, created_at, created_by, message, parent_version, restored_from, metadata, stored_version, layout, spec
from resource_history
where uid = $1 and generation = $2

-- name: list_trash
-- What was deleted, without bodies, by name and uid, after the pair ($5, $6). $4 one name only, $7 how many, $8 what one caller has deleted.
select t.uid, t.name, t.namespace, t.number, t.resource_version, t.generation, t.stored_version, t.layout, t.title, t.folder, t.metadata,
       t.deleted_at, t.deleted_by
from trash t
where t.namespace = $1 and t.api_group = $2 and t.resource = $3 and ($4::text is null or t.name = $4) and (t.name, t.uid) > ($5, $6)
  and ($8::text is null or t.deleted_by = $8)
order by t.name, t.uid
limit $7

-- name: restore
-- Removes from the trash what is about to be made again; $6 as above.
delete from trash
where namespace = $1 and api_group = $2 and resource = $3 and name = $4 and uid::text = lower($5) and ($6::text is null or deleted_by = $6)
returning uid, generation, number

-- name: trim
-- Of the objects $1 drops the generations beyond the $2 newest. One stays while the feed tells of it, which it does until the version that
-- the next generation began with has left the feed. Generations that were brought in with their object began with none.
with placed as (
    select uid, generation, row_number() over newest as place,
           coalesce(min(nullif(resource_version, 0)) over (newest rows between unbounded preceding and 1 preceding), 0) as followed_at
    from resource_history
    where uid = any($1::uuid[])
    window newest as (partition by uid order by generation desc)
), dropped as (
    delete from resource_history h using placed p, change_horizon s
    where h.uid = p.uid and h.generation = p.generation and p.place > $2 and p.followed_at <= s.resource_version
    returning 1
)
select count(*) from dropped

-- name: gone
-- Those of the objects $1 that are neither in the store nor in the trash.
select uid
from unnest($1::uuid[]) as asked(uid)
where not exists (select from resource r where r.uid = asked.uid) and not exists (select from trash t where t.uid = asked.uid)

-- name: forget
-- Drops the whole history of those of the objects $1 that the feed does not tell of any more.
with told as (
    select distinct uid from change where uid = any($1::uuid[])
), dropped as (
    delete from resource_history h using unnest($1::uuid[]) as gone(uid)
    where h.uid = gone.uid and gone.uid not in (select uid from told)
    returning 1
)
select count(*) from dropped

-- name: expire
-- Empties the trash of what was deleted longer ago than $1.
delete from trash where deleted_at < now() - $1::interval returning uid

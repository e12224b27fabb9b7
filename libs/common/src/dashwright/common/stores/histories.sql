-- name: versions
-- Generations of an object without their bodies, the newest first; with $2 only older ones. At most $3.
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
-- Deleted objects without bodies, by name and uid, after the pair ($5, $6); at most $7. $4: only that name. $8: only those deleted
-- by one caller.
select t.uid, t.name, t.namespace, t.number, t.resource_version, t.generation, t.stored_version, t.layout, t.title, t.folder, t.metadata,
       t.deleted_at, t.deleted_by
from trash t
where t.namespace = $1 and t.api_group = $2 and t.resource = $3 and ($4::text is null or t.name = $4) and (t.name, t.uid) > ($5, $6)
  and ($8::text is null or t.deleted_by = $8)
order by t.name, t.uid
limit $7

-- name: restore
-- Removes an object from the trash that is about to be created again. $6: only if that caller has deleted it.
delete from trash
where namespace = $1 and api_group = $2 and resource = $3 and name = $4 and uid::text = lower($5) and ($6::text is null or deleted_by = $6)
returning uid, generation, number

-- name: trim
-- Deletes the generations of the objects $1 beyond the $2 newest. A generation is kept while a change in the feed needs it: until
-- the change that replaced it (replaced_at, a resource version) has been trimmed. Imported generations have resource version 0.
with ranked as (
    select uid, generation, row_number() over newest as rank,
           coalesce(min(nullif(resource_version, 0)) over (newest rows between unbounded preceding and 1 preceding), 0) as replaced_at
    from resource_history
    where uid = any($1::uuid[])
    window newest as (partition by uid order by generation desc)
), deleted as (
    delete from resource_history h using ranked r, change_horizon s
    where h.uid = r.uid and h.generation = r.generation and r.rank > $2 and r.replaced_at <= s.resource_version
    returning 1
)
select count(*) from deleted

-- name: list_orphans
-- The objects of $1 that are neither in the store nor in the trash.
select uid
from unnest($1::uuid[]) as candidate(uid)
where not exists (select from resource r where r.uid = candidate.uid)
  and not exists (select from trash t where t.uid = candidate.uid)

-- name: delete_generations
-- Deletes the whole history of the objects of $1 that have no change in the feed any more.
with in_feed as (
    select distinct uid from change where uid = any($1::uuid[])
), deleted as (
    delete from resource_history h using unnest($1::uuid[]) as orphan(uid)
    where h.uid = orphan.uid and orphan.uid not in (select uid from in_feed)
    returning 1
)
select count(*) from deleted

-- name: empty_trash
-- Removes at most $2 objects from the trash that were deleted longer than $1 ago.
delete from trash where uid in (select uid from trash where deleted_at < now() - $1::interval limit $2) returning uid

-- name: try_scheduler_lock
-- Locks the schedule (key 5) for one scheduler, until its connection ends.
select pg_try_advisory_lock(5, 1)

-- name: release_scheduler_lock
select pg_advisory_unlock(5, 1)

-- name: list_uids
select uid::text from resource where api_group = 'provisioning.grafana.app' and resource = 'repositories'

-- name: list_all
-- All repositories. The spec and the status are null if $1 and $2 hold the uid and the present resource version.
select r.uid, r.name, r.namespace, r.generation, r.resource_version, o.head as held_at, r.deletion_timestamp is not null as is_deleting,
       case when k.uid is null then h.spec end as spec, case when k.uid is null then r.status end as status,
       (extract(epoch from coalesce(r.updated_at, r.created_at)) * 1000)::bigint as spec_changed_at,
       array(select distinct rules from repository_fault where repository = r.uid and not is_copy) as refused_by
from resource r join resource_history h using (uid, generation)
     left join repository_hold o on (o.uid, o.generation) = (r.uid, r.generation)
     left join unnest($1::uuid[], $2::bigint[]) as k (uid, resource_version) on (k.uid, k.resource_version) = (r.uid, r.resource_version)
where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories'

-- name: find_mentions
-- Other repositories of a namespace whose spec contains the string $3, ignoring case. They may have the same source.
select r.name, h.spec
from resource r join resource_history h using (uid, generation)
where r.namespace = $1 and r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories' and r.name <> $2
      and r.deletion_timestamp is null and strpos(lower(h.spec), lower($3)) > 0
order by r.name

-- name: stored_commit
-- A repository of which nothing was stored yet has no row.
select edition, case when generation = $2 then ref end as commit, entries from repository_commit where uid = $1

-- name: require_full_sync
update repository_commit set ref = null, edition = edition + 1
where uid = (
    select uid from resource
    where namespace = $1 and api_group = 'provisioning.grafana.app' and resource = 'repositories' and name = $2
)

-- name: record_commit
-- Records the commit $2 and edition $4 + 1 if the edition is still $4, else returns no row. A commit that was written as a difference
-- from the commit $6 is complete only if $6 was stored: otherwise null is recorded. $5 is then the difference of the numbers of entries.
-- If the repository has been deleted in the meantime, nothing is recorded, and the row of an empty state is returned.
with repository as (select uid from resource where uid = $1 for key share),
recorded as (
    insert into repository_commit (uid, ref, generation, edition, entries)
    select uid, case when $6::text is null then $2 end, $3, 1, $5 from repository
    on conflict (uid) do update
    set ref = case when $6 is null or (repository_commit.ref, repository_commit.generation) = ($6, $3) then $2 end,
        generation = $3,
        edition = repository_commit.edition + 1,
        entries = case when $6 is null then 0 else repository_commit.entries end + $5
    where repository_commit.edition = $4
    returning edition, ref as commit, entries
)
select edition, commit, entries from recorded
union all
select 0, null, 0 where not exists (select from repository)

-- name: list_quarantined
select path, name, message, checksum, rules, since, is_copy
from repository_fault
where repository = $1 and ($3 or not is_copy)
order by path collate "C"
limit $2

-- name: quarantine
-- Replaces the quarantined files of the paths $2, or of all paths if $2 is null. A path that remains keeps the time of its first fault.
-- Returns the files that entered or left the quarantine, without copies.
with before as (
    delete from repository_fault where repository = $1 and ($2::text[] is null or path = any ($2)) returning path, since, is_copy
), inserted as (
    insert into repository_fault (repository, path, name, message, checksum, rules, since, is_copy)
    select r.uid, f.path, f.name, f.message, f.checksum, f.rules, coalesce(b.since, f.since), f.is_copy
    from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::boolean[])
         f (path, name, message, checksum, rules, since, is_copy)
    join resource r on r.uid = $1
    left join before b on b.path = f.path
    returning path, message, is_copy
)
select coalesce(i.path, b.path) as path, i.message, i.path is not null as has_entered
from (select path, message from inserted where not is_copy) i full join (select path from before where not is_copy) b on b.path = i.path
where i.path is null or b.path is null
order by coalesce(i.path, b.path) collate "C"

-- name: hold_schedule
-- One scheduler at a time, as long as its connection lasts. Lock key 5: the schedule.
select pg_try_advisory_lock(5, 1)

-- name: release_schedule
select pg_advisory_unlock(5, 1)

-- name: uids
select uid::text from resource where api_group = 'provisioning.grafana.app' and resource = 'repositories'

-- name: all
select r.uid, r.name, r.namespace, r.generation, r.status, h.spec, r.deletion_timestamp is not null as is_deleting,
       (extract(epoch from coalesce(r.updated_at, r.created_at)) * 1000)::bigint as changed
from resource r join resource_history h using (uid, generation)
where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories'

-- name: commit_of
select ref from repository_commit where uid = $1 and generation = $2

-- name: note_commit
-- Nothing of a repository that has gone meanwhile.
insert into repository_commit (uid, ref, generation)
select uid, $2, $3 from resource where uid = $1 for key share
on conflict (uid) do update set ref = excluded.ref, generation = excluded.generation
where (repository_commit.ref, repository_commit.generation) <> (excluded.ref, excluded.generation)

-- name: forget_commit
delete from repository_commit where uid = $1

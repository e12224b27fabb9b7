-- name: lock
-- Taken before anything else by whoever reads in order to write. A transaction that needs both locks takes that of objects first.
select pg_advisory_xact_lock(1, 2)

-- name: submit
-- Records jobs as pending, each with its wake-up; one that equals a pending job becomes that job, made full if either is full, and asked for
-- by whoever did; $20 is nobody, and neither is what begins with $21 a person. It gets the labels and annotations of both, so that each
-- submitter finds it by their own.
with input as (
    select * from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
                         $13::text[], $14::uuid[], $15::smallint[])
        as t(uid, namespace, name, metadata, labels, spec, repository, action, coalesce_key, lane, wake_key, repository_uid, lane_width)
), submitted as (
    insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status,
                     repository, repository_uid, action, state, coalesce_key, lane, lane_width, wake_key, submitted_by)
    select uid, $1, $2, namespace, name, 0, metadata, labels::jsonb, spec, $16, repository, repository_uid, action, 'pending', coalesce_key,
           lane, lane_width, wake_key, $17::jsonb
    from input
    on conflict (namespace, coalesce_key) where state = 'pending' and coalesce_key is not null do update
        set spec = case when coalesce((excluded.spec::jsonb #>> '{sync,incremental}')::boolean, false) then job.spec else excluded.spec end,
            labels = excluded.labels || job.labels,
            metadata = (job.metadata::jsonb || jsonb_strip_nulls(jsonb_build_object(
                'labels', excluded.labels || job.labels,
                'annotations', nullif(coalesce(excluded.metadata::jsonb -> 'annotations', '{}') || coalesce(job.metadata::jsonb -> 'annotations', '{}'), '{}')
            )))::text,
            submitted_by = case when job.submitted_by ->> 'uid' = $20 or starts_with(job.submitted_by ->> 'uid', $21) then excluded.submitted_by else job.submitted_by end
    returning *, (xmax = 0) as is_new
), woken as (
    insert into outbox (exchange, routing_key, body, headers)
    select $18, wake_key, json_build_object('uid', uid)::text, $19::jsonb from submitted where is_new
    returning id, body
)
select s.uid, s.api_group, s.resource, s.name, s.namespace, s.resource_version, s.generation, s.metadata, s.spec, s.status, s.state, s.action, s.repository,
       s.attempts, s.submitted_by, s.coalesce_key, s.wake_key, w.id as outbox_id, w.body as outbox_body
from submitted s left join woken w on w.body::json ->> 'uid' = s.uid::text

-- name: get
select uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts, submitted_by, coalesce_key
from job where namespace = $1 and api_group = $2 and resource = $3 and name = $4

-- name: get_many
select uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts, submitted_by, coalesce_key
from job where uid = any($1::uuid[])

-- name: list_page
select uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts, submitted_by, coalesce_key
from job
where namespace = $1 and api_group = $2 and resource = $3 and name > $4
order by name
limit $5

-- name: count_after
select count(*) from job where namespace = $1 and api_group = $2 and resource = $3 and name > $4

-- name: claim
-- pending → working for a job that may be at work: the woken one, or of all those in lanes the oldest of the repository that has the fewest
-- at work, in the organization that has. So a wake-up is for whoever comes next: many of one repository or organization keep no other
-- waiting, and of two ends close together each counts. Two that are asked for the same are not at work at once: the earlier one may be slower,
-- and would have the last word.
with lanes as materialized (
    select namespace, repository, lane, count(*) as at_work from job where state = 'working' and lane is not null group by 1, 2, 3
), repositories as (
    select namespace, repository, sum(at_work) as at_work from lanes group by 1, 2
), organizations as (
    select namespace, sum(at_work) as at_work from lanes group by 1
), next as (
    select waiting.uid
    from job woken join job waiting on waiting.uid = woken.uid or (woken.lane is not null and waiting.lane is not null)
    left join lanes on (lanes.namespace, lanes.lane) = (waiting.namespace, waiting.lane)
    left join repositories on (repositories.namespace, repositories.repository) = (waiting.namespace, waiting.repository)
    left join organizations on organizations.namespace = waiting.namespace
    where woken.uid = $1 and woken.wake_key = coalesce($3, woken.wake_key) and waiting.state = 'pending' and coalesce(waiting.not_before <= now(), true)
      and coalesce(lanes.at_work, 0) < waiting.lane_width
      and not exists (
          select from job same
          where (same.namespace, same.lane, same.coalesce_key) = (waiting.namespace, waiting.lane, waiting.coalesce_key) and same.state = 'working'
      )
    order by coalesce(organizations.at_work, 0), coalesce(repositories.at_work, 0), waiting.created_at, waiting.uid
    limit 1
)
update job set state = 'working', status = $2, attempts = attempts + 1, started_at = now(), not_before = null
where uid = (select uid from next) and state = 'pending'
returning uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts, submitted_by, coalesce_key

-- name: lease
insert into job_lease (uid, owner, expires_at) values ($1, $2, now() + $3::interval)

-- name: holds
select exists (select from job_lease where uid = $1 and owner = $2 and expires_at > clock_timestamp())

-- name: renew
update job_lease set expires_at = now() + $3::interval where uid = $1 and owner = $2 returning uid

-- name: report
-- Progress of a job that is still its owner's.
update job set status = $3
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)
returning uid

-- name: finish
-- working → success or error, by the owner of the lease only.
update job set state = $3, status = $4, finished_at = now()
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)
returning namespace, repository, lane

-- name: end_lease
delete from job_lease where uid = $1

-- name: is_synced_now
select exists (select from job where namespace = $1 and repository = $2 and action = 'sync' and state = 'working' and uid <> $3)

-- name: wake_group
-- The oldest pending job of a lane that has become free.
insert into outbox (exchange, routing_key, body)
select $3, wake_key, json_build_object('uid', uid)::text
from job where namespace = $1 and lane = $2 and state = 'pending' and coalesce(not_before <= now(), true)
order by created_at, uid
limit 1
returning id, routing_key, body, headers

-- name: hand_back
-- working → pending by the owner: a worker that shuts down leaves its job to another.
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)
  and not exists (select from job other where other.namespace = job.namespace and other.coalesce_key = job.coalesce_key and other.state = 'pending')
returning uid

-- name: postpone
-- working → pending by the owner, to be left alone for a while. Where an equal job waits already, both wait, the older one first.
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1, not_before = now() + $4::interval,
    coalesce_key = case when exists (
        select from job other where other.namespace = job.namespace and other.coalesce_key = job.coalesce_key and other.state = 'pending'
    ) then null else coalesce_key end
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)
returning namespace, lane

-- name: fail_pending
-- pending → error: the job can never run.
update job set state = 'error', status = $2, finished_at = now() where uid = $1 and state = 'pending'
returning namespace, lane

-- name: end_all
-- Ends every job of a repository that has not ended.
update job set state = 'error', status = $4, finished_at = now()
where namespace = $1 and repository = $2 and state in ('pending', 'working') and resource = $3
returning uid

-- name: delete_namespace
-- Drops every job of a namespace, whatever its state, and with it its lease.
delete from job where namespace = $1

-- name: end_leases
delete from job_lease where uid = any($1::uuid[])

-- name: recent
select uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts,
       submitted_by, coalesce_key, wake_key
from job where namespace = $1 and repository = $2 and repository_uid = $3
order by created_at desc
limit $4

-- name: get_of_repository
select uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository, attempts,
       submitted_by, coalesce_key
from job where repository_uid = $1 and uid = $2

-- name: count_waiting
select count(*) from job where state = 'pending' and submitted_by ->> 'uid' = $1 and coalesce(not_before <= now(), true)

-- name: lapsed
select j.uid, j.api_group, j.resource, j.name, j.namespace, j.resource_version, j.generation, j.metadata, j.spec, j.status, j.state, j.action, j.repository, j.attempts,
       j.submitted_by, j.coalesce_key
from job_lease l join job j using (uid)
where l.expires_at < now()
order by l.expires_at
limit $1

-- name: requeue_lapsed
-- working → pending after a lapsed lease. Where an equal job already waits, that one does the work and this one ends.
update job set state = 'pending', status = $2, started_at = null
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.expires_at < now())
returning uid

-- name: end_lapsed
update job set state = 'error', status = $2, finished_at = now()
where uid = $1 and state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.expires_at < now())
returning namespace, lane

-- name: pending_equal
select uid from job where namespace = $1 and coalesce_key = $2 and state = 'pending'

-- name: wake
insert into outbox (exchange, routing_key, body)
select $2, wake_key, json_build_object('uid', uid)::text from job where uid = $1
returning id, routing_key, body, headers

-- name: wake_stale
-- Jobs that wait although nothing holds them back: the broker may have lost their wake-up, or they were to be left alone until now. None
-- is woken again before it waited as long once more, or a busy queue would fill with wake-ups.
with stale as (
    select uid, wake_key from job
    where state = 'pending' and coalesce(not_before, created_at + $1::interval) < now()
      and ($4::uuid is null or (created_at, uid) > (select created_at, uid from job where uid = $4))
      and (
          select count(*) from job other where other.namespace = job.namespace and other.lane = job.lane and other.state = 'working'
      ) < job.lane_width
      and not exists (
          select from job_woken w where w.uid = job.uid and w.woken_at > greatest(now() - $1::interval, job.not_before)
      )
    order by created_at, uid
    limit $2
), noted as (
    insert into job_woken (uid, woken_at) select uid, now() from stale
    on conflict (uid) do update set woken_at = excluded.woken_at
), woken as (
    insert into outbox (exchange, routing_key, body)
    select $3, wake_key, json_build_object('uid', uid)::text from stale
    returning id, routing_key, body, headers
)
select * from woken order by id

-- name: trim
-- Drops the oldest finished jobs of a kind beyond a number of each action for each repository: many of one leave the others theirs.
delete from job where uid in (
    select uid from (
        select uid, row_number() over (partition by namespace, repository, action order by finished_at desc) as rank
        from job where api_group = $2 and resource = $3 and state in ('success', 'error')
    ) ranked where rank > $1 limit 1000
)
returning uid

-- name: count
select count from job_count where namespace = $1 and api_group = $2 and resource = $3

-- name: cancel
-- pending or working → error at the caller's wish. Without its lease the worker notices and writes nothing more.
update job set state = 'error', status = $2, finished_at = now() where uid = $1 and state in ('pending', 'working')
returning namespace, lane

-- name: drop
delete from job where uid = $1 and state in ('success', 'error')

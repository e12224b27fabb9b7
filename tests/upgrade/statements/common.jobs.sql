-- fragment: job_columns
uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository,
    attempts, submitted_by, coalesce_key

-- fragment: held_by_owner
state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)

-- fragment: pending_equal_job
select from job other
where other.namespace = job.namespace and other.coalesce_key = job.coalesce_key and other.state = 'pending'

-- fragment: lease_lapsed
state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.expires_at < now())

-- name: lock
select pg_advisory_xact_lock(1, 2)

-- name: submit
with input as (
    select * from unnest(
        :uids::uuid[], :namespaces::text[], :names::text[], :metadata::text[], :labels::text[], :specs::text[],
        :repositories::text[], :actions::text[], :coalesce_keys::text[], :concurrency_groups::text[], :wake_keys::text[],
        :repository_uids::uuid[], :group_limits::smallint[]
    ) as t (uid, namespace, name, metadata, labels, spec, repository, action, coalesce_key, lane, wake_key,
            repository_uid, lane_width)
), submitted as (
    insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status,
                     repository, repository_uid, action, state, coalesce_key, lane, lane_width, wake_key, submitted_by)
    select uid, :api_group, :resource, namespace, name, 0, metadata, labels::jsonb, spec, :status, repository, repository_uid,
           action, 'pending', coalesce_key, lane, lane_width, wake_key, :submitted_by::jsonb
    from input
    on conflict (namespace, coalesce_key) where state = 'pending' and coalesce_key is not null do update
        set spec = case
                when coalesce((excluded.spec::jsonb #>> '{sync,incremental}')::boolean, false) then job.spec
                else excluded.spec
            end,
            labels = excluded.labels || job.labels,
            metadata = (job.metadata::jsonb || jsonb_strip_nulls(jsonb_build_object(
                'labels', excluded.labels || job.labels,
                'annotations', nullif(
                    coalesce(excluded.metadata::jsonb -> 'annotations', '{}')
                        || coalesce(job.metadata::jsonb -> 'annotations', '{}'),
                    '{}'
                )
            )))::text,
            submitted_by = case
                when job.submitted_by ->> 'uid' = :scheduler or starts_with(job.submitted_by ->> 'uid', :webhook)
                then excluded.submitted_by
                else job.submitted_by
            end
    returning *, (xmax = 0) as is_new
), woken as (
    insert into outbox (exchange, routing_key, body, headers)
    select :exchange, wake_key, json_build_object('uid', uid)::text, :headers::jsonb from submitted where is_new
    returning id as outbox_id, body as outbox_body
)
select {job_columns}, wake_key, outbox_id, outbox_body
from submitted left join woken on woken.outbox_body::json ->> 'uid' = submitted.uid::text

-- name: get
select {job_columns}
from job where namespace = $1 and api_group = $2 and resource = $3 and name = $4

-- name: get_many
select {job_columns}
from job where uid = any($1::uuid[])

-- name: list_page
select {job_columns}
from job
where namespace = $1 and api_group = $2 and resource = $3 and name > $4
order by name
limit $5

-- name: count_after
select count(*) from job where namespace = $1 and api_group = $2 and resource = $3 and name > $4

-- name: claim
with lanes as materialized (
    select namespace, repository, lane, count(*) as at_work
    from job
    where state = 'working' and lane is not null
    group by 1, 2, 3
), repositories as (
    select namespace, repository, sum(at_work) as at_work from lanes group by 1, 2
), organizations as (
    select namespace, sum(at_work) as at_work from lanes group by 1
), next as (
    select waiting.uid
    from job woken
    join job waiting on waiting.uid = woken.uid or (woken.lane is not null and waiting.lane is not null)
    left join lanes on (lanes.namespace, lanes.lane) = (waiting.namespace, waiting.lane)
    left join repositories on (repositories.namespace, repositories.repository) = (waiting.namespace, waiting.repository)
    left join organizations on organizations.namespace = waiting.namespace
    where woken.uid = $1
      and woken.wake_key = coalesce($3, woken.wake_key)
      and waiting.state = 'pending'
      and coalesce(waiting.not_before <= now(), true)
      and coalesce(lanes.at_work, 0) < waiting.lane_width
      and not exists (
          select from job same
          where (same.namespace, same.lane, same.coalesce_key) = (waiting.namespace, waiting.lane, waiting.coalesce_key)
            and same.state = 'working'
      )
    order by coalesce(organizations.at_work, 0), coalesce(repositories.at_work, 0), waiting.created_at, waiting.uid
    limit 1
)
update job set state = 'working', status = $2, attempts = attempts + 1, started_at = now(), not_before = null
where uid = (select uid from next) and state = 'pending'
returning {job_columns}

-- name: lease
insert into job_lease (uid, owner, expires_at) values ($1, $2, now() + $3::interval)

-- name: holds
select exists (select from job_lease where uid = $1 and owner = $2 and expires_at > clock_timestamp())

-- name: renew
update job_lease set expires_at = now() + $3::interval where uid = $1 and owner = $2 returning uid

-- name: report
update job set status = $3
where uid = $1 and {held_by_owner}
returning uid

-- name: finish
update job set state = $3, status = $4, finished_at = now()
where uid = $1 and {held_by_owner}
returning namespace, repository, lane

-- name: end_lease
delete from job_lease where uid = $1

-- name: is_synced_now
select exists (select from job where namespace = $1 and repository = $2 and action = 'sync' and state = 'working' and uid <> $3)

-- name: wake_group
insert into outbox (exchange, routing_key, body)
select $3, wake_key, json_build_object('uid', uid)::text
from job where namespace = $1 and lane = $2 and state = 'pending' and coalesce(not_before <= now(), true)
order by created_at, uid
limit 1
returning id, routing_key, body, headers

-- name: hand_back
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1
where uid = $1 and {held_by_owner}
  and not exists ({pending_equal_job})
returning uid

-- name: postpone
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1, not_before = now() + $4::interval,
    coalesce_key = case when exists (
        {pending_equal_job}
    ) then null else coalesce_key end
where uid = $1 and {held_by_owner}
returning namespace, lane

-- name: fail_pending
update job set state = 'error', status = $2, finished_at = now() where uid = $1 and state = 'pending'
returning namespace, lane

-- name: end_all
update job set state = 'error', status = $4, finished_at = now()
where namespace = $1 and repository = $2 and state in ('pending', 'working') and resource = $3
returning uid

-- name: delete_namespace
delete from job where namespace = $1

-- name: end_leases
delete from job_lease where uid = any($1::uuid[])

-- name: recent
select {job_columns}, wake_key
from job where namespace = $1 and repository = $2 and repository_uid = $3
order by created_at desc
limit $4

-- name: get_of_repository
select {job_columns}
from job where repository_uid = $1 and uid = $2

-- name: count_waiting
select count(*) from job where state = 'pending' and submitted_by ->> 'uid' = $1 and coalesce(not_before <= now(), true)

-- name: lapsed
select {job_columns}
from job_lease join job using (uid)
where job_lease.expires_at < now()
order by job_lease.expires_at
limit $1

-- name: requeue_lapsed
update job set state = 'pending', status = $2, started_at = null
where uid = $1 and {lease_lapsed}
returning uid

-- name: end_lapsed
update job set state = 'error', status = $2, finished_at = now()
where uid = $1 and {lease_lapsed}
returning namespace, lane

-- name: pending_equal
select uid from job where namespace = $1 and coalesce_key = $2 and state = 'pending'

-- name: wake
insert into outbox (exchange, routing_key, body)
select $2, wake_key, json_build_object('uid', uid)::text from job where uid = $1
returning id, routing_key, body, headers

-- name: wake_stale
with stale as (
    select uid, wake_key from job
    where state = 'pending' and coalesce(not_before, created_at + $1::interval) < now()
      and ($4::uuid is null or (created_at, uid) > (select created_at, uid from job where uid = $4))
      and (
          select count(*) from job other
          where other.namespace = job.namespace and other.lane = job.lane and other.state = 'working'
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
update job set state = 'error', status = $2, finished_at = now() where uid = $1 and state in ('pending', 'working')
returning namespace, lane

-- name: drop
delete from job where uid = $1 and state in ('success', 'error')

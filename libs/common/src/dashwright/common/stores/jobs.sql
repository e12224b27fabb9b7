-- fragment: job_columns
-- The columns of a StoredJob.
uid, api_group, resource, name, namespace, resource_version, generation, metadata, spec, status, state, action, repository,
    attempts, submitted_by, coalesce_key, wake_key, trace

-- fragment: held_by_owner
-- Condition: the job is working, and its lease belongs to the owner $2.
state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.owner = $2)

-- fragment: lease_expired
-- Condition: the job is working, and its worker has not renewed the lease in time.
state = 'working' and exists (select from job_lease l where l.uid = job.uid and l.expires_at < now())

-- fragment: key_of_requeued
-- The coalesce_key of a job that becomes pending again. If an equal job waits already, both wait: the key is dropped, since only one
-- pending job may have it.
case when exists (
    select from job other
    where other.namespace = job.namespace and other.coalesce_key = job.coalesce_key and other.state = 'pending'
) then null else coalesce_key end

-- fragment: has_others
-- Whether the pool has ever had jobs of another namespace than that of row n.
exists (select from job_namespace other where other.pool = n.pool and other.namespace <> n.namespace)

-- fragment: next_namespaces
-- The namespaces whose turn is next in a pool: those with the fewest working jobs, then those with the smallest pass. The last
-- :reserved slots are only for namespaces without working jobs, as long as the pool has several namespaces.
select namespace from job_namespace n
where pool = :pool and claimable_queues > 0 and (working = 0 or :limit::integer > :reserved::integer or not {has_others})
order by working, pass, namespace

-- name: lock
-- Taken first by every transaction that reads jobs in order to change them. A transaction that needs both locks takes the
-- lock of objects first, or two transactions could wait for each other.
select lock_namespaces(2, $1::text[])

-- name: submit
-- Records jobs as pending. A job that equals a pending one (same coalesce_key) is merged into it:
--   spec: a full sync wins over an incremental one, since it does all that the other would do;
--   labels and annotations: those of both, so that each submitter finds the job by their own;
--   priority: the higher one, since each submitter expects theirs;
--   submitted_by: a user wins over the scheduler and over webhooks, so that a job a user asked for counts as theirs.
with input as (
    select * from unnest(
        :uids::uuid[], :namespaces::text[], :names::text[], :metadata::text[], :labels::text[], :specs::text[],
        :repositories::text[], :actions::text[], :coalesce_keys::text[], :concurrency_groups::text[], :wake_keys::text[],
        :repository_uids::uuid[], :group_limits::smallint[], :priorities::smallint[], :fairness_keys::text[], :weights::real[],
        :submitters::jsonb[], :traces::text[], :with_items::boolean[]
    ) with ordinality as t (uid, namespace, name, metadata, labels, spec, repository, action, coalesce_key, lane, wake_key,
            repository_uid, lane_width, priority, fairness_key, weight, submitted_by, trace, has_items, number)
), submitted as (
    insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status,
                     repository, repository_uid, action, state, coalesce_key, lane, lane_width, wake_key, submitted_by,
                     trace, priority, fairness_key, weight, has_items, created_at)
    select uid, :api_group, :resource, namespace, name, 0, metadata, labels::jsonb, spec, :status, repository, repository_uid,
           action, 'pending', coalesce_key, lane, lane_width, wake_key, submitted_by,
           trace, priority, fairness_key, weight, has_items,
           -- The jobs of one submission begin in its order.
           now() + number * interval '1 microsecond'
    from input
    on conflict (namespace, coalesce_key) where state = 'pending' and coalesce_key is not null do update
        set spec = case
                when coalesce((excluded.spec::jsonb #>> '{sync,incremental}')::boolean, false) then job.spec
                else excluded.spec
            end,
            labels = excluded.labels || job.labels,
            has_items = job.has_items or excluded.has_items,
            priority = greatest(job.priority, excluded.priority),
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
    -- xmax is 0 only for a row that was inserted.
    returning {job_columns}, (xmax = 0) as is_new
)
select * from submitted

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

-- name: lock_next_namespace
-- Takes the lock of the first namespace that no other worker has locked.
select namespace from ({next_namespaces} limit 16) candidates where try_lock_namespace(2, namespace) limit 1

-- name: next_namespace
{next_namespaces} limit 1

-- fragment: free_slots
-- The number of jobs that the concurrency group (column lane) of a claimable queue q may run in addition.
(
    select q.lane_width - sum(other.working) from job_queue other
    where (other.namespace, other.lane) = (q.namespace, q.lane) and other.lane <> ''
)

-- name: claim
-- pending → working, of jobs in a locked namespace that leave other namespaces their share of :limit, and :reserved of it. The jobs
-- are those that as many claims of one job each would choose from the queues with the highest priority: the next job is always the
-- oldest of the queue with the fewest working jobs, then the smallest pass.
with share as (
    select greatest(1, least(
        :limit / greatest(1, count(*)),
        :limit - case when (select {has_others} from job_namespace n where pool = :pool and namespace = :namespace) then :reserved else 0 end
    )) as jobs
    from job_namespace where pool = :pool and claimable_queues > 0
), queue as materialized (
    select id, lane, weight, working, pass, {free_slots} as free_slots
    from (
        select *, row_number() over (partition by lane order by working, pass, id) as number_in_lane
        from job_queue
        where pool = :pool and namespace = :namespace and is_claimable and priority = (
            select max(priority) from job_queue where pool = :pool and namespace = :namespace and is_claimable
        )
    ) q
    -- Each of these queues can give at least one job, so that no more queues than jobs are needed.
    where lane = '' or number_in_lane = 1 or number_in_lane <= {free_slots}
    order by working, pass, id
    limit (select jobs from share)
), ready as (
    select p.uid, q.id as queue, q.lane, q.free_slots, q.working + p.turn as working, q.pass + p.turn / q.weight as pass
    from queue q, lateral (
        select uid, row_number() over (order by created_at, uid) - 1 as turn
        from job_place
        where queue = q.id and not is_working
        order by created_at, uid
        limit (select jobs from share)
    ) p
), next as materialized (
    select uid, queue
    from (select *, row_number() over (partition by lane order by working, pass, queue) as number_in_lane from ready) r
    where lane = '' or number_in_lane <= free_slots
    order by working, pass, queue
    limit (select jobs from share)
), claimed as (
    update job set state = 'working', status = :status, attempts = attempts + 1, started_at = now(), not_before = null
    where uid in (select uid from next)
    returning {job_columns}, created_at
), leased as (
    insert into job_lease (uid, owner, expires_at) select uid, :owner, now() + :lease::interval from claimed
), queue_turns as (
    update job_queue set pass = pass + turns.count / weight
    from (select queue, count(*) from next group by queue) turns
    where id = turns.queue
), namespace_turns as (
    update job_namespace set pass = pass + (select count(*) from claimed) where (pool, namespace) = (:pool, :namespace)
)
select * from claimed order by created_at, uid

-- name: due_namespaces
-- The namespaces with postponed jobs that are due and have no place yet.
select distinct namespace from job
where state = 'pending' and not_before <= now() and split_part(wake_key, '.', 1) = $1
  and not exists (select from job_place p where p.uid = job.uid)

-- name: place_due
-- Makes postponed jobs ready that are due.
select place_jobs(array(
    select uid from job
    where state = 'pending' and not_before <= now() and not exists (select from job_place p where p.uid = job.uid)
      and namespace = any($1::text[])
))

-- name: lock_of
-- The locks of the namespaces of jobs.
select lock_namespaces(2, array(select namespace from job where uid = any($1::uuid[])))

-- name: holds_lease
select exists (select from job_lease where uid = $1 and owner = $2 and expires_at > clock_timestamp())

-- name: renew
update job_lease set expires_at = now() + $3::interval where uid = $1 and owner = $2 returning uid

-- name: report
-- Writes the progress of a job whose lease still belongs to the owner.
update job set status = $3
where uid = $1 and {held_by_owner}
returning uid

-- name: finish
-- working → success or error, by the owners of the leases only. Ends the leases.
with finished as (
    update job set state = f.state, status = f.status, finished_at = now()
    from unnest(:uids::uuid[], :owners::uuid[], :states::text[], :statuses::text[]) f (uid, owner, state, status), job_lease l
    where job.uid = f.uid and job.state = 'working' and l.uid = f.uid and l.owner = f.owner
    returning job.uid
)
delete from job_lease where uid in (select uid from finished)
returning uid

-- name: end_lease
delete from job_lease where uid = $1

-- name: next_of_group
-- The oldest pending job of the concurrency group (column lane) of a job.
select next.uid
from job, lateral (
    select uid from job other
    where (other.namespace, other.lane) = (job.namespace, job.lane) and other.state = 'pending' and coalesce(not_before <= now(), true)
    order by created_at, uid
    limit 1
) next
where job.uid = $1

-- name: requeue
-- working → pending by the owner: a worker that shuts down returns its job to the queue. That does not count as an attempt.
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1, coalesce_key = {key_of_requeued}
where uid = $1 and {held_by_owner}
returning uid

-- name: postpone
-- working → pending by the owner, not to be claimed before $4 has passed.
update job set state = 'pending', status = $3, started_at = null, attempts = attempts - 1, not_before = now() + $4::interval,
    coalesce_key = {key_of_requeued}
where uid = $1 and {held_by_owner}
returning uid

-- name: list_with_expired_lease
select {job_columns}
from job_lease join job using (uid)
where job_lease.expires_at < now()
order by job_lease.expires_at
limit $1

-- name: requeue_expired
-- working → pending after an expired lease.
update job set state = 'pending', status = $2, started_at = null, coalesce_key = {key_of_requeued}
where uid = $1 and {lease_expired}
returning uid

-- name: fail_expired
update job set state = 'error', status = $2, finished_at = now()
where uid = $1 and {lease_expired}
returning uid

-- name: is_other_sync_running
select exists (select from job where namespace = $1 and repository = $2 and action = 'sync' and state = 'working' and uid <> $3)

-- name: end_all
-- Ends every unfinished job of a repository.
update job set state = 'error', status = $4, finished_at = now()
where namespace = $1 and repository = $2 and state in ('pending', 'working') and resource = $3
returning uid

-- name: delete_namespace
-- Deletes all jobs of a namespace, in any state. Their leases are deleted by a cascade.
delete from job where namespace = $1

-- name: delete_of_repository
-- Deletes all jobs of a repository, in any state. Their leases are deleted by a cascade.
delete from job where namespace = $1 and repository = $2 and resource = $3

-- name: end_leases
delete from job_lease where uid = any($1::uuid[])

-- name: list_recent
select {job_columns}
from job where namespace = $1 and repository = $2 and repository_uid = $3
order by created_at desc
limit $4

-- name: get_of_repository
select {job_columns}
from job where repository_uid = $1 and uid = $2

-- name: count_waiting
select count(*) from job where state = 'pending' and submitted_by ->> 'uid' = $1 and coalesce(not_before <= now(), true)

-- fragment: surplus
-- The oldest finished jobs beyond :keep of each action of each repository, so that a busy repository does not displace the history of
-- others, and old finished jobs of deleted repositories. At most :limit in one statement, to keep its locks short.
select uid, namespace from (
    select uid, namespace, repository_uid, finished_at,
        row_number() over (partition by namespace, repository, action order by finished_at desc) as rank
    from job where api_group = :api_group and resource = :resource and state in ('success', 'error')
) ranked
where rank > :keep
   or finished_at < now() - :orphan_retention::interval and not exists (select from resource where resource.uid = ranked.repository_uid)
limit :limit

-- name: lock_surplus
select lock_namespaces(2, array(select distinct namespace from ({surplus}) surplus))

-- name: trim
delete from job where uid in (select uid from ({surplus}) surplus)
returning uid

-- name: count
select count from job_count where namespace = $1 and api_group = $2 and resource = $3

-- name: cancel
-- pending or working → error on request. A worker without its lease notices and writes nothing more.
update job set state = 'error', status = $2, finished_at = now() where uid = $1 and state in ('pending', 'working')

-- name: cancel_many
update job set state = 'error', status = $2, finished_at = now() where uid = any($1::uuid[]) and state in ('pending', 'working')
returning {job_columns}

-- name: delete
delete from job where uid = $1 and state in ('success', 'error')

-- name: delete_ended
delete from job where uid = any($1::uuid[]) and state in ('success', 'error')

-- fragment: batch_columns
-- The columns of a StoredBatch.
uid, namespace, name, created_at, submitted_by, trace, has_spec_items, is_closed, accepts_late, has_jobs, total, dispatched, working, success, error,
    cancelled, due_at, stop_reason, started_at, finished_at, reported_at, is_deleted

-- fragment: ended
-- Number of items that ended.
success + error + cancelled

-- name: find
select {batch_columns} from batch where uid = $1

-- name: lock
select {batch_columns} from batch where uid = $1 for update

-- name: try_lock_controller
-- Makes the transaction the only one that controls a batch.
select pg_try_advisory_xact_lock(13, hashtext($1::uuid::text))

-- name: list_changed
-- The batches that have something to do.
select uid from (
    (select uid, created_at from batch where is_changed order by created_at limit $1)
    union
    (select uid, created_at from batch where due_at <= now() limit $1)
    union
    (select uid, created_at from batch where not is_reported and coalesce(reported_at <= now() - $2::interval, true) limit $1)
) changed
order by created_at
limit $1

-- name: begin_control
-- The flag is reset before the batch is examined, so that a later change sets it again.
update batch set is_changed = false, is_reported = false, due_at = null, attempts = :attempts, backoff = :backoff::interval
where uid = :uid
returning {batch_columns}

-- name: continue_later
-- Has the controller examine the batch again at a time, or immediately.
update batch set is_changed = is_changed or :is_changed, due_at = least(due_at, :due_at::timestamptz) where uid = :uid

-- name: record_report
update batch set reported_at = now(), is_reported = true where uid = $1

-- name: set_submitter
update batch set submitted_by = coalesce(submitted_by, :submitted_by::jsonb), trace = coalesce(trace, :trace) where uid = :uid

-- name: find_by_id
select index, id, kind, spec from batch_item where batch = $1 and id = any($2::text[])

-- name: add
insert into batch_item (batch, index, id, kind, spec, reply_to, correlation_id)
select :batch, index, id, kind, spec, reply_to, correlation_id
from unnest(:indices::integer[], :ids::text[], :kinds::text[], :specs::text[], :reply_to::text[], :correlation_ids::text[])
    as item (index, id, kind, spec, reply_to, correlation_id)

-- name: count_added
update batch set total = total + :count, has_jobs = has_jobs or :has_jobs, is_changed = true where uid = :uid

-- name: count_pending
-- The number of items of a namespace without an unfinished job that have not ended.
select coalesce(sum(total - dispatched - ({ended})), 0) from batch where namespace = $1 and finished_at is null and not is_deleted

-- name: close
update batch set is_closed = true, accepts_late = $2, has_spec_items = true, is_changed = true where uid = $1

-- name: list_ready
-- The first pending items that may be submitted now.
select index, id, kind, spec, attempts, job from batch_item
where batch = $1 and state = 'pending' and coalesce(not_before <= now(), true)
order by index
limit $2

-- name: next_attempt
-- When the next pending item may be submitted.
select min(not_before) from batch_item where batch = $1 and state = 'pending' and not_before is not null

-- name: dispatch
with dispatched as (
    update batch_item i set state = 'dispatched', job = d.job, attempts = i.attempts + 1, not_before = null
    from unnest(:indices::integer[], :jobs::uuid[]) d (index, job)
    where i.batch = :batch and i.index = d.index
    returning i.job
)
update batch set dispatched = dispatched + (select count(*) from dispatched),
    -- An equal job, into which the submitted one was merged, cannot be working.
    started_at = coalesce(started_at, now())
where uid = :batch

-- name: refuse
-- Ends pending items that cannot be submitted.
with refused as (
    update batch_item i set state = 'error', status = r.status, attempts = i.attempts + 1, not_before = null, finished_at = now()
    from unnest(:indices::integer[], :statuses::text[]) r (index, status)
    where i.batch = :batch and i.index = r.index
    returning i.index
)
update batch set error = error + (select count(*) from refused), started_at = coalesce(started_at, now()) where uid = :batch

-- name: stop
update batch set stop_reason = coalesce(stop_reason, $2), is_closed = true, is_changed = true where uid = $1 and finished_at is null

-- name: cancel_pending
with next as (
    select index from batch_item where batch = :batch and state = 'pending' order by index limit :limit
), ended as (
    update batch_item i set state = 'cancelled', status = :status, finished_at = now()
    from next where i.batch = :batch and i.index = next.index
    returning i.index
), counted as (
    update batch set cancelled = cancelled + (select count(*) from ended) where uid = :batch
)
select count(*) from ended

-- name: list_dispatched
select distinct i.job from batch_item i join job j on j.uid = i.job
where i.batch = $1 and i.state = 'dispatched' and j.state = any($2::text[])
limit $3

-- name: finish
-- Ends a batch whose items have all ended.
update batch set finished_at = now(), due_at = now() + :keep::interval
where uid = :uid and finished_at is null and is_closed and total = {ended}
returning finished_at

-- name: first_errors
select index, id, status from batch_item where batch = $1 and state = 'error' order by index limit $2

-- name: list_items
select i.index, i.id, i.kind, i.attempts, i.status, j.name as job,
    case when i.state = 'dispatched' then coalesce(j.state, 'pending') else i.state end as state
from batch_item i left join job j on j.uid = i.job
where i.batch = :batch and i.index >= :first {conditions}
order by i.index
limit :limit

-- condition: in_item_states
i.state = any(:states::text[])

-- condition: dispatched_in
i.state = 'dispatched' and coalesce(j.state, 'pending') = :job_state

-- condition: pending
i.state = 'pending' or i.state = 'dispatched' and coalesce(j.state, 'pending') = 'pending'

-- name: retry
-- Makes items that ended pending again.
with retried as (
    update batch_item i set state = 'pending', attempts = 0, status = null, finished_at = null, not_before = null, is_replied = false,
        is_retried = exists (select from batch_segment s where s.batch = :batch and s.number = i.index / :segment_items)
    from batch_item old
    where i.batch = :batch and old.batch = i.batch and old.index = i.index and old.state = any(:states::text[])
      and (:ids::text[] is null or old.id = any(:ids::text[]))
    returning old.state, i.index
), incomplete as (
    update batch_segment s set is_complete = false
    where s.batch = :batch and s.is_complete and s.number in (select index / :segment_items from retried)
), counted as (
    select count(*) as total, count(*) filter (where state = 'error') as error,
           count(*) filter (where state = 'cancelled') as cancelled, count(*) filter (where state = 'success') as success
    from retried
), changed as (
    update batch b set error = b.error - c.error, cancelled = b.cancelled - c.cancelled, success = b.success - c.success,
        finished_at = null, stop_reason = null, due_at = null, is_changed = true, retries = b.retries + 1, is_stored = false
    from counted c where b.uid = :batch and c.total > 0
)
select total from counted

-- name: delete_items
delete from batch_item where (batch, index) in (select batch, index from batch_item where batch = $1 limit $2)

-- name: delete
delete from batch where uid = $1 and not has_objects

-- name: end_control
update batch set is_changed = false, is_reported = true, due_at = null where uid = $1

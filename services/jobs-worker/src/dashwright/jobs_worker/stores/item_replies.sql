-- fragment: is_due
reply_to is not null and not is_replied and state in ('success', 'error', 'cancelled')

-- name: list_batches
-- Each step finds the next batch in the index, so that items of one batch are not read one by one.
with recursive due (batch) as (
    (select batch from batch_item where {is_due} order by batch limit 1)
    union all
    select (select i.batch from batch_item i where {is_due} and i.batch > due.batch order by i.batch limit 1)
    from due where due.batch is not null
)
select batch from due where batch is not null limit $1

-- name: try_lock
-- Makes the transaction the only one that sends results of items of a batch.
select pg_try_advisory_xact_lock(14, hashtext($1::uuid::text))

-- name: has_due
select exists (select from batch_item where batch = $1 and {is_due})

-- name: list_due
select index, id, state, reply_to, correlation_id, finished_at from batch_item where batch = $1 and {is_due} order by index limit $2

-- name: lock
-- Items that did not change since they were listed.
select i.index
from batch_item i join unnest(:indices::integer[], :ends::timestamptz[]) d (index, finished_at) using (index, finished_at)
where i.batch = :batch and {is_due}
for update of i skip locked

-- name: record
update batch_item set is_replied = true where batch = $1 and index = any($2::integer[])

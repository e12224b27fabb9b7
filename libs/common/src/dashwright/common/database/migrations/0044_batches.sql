-- Batches of jobs and evaluations. The object of a batch is in the table resource; these tables have its items. See the decision
-- record docs/decisions/0014-batches.md.

create table batch (
    -- Uid of the object.
    uid uuid primary key,
    namespace text not null,
    name text not null,
    created_at timestamptz not null default now(),
    -- Submitter of the items, as in the table job.
    submitted_by jsonb,
    -- Trace of the submission, as a W3C traceparent.
    trace text,
    -- The items of the spec are stored.
    has_spec_items boolean not null default false,
    -- No more items are accepted.
    is_closed boolean not null default false,
    -- An item is a job, whose concurrency group is not that of the batch.
    has_jobs boolean not null default false,
    -- The number of jobs that are submitted for an item that fails, and the delay before the second, which doubles each time.
    attempts smallint not null default 1,
    backoff interval not null default '0',
    -- Counts of items. Pending items wait; dispatched ones have an unfinished job, which is working or waits for a worker.
    total integer not null default 0,
    dispatched integer not null default 0,
    working integer not null default 0,
    success integer not null default 0,
    error integer not null default 0,
    cancelled integer not null default 0,
    -- Counts changed since the controller last handled the batch, or it has something else to do now.
    is_changed boolean not null default true,
    -- When the controller has something to do without a change: the begin, a retry, the deadline, or the deletion.
    due_at timestamptz,
    -- Why no more items are dispatched: cancelled, deadline or failure.
    stop_reason text check (stop_reason in ('cancelled', 'deadline', 'failure')),
    started_at timestamptz,
    -- All items ended.
    finished_at timestamptz,
    -- When the status of the object was last written, and whether it has all changes since.
    reported_at timestamptz,
    is_reported boolean not null default false,
    -- The object is deleted, and the items will be.
    is_deleted boolean not null default false
)
-- Counters change with every job, and find room on their own page.
with (fillfactor = 50);
create index batch_changed on batch (created_at) where is_changed;
create index batch_due on batch (due_at) where due_at is not null;
create index batch_unreported on batch (reported_at) where not is_reported;
create index batch_unfinished on batch (namespace) where finished_at is null;

create table batch_item (
    batch uuid not null,
    -- Position in the batch, from 0.
    index integer not null,
    -- Idempotency key within the batch.
    id text not null,
    kind text not null check (kind in ('Job', 'Evaluation')),
    -- JSON, with sorted keys.
    spec text not null,
    state text not null default 'pending' check (state in ('pending', 'dispatched', 'success', 'error', 'cancelled')),
    -- Number of jobs that were submitted for the item.
    attempts smallint not null default 0,
    -- Begin of the next attempt.
    not_before timestamptz,
    -- The job of the last attempt.
    job uuid,
    -- Final status of the last attempt, as JSON.
    status text,
    finished_at timestamptz,
    -- Address and id for the message with the result; null if none was requested.
    reply_to text,
    correlation_id text,
    primary key (batch, index),
    unique (batch, id)
);
create index batch_item_pending on batch_item (batch, index) where state = 'pending';
create index batch_item_job on batch_item (job) where state = 'dispatched';
create index batch_item_error on batch_item (batch, index) where state = 'error';

-- A job of items. Other jobs cost no search for items.
alter table job add column has_items boolean not null default false;

-- Creates and deletes the row of a batch with its object.
create function keep_batch() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into batch (uid, namespace, name) values (new.uid, new.namespace, new.name) on conflict (uid) do nothing;
    elsif tg_op = 'DELETE' then
        update batch set is_deleted = true, is_changed = true where uid = old.uid;
    elsif old.generation <> new.generation or old.name <> new.name then
        update batch set name = new.name, is_changed = true where uid = new.uid;
    end if;
    return null;
end $$;
create trigger keep_batch_insert after insert on resource for each row
    when (new.resource = 'batches' and new.api_group = 'jobs.dashwright.io') execute function keep_batch();
create trigger keep_batch_update after update on resource for each row
    when (new.resource = 'batches' and new.api_group = 'jobs.dashwright.io') execute function keep_batch();
create trigger keep_batch_delete after delete on resource for each row
    when (old.resource = 'batches' and old.api_group = 'jobs.dashwright.io') execute function keep_batch();

-- Copies the states of jobs to their items, and counts them. An item that failed is pending again if the batch allows another attempt.
-- Runs under the lock of jobs of their namespaces, and then locks batches.
create function update_items(jobs uuid[], old_states text[], new_states text[], statuses text[]) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    with changed as materialized (
        select i.batch, i.index, j.old_state, j.status, case
            when j.new_state = 'error' and j.status::jsonb ->> 'message' = 'job was cancelled' then 'cancelled'
            when j.new_state = 'error' and i.attempts < b.attempts and b.stop_reason is null then 'pending'
            when j.new_state in ('success', 'error') then j.new_state
            else 'dispatched'
        end as state, j.new_state = 'working' as is_working, now() + b.backoff * 2 ^ (least(i.attempts, 16) - 1) as not_before
        from unnest(jobs, old_states, new_states, statuses) j (uid, old_state, new_state, status)
        join batch_item i on i.job = j.uid and i.state = 'dispatched'
        join batch b on b.uid = i.batch
    ), ended as (
        update batch_item i
        set state = c.state, status = c.status, finished_at = case when c.state <> 'pending' then now() end,
            not_before = case when c.state = 'pending' then c.not_before end
        from changed c where (i.batch, i.index) = (c.batch, c.index) and c.state <> 'dispatched'
    ), counted as (
        select batch, count(*) filter (where is_working) - count(*) filter (where old_state = 'working') as working,
               count(*) filter (where state <> 'dispatched') as ended, count(*) filter (where state = 'success') as success,
               count(*) filter (where state = 'error') as error, count(*) filter (where state = 'cancelled') as cancelled,
               min(not_before) filter (where state = 'pending') as due_at
        from changed group by batch
    )
    update batch b
    set working = b.working + c.working, dispatched = b.dispatched - c.ended, success = b.success + c.success,
        error = b.error + c.error, cancelled = b.cancelled + c.cancelled, is_changed = true, due_at = least(b.due_at, c.due_at)
    from counted c where b.uid = c.batch;
end $$;

create function update_items_of_jobs() returns trigger language plpgsql as $$
begin
    if not exists (select from old_rows where has_items) then
        return null;
    elsif tg_op = 'DELETE' then
        perform update_items(array_agg(uid), array_agg(state), array_agg('error'::text),
                             array_agg('{"state":"error","message":"the job was deleted before it ended"}'::text))
        from old_rows where has_items and state in ('pending', 'working');
    else
        perform update_items(array_agg(uid), array_agg(o.state), array_agg(n.state), array_agg(n.status))
        from old_rows o join new_rows n using (uid) where n.has_items and o.state <> n.state;
    end if;
    return null;
end $$;
create trigger update_items_of_changed after update on job referencing old table as old_rows new table as new_rows
    for each statement execute function update_items_of_jobs();
create trigger update_items_of_deleted after delete on job referencing old table as old_rows
    for each statement execute function update_items_of_jobs();

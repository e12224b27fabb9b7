-- Workers find the next job by an index instead of comparing all waiting jobs. See the decision record
-- docs/decisions/0013-job-queues.md. Triggers keep these tables, so that workers of the previous version do not make them wrong.
-- Every change happens under the lock of jobs of a namespace (0040_change_feed_by_namespace.sql).

alter table job
    -- 5 is the most urgent.
    add column priority smallint not null default 3 check (priority between 1 and 5),
    -- Jobs of one organization with different keys share its workers in proportion to the weights.
    add column fairness_key text not null default '',
    add column weight real not null default 1 check (weight > 0),
    -- Trace of the submission, as a W3C traceparent.
    add column trace text;

-- Jobs that are interchangeable for the scheduler, because they have the same values in these columns.
create table job_queue (
    id bigint generated always as identity primary key,
    -- Kind of the workers that run the jobs: the first word of the wake key.
    pool text not null,
    namespace text not null,
    -- Concurrency group and its limit. The empty group has none.
    lane text not null,
    lane_width smallint not null,
    priority smallint not null,
    fairness_key text not null,
    weight real not null,
    ready integer not null default 0,
    working integer not null default 0,
    -- Whether a worker may claim a job: one is ready, and the group has a free slot.
    is_claimable boolean not null default false,
    -- Number of claimed jobs, divided by the weight. Of two queues, the next job is that of the queue with the smaller pass.
    pass double precision not null default 0,
    unique (namespace, pool, lane, lane_width, priority, fairness_key, weight)
)
-- Counters change with every job, and find room on their own page.
with (fillfactor = 50);
create index job_queue_claimable on job_queue (pool, namespace) where is_claimable;
create index job_queue_lane on job_queue (namespace, lane) where lane <> '';

-- The namespaces that have queues in a pool.
create table job_namespace (
    pool text not null,
    namespace text not null,
    claimable_queues integer not null default 0,
    working integer not null default 0,
    pass double precision not null default 0,
    primary key (pool, namespace)
)
with (fillfactor = 50);
create index job_namespace_claimable on job_namespace (pool) where claimable_queues > 0;

-- The jobs that are ready or working. Other pending jobs are postponed, or wait for the end of an equal job.
create table job_place (
    uid uuid primary key,
    queue bigint not null,
    is_working boolean not null,
    created_at timestamptz not null
);
create index job_place_ready on job_place (queue, created_at, uid) where not is_working;

-- Finds working jobs that do the same work as a pending one, and postponed jobs that are due.
create index job_working_equal on job (namespace, coalesce_key) where state = 'working' and coalesce_key is not null;
create index job_postponed on job (not_before) where state = 'pending' and not_before is not null;
drop index job_pending;
create index job_pending on job (namespace, created_at) where state = 'pending';

-- Takes the lock of a namespace if no other transaction holds it. Until gateways of the previous version are gone, waits for the lock
-- of the table.
create function try_lock_namespace(stream integer, namespace text) returns boolean language plpgsql as $$
begin
    if not (select by_namespace from feed_order) then
        perform pg_advisory_xact_lock(1, stream);
    end if;
    return pg_try_advisory_xact_lock(10 + stream, hashtext(namespace));
end $$;

-- The columns of a job's queue.
create function queue_of(j job, out pool text, out namespace text, out lane text, out lane_width smallint, out priority smallint,
                         out fairness_key text, out weight real) language sql immutable as $$
    select split_part(j.wake_key, '.', 1), j.namespace, coalesce(j.lane, ''), case when j.lane is null then 1::smallint else j.lane_width end,
           j.priority, j.fairness_key, j.weight
$$;

-- Gives jobs the place that follows from their rows, and corrects the counters of their queues. Runs under the lock of their namespaces.
-- The settings keep the plans by index that are right for many rows: plans are made while the tables are small, and kept.
create function place_jobs(changed uuid[]) returns void language plpgsql
set enable_nestloop = on set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    touched bigint[];
begin
    changed := array(select distinct unnest(changed));
    insert into job_queue (pool, namespace, lane, lane_width, priority, fairness_key, weight)
    select distinct k.* from unnest(changed) c (uid), lateral (select * from job where job.uid = c.uid offset 0) j, lateral queue_of(j) k
    where j.state in ('pending', 'working') and not exists (
        select from job_queue q where (q.namespace, q.pool, q.lane, q.lane_width, q.priority, q.fairness_key, q.weight)
            = (k.namespace, k.pool, k.lane, k.lane_width, k.priority, k.fairness_key, k.weight)
    );

    with wanted as materialized (
        select j.uid, q.id as queue, j.state = 'working' as is_working, j.created_at
        from unnest(changed) c (uid), lateral (select * from job where job.uid = c.uid offset 0) j, lateral queue_of(j) k, job_queue q
        where (q.namespace, q.pool, q.lane, q.lane_width, q.priority, q.fairness_key, q.weight)
                = (k.namespace, k.pool, k.lane, k.lane_width, k.priority, k.fairness_key, k.weight)
          and (j.state = 'working' or j.state = 'pending' and coalesce(j.not_before <= now(), true) and not exists (
              -- An earlier equal job may be slower, and would overwrite the result of this one.
              select from job same
              where (same.namespace, same.coalesce_key, same.lane, same.state) = (j.namespace, j.coalesce_key, j.lane, 'working')
          ))
    ), before as materialized (
        select p.* from unnest(changed) c (uid), lateral (select * from job_place where job_place.uid = c.uid offset 0) p
    ), removed as (
        delete from job_place where uid in (select uid from before except select uid from wanted)
    ), stored as (
        insert into job_place as p select * from wanted
        on conflict (uid) do update set queue = excluded.queue, is_working = excluded.is_working
            where (p.queue, p.is_working) is distinct from (excluded.queue, excluded.is_working)
    ), difference as (
        select queue, sum(ready) as ready, sum(working) as working
        from (
            select queue, (not is_working)::integer as ready, is_working::integer as working from wanted
            union all
            select queue, -(not is_working)::integer, -is_working::integer from before
        ) each_job
        group by queue
        having sum(ready) <> 0 or sum(working) <> 0
    ), counted as (
        update job_queue q set ready = q.ready + d.ready, working = q.working + d.working
        from difference d where q.id = d.queue
        returning q.id, q.pool, q.namespace, d.working
    ), totals as (
        insert into job_namespace as n (pool, namespace, working)
        select pool, namespace, sum(working) from counted group by 1, 2
        on conflict (pool, namespace) do update set working = n.working + excluded.working
    )
    select array_agg(id) into touched from counted;

    -- A group that is full, or has a free slot again, concerns all its queues.
    with concerned as (
        select unnest(touched) as id
        union
        select other.id from job_queue q join job_queue other on (other.namespace, other.lane) = (q.namespace, q.lane) and other.lane <> ''
        where q.id = any(touched)
    ), opened as (
        select q.id, q.ready > 0 and (q.lane = '' or q.lane_width > (
            select sum(other.working) from job_queue other where (other.namespace, other.lane) = (q.namespace, q.lane) and other.lane <> ''
        )) as is_claimable
        from concerned c join job_queue q using (id)
    ), flagged as (
        update job_queue q set is_claimable = o.is_claimable,
            -- A queue that was empty cannot save up turns.
            pass = case when o.is_claimable then greatest(q.pass, (
                select min(other.pass) from job_queue other
                where (other.pool, other.namespace) = (q.pool, q.namespace) and other.is_claimable
            )) else q.pass end
        from opened o where q.id = o.id and q.is_claimable <> o.is_claimable
        returning q.pool, q.namespace, q.is_claimable
    )
    update job_namespace n set claimable_queues = n.claimable_queues + f.difference,
        pass = case when n.claimable_queues = 0 and f.difference > 0 then greatest(n.pass, (
            select min(other.pass) from job_namespace other where other.pool = n.pool and other.claimable_queues > 0
        )) else n.pass end
    from (
        select pool, namespace, sum(case when is_claimable then 1 else -1 end) as difference from flagged group by 1, 2
    ) f
    where (n.pool, n.namespace) = (f.pool, f.namespace) and f.difference <> 0;
end $$;

create function place_changed_jobs() returns trigger language plpgsql set enable_nestloop = off as $$
declare
    changed uuid[];
    -- Equal jobs of those that began or ended: they begin to wait, or become ready.
    namespaces text[];
    keys text[];
begin
    if tg_op = 'TRUNCATE' then
        truncate job_place, job_queue, job_namespace;
        return null;
    elsif tg_op = 'INSERT' then
        select array_agg(uid) filter (where state in ('pending', 'working')) into changed from new_rows;
    elsif tg_op = 'DELETE' then
        select array_agg(uid) filter (where state in ('pending', 'working')),
               array_agg(namespace) filter (where state = 'working' and coalesce_key is not null),
               array_agg(coalesce_key) filter (where state = 'working' and coalesce_key is not null)
        into changed, namespaces, keys from old_rows;
    else
        select array_agg(n.uid),
               array_agg(n.namespace) filter (where 'working' in (o.state, n.state) and o.coalesce_key is not null),
               array_agg(o.coalesce_key) filter (where 'working' in (o.state, n.state) and o.coalesce_key is not null)
        into changed, namespaces, keys
        from old_rows o join new_rows n using (uid)
        where (o.state, o.not_before, o.coalesce_key, o.priority) is distinct from (n.state, n.not_before, n.coalesce_key, n.priority);
    end if;
    if keys is not null then
        changed := changed || array(
            select equal.uid from unnest(namespaces, keys) k (namespace, coalesce_key), lateral (
                select job.uid from job
                where (job.namespace, job.coalesce_key, job.state) = (k.namespace, k.coalesce_key, 'pending') offset 0
            ) equal
        );
    end if;
    if changed is not null then
        perform place_jobs(changed);
    end if;
    return null;
end $$;

create trigger place_insert after insert on job referencing new table as new_rows for each statement execute function place_changed_jobs();
create trigger place_update after update on job referencing old table as old_rows new table as new_rows
    for each statement execute function place_changed_jobs();
create trigger place_delete after delete on job referencing old table as old_rows for each statement execute function place_changed_jobs();
create trigger place_truncate after truncate on job for each statement execute function place_changed_jobs();

-- After the triggers, which have locked the table: no row is written between.
select place_jobs(array(select uid from job where state in ('pending', 'working') order by created_at, uid));

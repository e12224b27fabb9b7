-- The sum of a concurrency group's working jobs is computed once instead of for each of its queues. With 60 queues in three groups, these
-- sums took 0.6 ms of each call. Missing queues are searched once for all jobs that have the same queue.

create or replace function place_jobs(changed uuid[]) returns void language plpgsql
set enable_nestloop = on set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
    touched bigint[];
begin
    changed := array(select distinct unnest(changed));
    insert into job_queue (pool, namespace, lane, lane_width, priority, fairness_key, weight)
    select k.*
    from (
        select distinct split_part(j.wake_key, '.', 1) as pool, j.namespace, coalesce(j.lane, '') as lane,
               case when j.lane is null then 1::smallint else j.lane_width end as lane_width, j.priority, j.fairness_key, j.weight
        from unnest(changed) c (uid), lateral (select * from job where job.uid = c.uid offset 0) j
        where j.state in ('pending', 'working')
    ) k
    where not exists (
        select from job_queue q where (q.namespace, q.pool, q.lane, q.lane_width, q.priority, q.fairness_key, q.weight)
            = (k.namespace, k.pool, k.lane, k.lane_width, k.priority, k.fairness_key, k.weight)
    );

    with wanted as materialized (
        select j.uid, q.id as queue, j.state = 'working' as is_working, j.created_at
        from unnest(changed) c (uid), lateral (select * from job where job.uid = c.uid offset 0) j, lateral (
            select id from job_queue q
            where (q.namespace, q.pool, q.lane, q.lane_width, q.priority, q.fairness_key, q.weight) = (
                j.namespace, split_part(j.wake_key, '.', 1), coalesce(j.lane, ''),
                case when j.lane is null then 1::smallint else j.lane_width end, j.priority, j.fairness_key, j.weight
            ) offset 0
        ) q
        where j.state = 'working' or j.state = 'pending' and coalesce(j.not_before <= now(), true) and not exists (
            -- An earlier equal job may be slower, and would overwrite the result of this one.
            select from job same
            where (same.namespace, same.coalesce_key, same.lane, same.state) = (j.namespace, j.coalesce_key, j.lane, 'working')
        )
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

    with counted as materialized (
        select q.* from unnest(touched) t (id), lateral (select * from job_queue where job_queue.id = t.id offset 0) q
    ), opened as (
        select id, ready > 0 as is_claimable from counted where lane = '' and is_claimable <> (ready > 0)
        union all
        -- A group that is full, or has a free slot again, concerns all its queues.
        select q.id, q.is_claimable
        from (select distinct namespace, lane from counted where lane <> '') g, lateral (
            select id, is_claimable as was_claimable, ready > 0 and lane_width > sum(working) over () as is_claimable
            from job_queue where (job_queue.namespace, job_queue.lane) = (g.namespace, g.lane) and job_queue.lane <> '' offset 0
        ) q
        where q.is_claimable <> q.was_claimable
    ), flagged as (
        update job_queue q set is_claimable = o.is_claimable,
            -- A queue that was empty cannot save up turns.
            pass = case when o.is_claimable then greatest(q.pass, (
                select min(other.pass) from job_queue other
                where (other.pool, other.namespace) = (q.pool, q.namespace) and other.is_claimable
            )) else q.pass end
        from opened o where q.id = o.id
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

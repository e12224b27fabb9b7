-- name: waiting
-- The numbers of jobs that are ready to run, of those namespaces that have any. Triggers keep the counters of queues.
-- PostgreSQL would plan the statement again for each submission if it knew the number of namespaces: "unnest" hides it.
select namespace, sum(ready) as waiting
from job_queue
where namespace = any(array(select unnest($1::text[]))) and ready > 0
group by namespace

-- name: lock_empty
-- The locks of at most $1 namespaces that have empty queues. Namespaces that another transaction has locked are left out.
select namespace
from (select namespace from job_queue where ready = 0 and working = 0 group by namespace order by namespace limit $1) candidates
where try_lock_namespace(2, namespace)

-- name: delete_empty
-- Deletes at most $2 queues without jobs. Requires the locks of their namespaces, since queues are added and counted under these.
delete from job_queue
where id in (select id from job_queue where namespace = any($1::text[]) and ready = 0 and working = 0 limit $2)
returning id

-- name: delete_queues
delete from job_queue where namespace = $1

-- name: delete_counts
delete from job_namespace where namespace = $1

-- name: delete_earlier
-- Deletes the ended notifications of earlier ends of a batch.
delete from notification where subject = $1 and next_attempt_at is null

-- name: claim
-- The candidates are few, so that an organization with many due notifications does not make each claim slow. Slow webhooks and queues of
-- an organization do not delay its events on the exchange.
with candidate as (
    select id, receiver, target, namespace, host, next_attempt_at from notification
    where next_attempt_at <= now() and host <> all(:full_hosts::text[])
      and (receiver = 'exchange' or namespace <> all(:full_namespaces::text[]))
    order by next_attempt_at limit :candidates
), ranked as (
    select id, receiver, target,
           row_number() over (partition by namespace, receiver = 'exchange' order by next_attempt_at) + coalesce(n.running, 0) as of_namespace,
           row_number() over (partition by host order by next_attempt_at) + coalesce(h.running, 0) as of_host
    from candidate
    left join unnest(:namespaces::text[], :running_of_namespaces::integer[]) n (namespace, running) using (namespace)
    left join unnest(:hosts::text[], :running_of_hosts::integer[]) h (host, running) using (host)
), chosen as (
    select n.id, n.receiver, n.target from notification n join ranked using (id, receiver, target)
    where (n.receiver = 'exchange' or of_namespace <= :namespace_limit) and of_host <= :host_limit and n.next_attempt_at <= now()
    order by n.next_attempt_at limit :limit
    for update of n skip locked
)
update notification n set next_attempt_at = now() + :lease::interval, attempts = attempts + 1
from chosen c where (n.id, n.receiver, n.target) = (c.id, c.receiver, c.target)
returning n.id, n.receiver, n.subject_kind, n.namespace, n.name, n.target, n.host, n.secret, n.event, n.created_at, n.attempts, (
    -- The webhooks of a repository are in its present spec.
    select h.spec from resource r join resource_history h using (uid, generation)
    where n.subject_kind = 'repository' and n.receiver = 'webhook' and r.uid = n.subject
) as spec

-- name: record_delivery
with delivered as (
    update notification set delivered_at = now(), attempted_at = now(), next_attempt_at = null, error = null,
                            is_unreported = subject_kind = 'repository' and receiver = 'webhook'
    where id = $1 and receiver = $2 and target = $3
    returning subject, receiver
)
update batch set is_changed = true where uid in (select subject from delivered where receiver <> 'exchange')

-- name: record_failure
-- A notification whose receiver was changed since the attempt began keeps the time of its next attempt, and so does one that another
-- process attempts by now: the number of attempts is another one.
with failed as (
    update notification
    set error = :error, attempted_at = now(), is_unreported = subject_kind = 'repository' and receiver = 'webhook',
        next_attempt_at = case when attempts = :attempts then now() + :retry_after::interval else next_attempt_at end
    where id = :id and receiver = :receiver and target = :target and delivered_at is null
    returning subject, receiver
)
update batch set is_changed = true where uid in (select subject from failed where receiver <> 'exchange')

-- name: change_receiver
-- Has the unfinished deliveries to a receiver repeated immediately if its address or secret changed.
update notification set target = :target, host = :host, secret = :secret, next_attempt_at = now(), attempts = 0, error = null
where subject = :batch and receiver = :receiver and next_attempt_at is not null
  and (target, secret) is distinct from (:target, :secret::text)

-- name: find_outcome
-- The exchange is not among the receivers of a batch: its queues belong to operators.
select case when count(*) = count(delivered_at) then max(delivered_at) end as delivered_at, string_agg(error, '; ' order by receiver) as error
from notification
where subject = $1 and created_at = $2 and receiver <> 'exchange'

-- name: delete_if_unneeded
-- Deletes an ended notification whose outcome no status shows: that of a deleted batch, and that of the exchange.
delete from notification n
where id = $1 and receiver = $2 and target = $3 and next_attempt_at is null
  and (receiver = 'exchange' or subject_kind = 'batch' and not exists (select from batch where uid = n.subject))

-- name: list_unreported_namespaces
select distinct namespace from notification where is_unreported limit $1

-- name: take_outcomes
-- Returns the outcomes of attempts to notify receivers of repositories, in the order of the attempts, and deletes ended notifications.
with unreported as (
    select id, receiver, target from notification where namespace = $1 and is_unreported order by attempted_at limit $2 for update
), ended as (
    delete from notification n using unreported u
    where (n.id, n.receiver, n.target) = (u.id, u.receiver, u.target) and n.next_attempt_at is null
    returning n.id, n.subject, n.name, n.target, n.attempted_at, n.delivered_at, n.error
), waiting as (
    update notification n set is_unreported = false from unreported u
    where (n.id, n.receiver, n.target) = (u.id, u.receiver, u.target) and n.next_attempt_at is not null
    returning n.id, n.subject, n.name, n.target, n.attempted_at, n.delivered_at, n.error
)
select * from ended union all select * from waiting order by attempted_at

-- name: delete_surplus
-- Of each organization, the waiting notifications after the newest $1, except those for the receivers in the specs of batches, which are as
-- few as the batches. They are ranked only where there are too many: to count them, an index suffices. A notification that another
-- transaction has locked is left to the next run.
with ranked as (
    select id, receiver, target, row_number() over (partition by namespace order by created_at desc) as position
    from notification
    where next_attempt_at is not null and (subject_kind = 'repository' or receiver = 'exchange') and namespace in (
        select namespace from notification where next_attempt_at is not null group by namespace having count(*) > $1
    )
), surplus as (
    select n.id, n.receiver, n.target from notification n join ranked using (id, receiver, target)
    where position > $1 limit $2
    for update of n skip locked
)
delete from notification n using surplus s where (n.id, n.receiver, n.target) = (s.id, s.receiver, s.target)

-- name: measure_backlog
select receiver, count(*) as waiting, extract(epoch from now() - min(created_at))::float8 as oldest_seconds
from notification where next_attempt_at is not null group by receiver

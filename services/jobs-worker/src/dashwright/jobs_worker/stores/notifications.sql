-- name: add
-- Ended notifications of earlier ends of the batch are deleted.
with earlier as (
    delete from batch_notification where batch = :batch and next_attempt_at is null
)
insert into batch_notification (id, receiver, batch, namespace, name, target, host, secret, event)
select :id, receiver, :batch, :namespace, :name, target, host, secret, :event
from unnest(:receivers::text[], :targets::text[], :hosts::text[], :secrets::text[]) as receivers (receiver, target, host, secret)

-- name: claim
-- The candidates are few, so that an organization with many due notifications does not make each claim slow.
with candidate as (
    select id, receiver, namespace, host, next_attempt_at from batch_notification
    where next_attempt_at <= now() and namespace <> all(:full_namespaces::text[]) and host <> all(:full_hosts::text[])
    order by next_attempt_at limit :candidates
), ranked as (
    select id, receiver,
           row_number() over (partition by namespace order by next_attempt_at) + coalesce(n.running, 0) as of_namespace,
           row_number() over (partition by host order by next_attempt_at) + coalesce(h.running, 0) as of_host
    from candidate
    left join unnest(:namespaces::text[], :running_of_namespaces::integer[]) n (namespace, running) using (namespace)
    left join unnest(:hosts::text[], :running_of_hosts::integer[]) h (host, running) using (host)
), chosen as (
    select b.id, b.receiver from batch_notification b join ranked using (id, receiver)
    where of_namespace <= :namespace_limit and of_host <= :host_limit and b.next_attempt_at <= now()
    order by b.next_attempt_at limit :limit
    for update of b skip locked
)
update batch_notification b set next_attempt_at = now() + :lease::interval, attempts = attempts + 1
from chosen c where b.id = c.id and b.receiver = c.receiver
returning b.id, b.receiver, b.namespace, b.name, b.target, b.host, b.secret, b.event, b.created_at, b.attempts

-- name: record_delivery
with delivered as (
    update batch_notification set delivered_at = now(), next_attempt_at = null, error = null where id = $1 and receiver = $2
    returning batch
)
update batch set is_changed = true where uid in (select batch from delivered)

-- name: record_failure
-- A receiver that was changed since the attempt began keeps the time of its next attempt.
with failed as (
    update batch_notification
    set error = :error, next_attempt_at = case when target = :target then now() + :retry_after::interval else next_attempt_at end
    where id = :id and receiver = :receiver and delivered_at is null
    returning batch
)
update batch set is_changed = true where uid in (select batch from failed)

-- name: change_receiver
-- Has the unfinished deliveries to a receiver repeated immediately if its address or secret changed.
update batch_notification set target = :target, host = :host, secret = :secret, next_attempt_at = now(), attempts = 0, error = null
where batch = :batch and receiver = :receiver and next_attempt_at is not null
  and (target, secret) is distinct from (:target, :secret::text)

-- name: find_outcome
select case when count(*) = count(delivered_at) then max(delivered_at) end as delivered_at, string_agg(error, '; ' order by receiver) as error
from batch_notification
where batch = $1 and created_at = $2

-- name: delete_ended
delete from batch_notification where batch = $1 and next_attempt_at is null

-- name: delete_if_orphaned
delete from batch_notification n
where id = $1 and receiver = $2 and next_attempt_at is null and not exists (select from batch where uid = n.batch)

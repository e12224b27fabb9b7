-- name: record_all
insert into audit_event (org_id, actor, login, action, object, outcome, status, address, request_id, trace_id, details)
select * from unnest(
    :org_ids::bigint[], :actors::text[], :logins::text[], :actions::text[], :objects::text[], :outcomes::text[], :statuses::integer[],
    :addresses::text[], :request_ids::text[], :trace_ids::text[], :details::jsonb[]
)

-- name: query
-- The newest events with an id less than :before. A filter that is null is not applied.
select id, at, org_id, actor, login, action, object, outcome, status, address, request_id, trace_id, details
from audit_event
where (:org_id::bigint is null or org_id = :org_id)
  and (:since::timestamptz is null or at >= :since)
  and (:until::timestamptz is null or at < :until)
  and (:actor::text is null or actor = :actor)
  and (:action::text is null or action = :action)
  and (:object::text is null or object = :object)
  and (:outcome::text is null or outcome = :outcome)
  and (:request_id::text is null or request_id = :request_id)
  and (:before::bigint is null or id < :before)
order by id desc
limit :limit

-- name: permit_deletes
-- Allows deletes in this transaction; without it a trigger refuses them: see 0004_quotas_audit.sql.
select set_config('dashwright.retention', 'on', true)

-- name: delete_old
delete from audit_event where id in (select id from audit_event where at < $1 limit $2)

-- name: forbid_deletes
select set_config('dashwright.retention', 'off', true)

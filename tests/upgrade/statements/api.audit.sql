-- name: record
insert into audit_event (org_id, actor, login, action, object, outcome, status, address, request_id, trace_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: query
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

-- name: open_retention
select set_config('dashwright.retention', 'on', true)

-- name: forget
delete from audit_event where id in (select id from audit_event where at < $1 limit $2)

-- name: close_retention
select set_config('dashwright.retention', 'off', true)

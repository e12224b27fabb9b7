-- name: record
insert into audit_event (org_id, actor, login, action, object, outcome, status, address, request_id, trace_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: query
-- The newest first, below the number $9. Nulls ask for everything.
select id, at, org_id, actor, login, action, object, outcome, status, address, request_id, trace_id, details
from audit_event
where ($1::bigint is null or org_id = $1)
  and ($2::timestamptz is null or at >= $2)
  and ($3::timestamptz is null or at < $3)
  and ($4::text is null or actor = $4)
  and ($5::text is null or action = $5)
  and ($6::text is null or object = $6)
  and ($7::text is null or outcome = $7)
  and ($8::text is null or request_id = $8)
  and ($9::bigint is null or id < $9)
order by id desc
limit $10

-- name: open_retention
-- Allows deletes in this transaction; without it a trigger refuses them: see 0004_quotas_audit.sql.
select set_config('dashwright.retention', 'on', true)

-- name: forget
delete from audit_event where id in (select id from audit_event where at < $1 limit $2)

-- name: close_retention
select set_config('dashwright.retention', 'off', true)

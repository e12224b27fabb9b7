-- name: data_sources
-- Secrets of data sources after a key, in its order.
select s.data_source_id as id, s.name as part, d.org_id, d.uid, s.sealed
from data_source_secret s join data_source d on d.id = s.data_source_id
where (s.data_source_id, s.name) > ($1::bigint, $2::text)
order by s.data_source_id, s.name
limit $3
for update of s

-- name: put_data_source
update data_source_secret set sealed = $3 where data_source_id = $1 and name = $2

-- name: specs
-- Every generation of repositories with the secret $4: the current one, and earlier ones that can be read.
select h.uid as id, h.generation as part, r.namespace, r.name, h.spec as text,
       h.spec::jsonb -> (h.spec::jsonb ->> 'type') ->> $4::text as sealed
from resource r join resource_history h using (uid)
where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories' and (h.uid, h.generation) > ($1::uuid, $2::bigint)
  and h.spec::jsonb -> (h.spec::jsonb ->> 'type') ->> $4::text is not null
order by h.uid, h.generation
limit $3

-- name: put_spec
update resource_history set spec = $3 where uid = $1 and generation = $2

-- name: receivers
-- Every generation of repositories whose receiver of notifications at the index $4 has a secret.
select h.uid as id, h.generation as part, r.namespace, r.name, h.spec as text,
       h.spec::jsonb #>> array['notifications', $4::text, 'name'] as receiver,
       h.spec::jsonb #>> array['notifications', $4::text, 'encryptedSecret'] as sealed
from resource r join resource_history h using (uid)
where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories' and (h.uid, h.generation) > ($1::uuid, $2::bigint)
  and h.spec::jsonb #>> array['notifications', $4::text, 'encryptedSecret'] is not null
order by h.uid, h.generation
limit $3

-- name: statuses
-- Repositories with a webhook. $2 is not used, because a repository has one status.
select uid as id, 0::bigint as part, namespace, name, status as text, status::jsonb #>> '{webhook,encryptedSecret}' as sealed
from resource
where api_group = 'provisioning.grafana.app' and resource = 'repositories' and uid > $1::uuid and $2::bigint is not null
  and status <> '' and status::jsonb #>> '{webhook,encryptedSecret}' is not null
order by uid
limit $3

-- name: put_status
update resource set status = $3 where uid = $1 and $2::bigint is not null

-- name: hooks
-- The tokens that webhooks were requested with.
select k.uid as id, 0::bigint as part, r.namespace, r.name, k.githost as text, k.githost::jsonb ->> 'encryptedToken' as sealed
from repository_hook k join resource r using (uid)
where k.uid > $1::uuid and $2::bigint is not null and k.githost::jsonb ->> 'encryptedToken' is not null
order by k.uid
limit $3

-- name: put_hook
update repository_hook set githost = $3 where uid = $1 and $2::bigint is not null

-- name: removals
-- The tokens that webhooks are to be removed with.
select id, 0::bigint as part, namespace, name, githost as text, githost::jsonb ->> 'encryptedToken' as sealed
from hook_to_remove
where id > $1::bigint and $2::bigint is not null and githost::jsonb ->> 'encryptedToken' is not null
order by id
limit $3

-- name: put_removal
update hook_to_remove set githost = $3 where id = $1 and $2::bigint is not null

-- name: batch_specs
-- Every generation of batches with a webhook.
select h.uid as id, h.generation as part, r.namespace, r.name, h.spec as text,
       h.spec::jsonb #>> '{notify,webhook,encryptedSecret}' as sealed
from resource r join resource_history h using (uid)
where r.api_group = 'jobs.dashwright.io' and r.resource = 'batches' and (h.uid, h.generation) > ($1::uuid, $2::bigint)
  and h.spec::jsonb #>> '{notify,webhook,encryptedSecret}' is not null
order by h.uid, h.generation
limit $3

-- name: notifications
-- The secrets that notifications are signed with. $2 is not used, because an event has one webhook.
select id, 0::bigint as part, namespace, name, secret as text, secret as sealed
from notification
where id > $1::uuid and $2::bigint is not null and secret is not null
order by id
limit $3

-- name: put_notification
update notification set secret = $3 where id = $1 and $2::bigint is not null and secret is not null

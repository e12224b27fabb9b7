-- name: claim
-- Claims at most $1 repositories that are new, changed or due, for the duration $2. Repositories being deleted are excluded.
with due_repository as (
    select r.uid, r.generation
    from resource r left join repository_hook k using (uid)
    where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories' and r.deletion_timestamp is null
      and (k.uid is null or k.generation <> r.generation or k.due <= now())
    order by k.due nulls first limit $1
    for key share of r skip locked
),
claimed as (
    insert into repository_hook (uid, generation, due) select uid, generation, now() + $2 from due_repository
    on conflict (uid) do update set generation = excluded.generation, due = excluded.due
    where repository_hook.generation <> excluded.generation or repository_hook.due <= now()
    returning uid, generation, hook, githost, failures
)
select r.uid, r.namespace, r.name, c.generation, h.spec, r.status, c.hook, c.githost, c.failures
from claimed c join resource r using (uid) join resource_history h on (h.uid, h.generation) = (c.uid, c.generation)

-- name: record_hook
update repository_hook set hook = $2, githost = $3, due = now() + $4, failures = 0 where uid = $1

-- name: check_on_change
update repository_hook set due = 'infinity' where uid = $1

-- name: record_failure
update repository_hook set due = now() + $2, failures = failures + 1 where uid = $1

-- name: mark_for_removal
-- Moves the webhook of a repository to those to be removed, so that it no longer belongs to the repository.
with moved as (
    insert into hook_to_remove (namespace, name, hook, githost)
    select $2, $3, hook, githost from repository_hook where uid = $1 and hook is not null
)
update repository_hook set hook = null, githost = null where uid = $1

-- name: mark_namespace_for_removal
-- Moves the webhooks of all repositories of a namespace whose finalizers name $2 to those to be removed.
with moved as (
    insert into hook_to_remove (namespace, name, hook, githost)
    select r.namespace, r.name, k.hook, k.githost
    from repository_hook k join resource r using (uid)
    where r.namespace = $1 and $2 = any (r.finalizers) and k.hook is not null
)
update repository_hook k set hook = null, githost = null from resource r where r.uid = k.uid and r.namespace = $1

-- name: claim_removals
update hook_to_remove set due = now() + $2
where id in (select id from hook_to_remove where due <= now() order by due limit $1 for update skip locked)
returning id, namespace, name, hook, githost, failures, since < now() - $3::interval as is_old

-- name: delete_removal
delete from hook_to_remove where id = $1

-- name: record_removal_failure
update hook_to_remove set due = now() + $2, failures = failures + 1 where id = $1

-- The sync status of repositories holds a state of the enum, which clients could overwrite with any text, and the uid of its job.
update resource set status = jsonb_set(status::jsonb, '{sync,state}', '""')::text
where api_group = 'provisioning.grafana.app' and resource = 'repositories'
  and status::jsonb #>> '{sync,state}' not in ('', 'pending', 'working', 'success', 'error');

update resource set status = jsonb_set(resource.status::jsonb, '{sync,job}', to_jsonb(job.uid::text))::text
from job
where resource.api_group = 'provisioning.grafana.app' and resource.resource = 'repositories' and job.namespace = resource.namespace
  and job.resource = 'jobs' and job.name = resource.status::jsonb #>> '{sync,job}';

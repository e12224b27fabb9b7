-- Which repository a job is of: whoever makes one under the name of another that is gone does not take over its jobs.
alter table job add column repository_uid uuid;

-- Those that are there are of the repository that has the name now, unless it came after them. It is no change that a watcher hears of.
alter table job disable trigger user;
update job set repository_uid = r.uid
from resource r
where r.namespace = job.namespace and r.name = job.repository and r.created_at <= job.created_at
  and r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories';
alter table job enable trigger user;

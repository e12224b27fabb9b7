-- What a repository manages goes with it where a finalizer says so. Until now it always did.

update resource set finalizers = '{cleanup,remove-orphan-resources}'
where api_group = 'provisioning.grafana.app' and resource = 'repositories' and finalizers = '{}';

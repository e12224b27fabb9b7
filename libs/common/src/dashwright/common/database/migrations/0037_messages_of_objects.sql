-- The message of an object's current generation is an annotation of the object, as clients read it.

alter table resource disable trigger user;

alter table resource add column message text;

update resource r set
    message = h.message,
    metadata = jsonb_set(r.metadata::jsonb, '{annotations,grafana.app/message}', to_jsonb(h.message))::text
from resource_history h
where h.uid = r.uid and h.generation = r.generation and h.message is not null;

create or replace function stamp_resource() returns trigger language plpgsql as $$
begin
    new.resource_version := nextval('resource_version');
    new.number := coalesce(new.number, ('x' || right(replace(new.uid::text, '-', ''), 14))::bit(56)::bigint & 9007199254740991);
    new.metadata := jsonb_strip_nulls(jsonb_build_object(
        'name', new.name,
        'namespace', new.namespace,
        'uid', new.uid,
        'creationTimestamp', to_char(new.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'deletionTimestamp', to_char(new.deletion_timestamp at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'labels', nullif(case when new.resource in ('dashboards', 'folders', 'librarypanels')
                              then new.labels || jsonb_build_object('grafana.app/deprecatedInternalID', new.number::text)
                              else new.labels end, '{}'),
        'finalizers', nullif(to_jsonb(new.finalizers), '[]'),
        'ownerReferences', nullif(new.owner_references, '[]'),
        'annotations', new.annotations || jsonb_build_object(
            'grafana.app/createdBy', new.created_by,
            'grafana.app/updatedBy', new.updated_by,
            'grafana.app/updatedTimestamp', to_char(new.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
            'grafana.app/message', new.message),
        'managedFields', nullif(new.managed_fields, '[]')
    ))::text;
    return new;
end $$;

alter table resource enable trigger user;

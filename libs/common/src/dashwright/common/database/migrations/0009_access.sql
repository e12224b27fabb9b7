-- Rules of access that somebody set on a folder or dashboard. An object that has a row here has a list of its own, even an empty one.
create table access_list (
    uid uuid primary key references resource on delete cascade,
    namespace text not null,
    resource text not null check (resource in ('folders', 'dashboards')),
    name text not null,
    updated timestamptz not null default now()
);
create index access_list_by_object on access_list (namespace, resource, name);

create table access_rule (
    uid uuid not null references access_list on delete cascade,
    user_id bigint references "user" on delete cascade,
    team_id bigint references team on delete cascade,
    role text check (role in ('Viewer', 'Editor', 'Admin')),
    -- 1 view, 2 edit, 4 admin.
    permission smallint not null check (permission in (1, 2, 4)),
    created timestamptz not null default now(),
    check (num_nonnulls(user_id, team_id, role) = 1),
    unique nulls not distinct (uid, user_id, team_id, role)
);
create index access_rule_by_user on access_rule (user_id) where user_id is not null;
create index access_rule_by_team on access_rule (team_id) where team_id is not null;

create function tell_access() returns trigger language plpgsql as $$
declare
    changed text;
begin
    if tg_table_name = 'access_list' then
        changed := case tg_op when 'DELETE' then old.namespace else new.namespace end;
    else
        select namespace into changed from access_list where uid = case tg_op when 'DELETE' then old.uid else new.uid end;
    end if;
    if changed is not null then
        perform pg_notify('change', 'access:' || changed);
    end if;
    return null;
end $$;
create trigger tell after insert or update or delete on access_list for each row execute function tell_access();
create trigger tell after insert or update or delete on access_rule for each row execute function tell_access();

-- A member of a team may now do more than another: the identity changes with the membership.
create trigger tell after insert or update or delete on team_member for each row execute function tell_identity('user', 'user_id');

-- Rights in an organization end with the membership, those by rules, too.
create or replace function forget_member() returns trigger language plpgsql as $$
begin
    delete from permission where user_id = old.user_id and org_id = old.org_id;
    delete from team_member where user_id = old.user_id and org_id = old.org_id;
    delete from access_rule r using access_list l
    where l.uid = r.uid and r.user_id = old.user_id and l.namespace = case old.org_id when 1 then 'default' else 'org-' || old.org_id end;
    return null;
end $$;

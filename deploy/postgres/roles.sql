-- The database's roles: an owner for migrations, and a role for each service that can neither change the schema nor become another role.
-- Run it before every migration, as the superuser. It can be repeated at any time, also on a database that the superuser still owns.
-- `dashwright migrate` grants each service its rights on tables.

\set ON_ERROR_STOP on
\getenv owner POSTGRES_OWNER_PASSWORD
\getenv api POSTGRES_API_PASSWORD
\getenv jobs_worker POSTGRES_JOBS_WORKER_PASSWORD
\getenv expressions POSTGRES_EXPRESSIONS_PASSWORD

select format('create role %I', name) from unnest(array[
    'dashwright_owner', 'dashwright_api', 'dashwright_jobs_worker', 'dashwright_expressions'
]) name where not exists (select from pg_roles where rolname = name) \gexec

alter role dashwright_owner login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'owner';
alter role dashwright_api login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'api';
alter role dashwright_jobs_worker login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'jobs_worker';
alter role dashwright_expressions login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'expressions';

select format('alter database %I owner to dashwright_owner', current_database()) \gexec
select format('revoke all on database %I from public', current_database()) \gexec
select format('grant connect, temporary on database %I to dashwright_api, dashwright_jobs_worker, dashwright_expressions', current_database())
\gexec
revoke create on schema public from public;
grant usage, create on schema public to dashwright_owner;
grant usage on schema public to dashwright_api, dashwright_jobs_worker, dashwright_expressions;

select format('alter table %s owner to dashwright_owner', c.oid::regclass)
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and c.relowner <> 'dashwright_owner'::regrole
\gexec
select format('alter sequence %s owner to dashwright_owner', c.oid::regclass)
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'S' and c.relowner <> 'dashwright_owner'::regrole
\gexec
select format('alter routine %s owner to dashwright_owner', p.oid::regprocedure)
from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proowner <> 'dashwright_owner'::regrole
\gexec

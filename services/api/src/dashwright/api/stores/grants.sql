-- name: of_account
select action, scope from permission where user_id = $1 and org_id = $2 order by action, scope

-- name: retire
-- Those that are not wanted any more; what stays is not touched, and so not told.
delete from permission
where user_id = $1 and org_id = $2 and (action, scope) not in (select * from unnest($3::text[], $4::text[]))

-- name: insert
insert into permission (user_id, org_id, action, scope, created_by)
select $1, $2, action, scope, $5 from unnest($3::text[], $4::text[]) as wanted(action, scope)
on conflict do nothing

-- name: service_account_org
-- The organization of a service account; no row where there is none.
select org_id from "user" where id = $1 and is_service_account

-- name: lock
-- One change of an account's grants at a time; the account stays until the transaction ends.
select id from "user" where id = $1 for no key update

-- name: hold_membership
-- The membership stays until the transaction ends: with it the grants would have to go.
select user_id from org_user where user_id = $1 and org_id = $2 for key share

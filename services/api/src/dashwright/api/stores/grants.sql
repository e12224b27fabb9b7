-- name: of_account
select action, scope from permission where user_id = $1 and org_id = $2 order by action, scope

-- name: delete_all_except
-- Deletes the grants of an account that are not among the new ones. Unchanged grants are not touched, so that no notification is sent
-- for them.
delete from permission
where user_id = $1 and org_id = $2 and (action, scope) not in (select * from unnest($3::text[], $4::text[]))

-- name: insert
insert into permission (user_id, org_id, action, scope, created_by)
select $1, $2, action, scope, $5 from unnest($3::text[], $4::text[]) as new_grant(action, scope)
on conflict do nothing

-- name: service_account_org
-- The organization of a service account; no row if it does not exist.
select org_id from "user" where id = $1 and is_service_account

-- name: lock
-- Allows one change of an account's grants at a time, and keeps the account until the transaction ends.
select id from "user" where id = $1 for no key update

-- name: lock_membership
-- Keeps the membership until the transaction ends: deleting it would have to delete the grants.
select user_id from org_user where user_id = $1 and org_id = $2 for key share

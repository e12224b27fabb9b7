-- name: of_account
select action, scope from permission where user_id = $1 and org_id = $2 order by action, scope

-- name: retire
delete from permission
where user_id = $1 and org_id = $2 and (action, scope) not in (select * from unnest($3::text[], $4::text[]))

-- name: insert
insert into permission (user_id, org_id, action, scope, created_by)
select $1, $2, action, scope, $5 from unnest($3::text[], $4::text[]) as wanted(action, scope)
on conflict do nothing

-- name: service_account_org
select org_id from "user" where id = $1 and is_service_account

-- name: lock
select id from "user" where id = $1 for no key update

-- name: hold_membership
select user_id from org_user where user_id = $1 and org_id = $2 for key share

-- name: add
insert into star (user_id, org_id, dashboard_uid) values ($1, $2, $3) on conflict do nothing

-- name: remove
delete from star where user_id = $1 and org_id = $2 and dashboard_uid = $3

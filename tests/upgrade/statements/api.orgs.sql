-- name: get
select id, name, address1, address2, city, zip_code, state, country from org where id = $1

-- name: by_name
select id, name, address1, address2, city, zip_code, state, country from org where name = $1

-- name: page
select id, name from org
where ($1 = '' or position(lower($1) in lower(name)) > 0) and ($2 = '' or name = $2)
order by name, id
limit $3 offset $4

-- name: hold
select id from org where id = $1 for key share

-- name: insert
insert into org (name) values ($1) returning id

-- name: rename
update org set name = $2, version = version + 1, updated = now() where id = $1 returning id

-- name: move
update org
set address1 = :address1, address2 = :address2, city = :city, zip_code = :zip_code, state = :state, country = :country,
    version = version + 1, updated = now()
where id = :id
returning id

-- name: delete_service_accounts
delete from "user" where is_service_account and org_id = $1

-- name: delete
delete from org where id = $1 returning id

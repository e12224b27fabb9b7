-- name: add
insert into notification (id, receiver, subject_kind, subject, namespace, name, target, host, secret, event)
select :id, receiver, :subject_kind, :subject, :namespace, :name, target, host, secret, :event
from unnest(:receivers::text[], :targets::text[], :hosts::text[], :secrets::text[]) as receivers (receiver, target, host, secret)

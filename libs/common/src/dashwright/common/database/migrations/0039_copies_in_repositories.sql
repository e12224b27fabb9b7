-- A file with the bytes of another one, which its object comes from, is no error: it is kept here so that it is looked at again once that one goes.
alter table repository_fault add column is_copy boolean not null default false;

-- Files are judged by other rules now, and directories without a resource have no folder: the next sync of each repository looks at everything.
update repository_fault set rules = '' where rules <> '';
update repository_commit set ref = null, edition = edition + 1;

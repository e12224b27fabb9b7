"""The command ``dashwright render``: it draws dashboards of files and of servers."""

"""Files of a repository that clients read and write by path, pure: rules, contents, views."""

"""The REST API of git hosts, for what git itself knows nothing of: pull requests, statuses of commits, hooks.

``addresses`` tells where the API of a repository is, ``client`` asks it, ``refusals`` says what its refusals mean, ``answers`` reads what
it tells, ``host`` is the port.
"""

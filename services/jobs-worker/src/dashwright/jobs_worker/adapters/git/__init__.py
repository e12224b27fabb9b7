"""Git: transport by the git program, objects by pygit2, and no work tree ever.

``command`` runs the program, ``remote`` is an address and what is asked of it, ``mirrors`` keeps bare copies, ``checkout`` reads a commit.
"""

"""Git: transport by the git program, objects by pygit2, and no work tree ever.

``command`` runs the program, ``remote`` is an address and what is asked of it, ``mirrors`` keeps bare copies, ``checkout`` reads a commit.
"""

import pygit2

# What libgit2 has in memory of all packs together, in bytes; by itself it maps them whole. Reading takes as long.
pygit2.settings.mwindow_size = 8 << 20
pygit2.settings.mwindow_mapped_limit = 16 << 20

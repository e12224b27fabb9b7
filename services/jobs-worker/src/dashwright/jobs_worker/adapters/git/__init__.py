"""Git: the git program for transport, pygit2 for objects, and never a work tree.

``command`` runs the program, ``remote`` is an address and its requests, ``mirrors`` keeps mirrors, ``checkout`` reads a commit.
"""

import pygit2

# Bytes of all packs that libgit2 maps into memory. Without a limit it maps whole packs, which is not faster.
pygit2.settings.mwindow_size = 8 << 20
pygit2.settings.mwindow_mapped_limit = 16 << 20

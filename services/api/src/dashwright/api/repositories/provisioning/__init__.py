"""Repositories declared in files: the gateway keeps them equal to what the files of ``PROVISIONING_DIR`` declare."""

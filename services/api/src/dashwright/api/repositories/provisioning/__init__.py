"""Repositories declared in files: the gateway keeps the stored repositories equal to the files of ``PROVISIONING_DIR``."""

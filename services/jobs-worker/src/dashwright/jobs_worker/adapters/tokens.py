"""The tokens that open repositories on git hosts."""

import base64

from dashwright.common.kinds.repository import token_place
from dashwright.common.models.provisioning import GitHostRepositoryConfig
from dashwright.common.secrets import SecretBox
from dashwright.jobs_worker.domain.objects import Repository


def token_of(repository: Repository, githost: GitHostRepositoryConfig, box: SecretBox) -> str:
    """Empty where there is none. Raises SecretUnreadable for one that was sealed with another key."""
    sealed = githost.encrypted_token
    return box.open(base64.b64decode(sealed), token_place(repository.namespace, repository.name)) if sealed else ""

"""The few answers of status 500 that are no failure of ours: existing clients know an unknown object by them."""

from dashwright.api.http.answer import Answer, message_answer


def answered_500(message: str) -> Answer:
    """``{"message"}`` with status 500. Raised as an error it would be logged, and its text hidden."""
    return message_answer(message, 500)

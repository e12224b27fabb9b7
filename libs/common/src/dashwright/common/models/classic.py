"""Request bodies of the classic API, which are parsed as leniently as its clients expect."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class ClassicBody(BaseModel):
    """A JSON object of the classic API. A model declares the properties that are read; their JSON names are in camel case.

    Names are case-insensitive; of two properties with the same name, the last wins. Null counts as missing, and other
    properties are ignored. A value of another JSON type is a validation error (``5.0`` and ``true`` are not integers).
    ``model_fields_set`` contains the properties that were sent.
    """

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True, frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _match_names(cls, value: Any) -> Any:
        """Return the known properties by their JSON names, which the request may write in any case."""
        if not isinstance(value, dict):
            return value
        names_by_lower_case = {(field.alias or name).lower(): field.alias or name for name, field in cls.model_fields.items()}
        properties = {}
        for sent_name, item in value.items():
            name = names_by_lower_case.get(sent_name.lower())
            if name is not None and item is not None:
                properties[name] = item
        return properties


def _check_storable(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value


#: String that the database can store.
Text = Annotated[str, AfterValidator(_check_storable)]

#: Name, login or e-mail.
Name = Annotated[Text, Field(max_length=190)]

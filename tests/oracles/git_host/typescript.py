"""Types of a TypeScript declaration file as JSON Schema, as far as generated clients use them: objects, lists, unions and literals."""

import re
from typing import Any, Final

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_TOKEN: Final = re.compile(r"'[^']*'|[A-Za-z_$][\w$]*|\d+|[{}<>\[\]:;?|,]")
_PRIMITIVES: Final = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "unknown": {},
    "null": {"type": "null"},
    "never": {"not": {}},
}


class Types:
    """The types of a file, which are parsed when they are needed."""

    def __init__(self, source: str) -> None:
        self._source = _COMMENT.sub("", source)
        #: Schemas of the parsed types, by name.
        self.definitions: dict[str, Any] = {}

    def schema(self, name: str) -> Any:
        """Return a reference to the schema of a type. Raises AssertionError if the file has no such type."""
        if name not in self.definitions:
            # Set before the type is parsed, because a type may refer to itself.
            self.definitions[name] = {}
            match = re.search(rf"^type {name} = (.*?^}}|[^\n]*);$", self._source, re.MULTILINE | re.DOTALL)
            assert match is not None, f"the file has no type {name}"
            self.definitions[name] = _Parser(self, match[1]).union()
        return {"$ref": f"#/$defs/{name}"}

    def has_member(self, name: str, path: str) -> bool:
        """Return whether a type has a member, such as ``base.repo.full_name``."""
        schema = self._resolve(self.schema(name))
        for member in path.split("."):
            schema = self._resolve(schema.get("properties", {}).get(member) or schema.get("additionalProperties") or {})
            if not schema:
                return False
        return True

    def _resolve(self, schema: Any) -> Any:
        """Return the schema that a reference leads to. A choice of types becomes its first type, because the second one is null."""
        if "$ref" in schema:
            return self._resolve(self.definitions[schema["$ref"].rpartition("/")[2]])
        return self._resolve(schema["anyOf"][0]) if "anyOf" in schema else schema


def permit_other_members(schema: Any) -> Any:
    """Return a schema that permits members which the types lack."""
    if isinstance(schema, list):
        return [permit_other_members(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: permit_other_members(value) for key, value in schema.items() if key != "additionalProperties" or value is not False}


class _Parser:
    """A parser of one type expression by recursive descent, whose methods remove the tokens that they have read."""

    def __init__(self, types: Types, expression: str) -> None:
        self._types = types
        self._tokens = _TOKEN.findall(expression)

    def union(self) -> Any:
        """Return the schema of one or several types that ``|`` separates."""
        choices = [self._single()]
        while self._accept("|"):
            choices.append(self._single())
        return choices[0] if len(choices) == 1 else {"anyOf": choices}

    def _single(self) -> Any:
        """Return the schema of an object, a literal, an array, a primitive type or a named type."""
        token = self._tokens.pop(0)
        if token == "{":
            return self._object()
        if token.startswith("'"):
            return {"const": token.strip("'")}
        if token == "Array":
            self._expect("<")
            items = self.union()
            self._expect(">")
            return {"type": "array", "items": items}
        return _PRIMITIVES[token] if token in _PRIMITIVES else self._types.schema(token)

    def _object(self) -> Any:
        """Return the schema of an object whose opening brace was read."""
        properties, required, additional_properties = dict[str, Any](), list[str](), False
        while not self._accept("}"):
            if self._accept("["):
                # An index signature: [key: string]: type.
                del self._tokens[:4]
                self._expect(":")
                additional_properties = self.union()
            else:
                name = self._tokens.pop(0).strip("'")
                is_optional = self._accept("?")
                self._expect(":")
                schema = self.union()
                # Go writes null for a missing object.
                properties[name] = {"anyOf": [schema, {"type": "null"}]} if is_optional else schema
                if not is_optional:
                    required.append(name)
            self._expect(";")
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": additional_properties}

    def _accept(self, token: str) -> bool:
        """Skip the next token if it is ``token``, and return whether it was."""
        is_next = self._tokens[0:1] == [token]
        if is_next:
            del self._tokens[0]
        return is_next

    def _expect(self, token: str) -> None:
        """Skip the next token, which must be ``token``."""
        assert self._tokens.pop(0) == token

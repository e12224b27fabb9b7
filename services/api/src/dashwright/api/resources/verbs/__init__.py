"""The verbs of the resource API, a module each: what the API's description says of it, and how it is answered."""

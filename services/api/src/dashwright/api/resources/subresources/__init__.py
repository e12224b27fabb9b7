"""What is served below an object, a module each: what the API's description says of it, and how it is answered."""

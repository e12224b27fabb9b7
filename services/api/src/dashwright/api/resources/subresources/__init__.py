"""What is served below an object, a module each."""

"""What is drawn inside a panel, a module for each kind, and which type of panel is which kind."""

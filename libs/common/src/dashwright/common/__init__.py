"""Code that more than one service of Dashwright needs. It knows no service."""

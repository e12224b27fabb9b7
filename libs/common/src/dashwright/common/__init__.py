"""What more than one service of Dashwright needs, and nothing else. Knows no service."""

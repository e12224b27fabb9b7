"""What `docker compose` runs beside our images, and what writes it: accounts of the broker and the database, settings, base images."""

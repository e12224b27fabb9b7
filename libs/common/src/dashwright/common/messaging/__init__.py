"""Messages between processes, by RabbitMQ or in memory: topology, publishing, consuming and remote procedure calls.

Only this package imports aio_pika. It does not depend on the contents of messages, such as jobs and queries.
"""

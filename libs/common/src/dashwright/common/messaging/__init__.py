"""Messages between processes: topology as data, publishing, consuming and RPC, over RabbitMQ or in memory.

The only package that imports aio_pika. It does not know what a message contains: jobs and queries belong to their
senders.
"""

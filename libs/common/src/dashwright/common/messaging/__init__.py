"""Messages between processes: topology as data, publishing, consuming, calls with answers; over RabbitMQ, and in memory by the same rules.

The only package that imports aio_pika. Knows nothing of what a message says: jobs and queries are the business of those who send them.
"""

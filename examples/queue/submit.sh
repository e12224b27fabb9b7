#!/bin/sh
# Submit a sync job through the queue and print the reply. Needs rabbitmqadmin, version 1, which is part of RabbitMQ's
# management plugin, and an account with the tag management that may configure and read queues named "replies.…".
#
#     examples/queue/submit.sh REPOSITORY [--host=HOST] [--port=PORT] [--vhost=/] --username=USER --password=PASSWORD
set -eu
repository=$1
shift
id=$(python3 -c 'import uuid; print(uuid.uuid4())')
job='{"action": "sync", "repository": "'$repository'", "sync": {"incremental": false}}'
properties='{"delivery_mode": 2, "message_id": "'$id'", "reply_to": "replies.'$id'"}'

# The broker deletes the queue when nothing has used it for a minute.
rabbitmqadmin "$@" declare queue name="replies.$id" arguments='{"x-expires": 60000}' >&2
rabbitmqadmin "$@" publish exchange=dashwright.jobs routing_key=submit.default payload="$job" properties="$properties" >&2
for _ in 1 2 3 4 5 6 7 8 9 10; do
    reply=$(rabbitmqadmin "$@" --format=raw_json get queue="replies.$id" ackmode=ack_requeue_false)
    [ "$reply" = "[]" ] || break
    sleep 1
done
[ "$reply" != "[]" ] || { echo "no reply within 10 seconds: is Dashwright connected to this broker?" >&2; exit 1; }
printf '%s' "$reply" | python3 -c 'import json, sys; print(json.dumps(json.loads(json.load(sys.stdin)[0]["payload"]), indent=2))'

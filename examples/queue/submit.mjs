// Submit a sync job through the queue and print the reply. Needs the package amqplib (npm install in this folder).
//
//     node examples/queue/submit.mjs amqp://USER:PASSWORD@HOST/ REPOSITORY

import { randomUUID } from "node:crypto";
import { connect } from "amqplib";

const [url, repository] = process.argv.slice(2);
const job = { action: "sync", repository, sync: { incremental: false } };
const replyTo = "amq.rabbitmq.reply-to"; // RabbitMQ's direct reply-to: no queue has to be declared.
const connection = await connect(url);
const channel = await connection.createConfirmChannel();
const reply = new Promise((resolve, reject) => {
  channel.consume(replyTo, resolve, { noAck: true });
  channel.on("return", () => reject(new Error("no queue for submit.default: is Dashwright connected to this broker?")));
  setTimeout(() => reject(new Error("no reply within 30 seconds")), 30_000).unref();
});
const options = { persistent: true, mandatory: true, messageId: randomUUID(), replyTo };
channel.publish("dashwright.jobs", "submit.default", Buffer.from(JSON.stringify(job)), options);
console.log(JSON.stringify(JSON.parse((await reply).content), null, 2));
await connection.close();

// Parse an AsyncAPI document with the parser of the AsyncAPI initiative. Print its operations and everything that it reports.

import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
const titles = (messages) => messages.all().map((message) => message.title());
const operations = (document?.operations().all() ?? []).map((operation) => ({
  id: operation.id(),
  action: operation.action(),
  messages: titles(operation.messages()),
  replies: operation.reply() ? titles(operation.reply().messages()) : [],
}));
const reports = diagnostics.map(({ code, severity, path, message }) => ({ code, severity, path: path.join("."), message }));
console.log(JSON.stringify({ operations, reports }));

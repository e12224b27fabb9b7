// Grafana's own library, and conversions of the values that JSON lacks: numbers that are not finite, and undefined.

// The library expects a browser. Everything that it reads of the document is an object that accepts any use.
const anything = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  set: () => true,
  apply: () => anything,
  construct: () => anything,
});
globalThis.document = anything;
globalThis.navigator = { language: "en-US", languages: ["en-US"] };
globalThis.window = { document, history: {}, location: { href: "http://localhost/" }, addEventListener() {}, matchMedia: () => anything };
console.log = console.info = console.warn = console.error = () => {};

const { readFileSync } = require("node:fs");
const data = require("@grafana/data");

const SPECIAL = { undefined: undefined, NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const read = (value) => (value !== null && typeof value === "object" && "special" in value ? SPECIAL[value.special] : value);
const written = (value) => {
  if (Array.isArray(value)) return value.map(written);
  const isSpecial = value === undefined || (typeof value === "number" && !Number.isFinite(value));
  return isSpecial ? { special: String(value) } : value;
};

const toFrame = ({ fields, ...frame }) => ({
  ...frame,
  length: fields[0]?.values.length ?? 0,
  fields: fields.map((field) => ({ ...field, values: field.values.map(read) })),
});

// The argument of a script is a file with JSON. Its result is printed.
const input = () => JSON.parse(readFileSync(process.argv[2], "utf8"));
const print = (result) => process.stdout.write(JSON.stringify(result), () => process.exit(0));

const parts = ({ text, prefix, suffix }) => [prefix ?? "", text, suffix ?? ""];

module.exports = { data, read, written, toFrame, input, print, parts, theme: data.createTheme({ colors: { mode: "dark" } }) };

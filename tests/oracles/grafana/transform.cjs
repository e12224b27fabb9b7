// Apply transformations with Grafana's own library. The argument is a file with a list of cases, each with frames and transformations.
// Print a list with the frames of each case, or with the error. Numbers that JSON lacks, and undefined, are objects with one member.

// The library expects a browser. Everything that it reads of the document is an object that accepts any use.
const anything = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  set: () => true,
  apply: () => anything,
  construct: () => anything,
});
globalThis.document = anything;
globalThis.window = { document, history: {}, location: { href: "http://localhost/" }, addEventListener() {}, matchMedia: () => anything };
console.log = console.info = console.warn = console.error = () => {};

const { readFileSync } = require("node:fs");
const { getFieldDisplayName, standardTransformers, standardTransformersRegistry, transformDataFrame } = require("@grafana/data");
const { lastValueFrom } = require("rxjs");

const transformers = new Map(Object.values(standardTransformers).map((transformation) => [transformation.id, transformation]));
standardTransformersRegistry.setInit(() =>
  [...transformers.values()].map((transformation) => ({ ...transformation, transformation, editor: () => null })),
);

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
const fromFrame = (frame, frames) => ({
  name: frame.name ?? "",
  refId: frame.refId ?? "",
  fields: frame.fields.map((field) => ({
    name: field.name ?? "",
    displayName: getFieldDisplayName(field, frame, frames),
    type: field.type,
    labels: field.labels,
    config: field.config ?? {},
    values: Array.from(field.values, written),
  })),
});

const transformed = async ({ frames, transformations }) => {
  try {
    const result = await lastValueFrom(transformDataFrame(transformations, frames.map(toFrame)));
    return { frames: result.map((frame) => fromFrame(frame, result)) };
  } catch (error) {
    return { error: String(error) };
  }
};

(async () => {
  const results = [];
  for (const item of JSON.parse(readFileSync(process.argv[2], "utf8"))) results.push(await transformed(item));
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
})();

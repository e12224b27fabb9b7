// Format and display values with Grafana's own library. The argument is a file with the current time and a list of cases.
// Print a list with the parts of the text of each value. Numbers that JSON lacks, and undefined, are objects with one member.

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
const { createTheme, getDisplayProcessor, getValueFormat, getValueFormats, reduceField } = require("@grafana/data");

const SPECIAL = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const read = (value) => (value !== null && typeof value === "object" && "special" in value ? SPECIAL[value.special] : value);
const written = (value) => {
  if (Array.isArray(value)) return value.map(written);
  const isSpecial = value === undefined || (typeof value === "number" && !Number.isFinite(value));
  return isSpecial ? { special: String(value) } : value;
};
const parts = ({ text, prefix, suffix }) => [prefix ?? "", text, suffix ?? ""];
const theme = createTheme({ colors: { mode: "dark" } });

const { now, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
Date.now = () => now;

const KINDS = {
  units: () => getValueFormats().flatMap((category) => category.submenu.map((format) => format.value)),
  format: ({ unit, value, decimals, zone, withMilliseconds }) => parts(getValueFormat(unit)(value, decimals, null, zone, withMilliseconds)),
  display: ({ field, values }) => {
    const [first] = field.config.thresholds?.steps ?? [];
    if (first) first.value = -Infinity;
    const read_values = values.map(read);
    const display = getDisplayProcessor({ field: { name: "x", ...field, values: read_values }, theme, timeZone: "utc" });
    return read_values.map((value) => {
      const shown = display(value);
      return { parts: parts(shown), color: shown.color };
    });
  },
  reduce: ({ type, values, reducers }) => {
    const reduced = (id) => reduceField({ field: { name: "x", type, config: {}, values: values.map(read) }, reducers: [id] })[id];
    return reducers.map((id) => written(reduced(id)));
  },
};

process.stdout.write(JSON.stringify(cases.map((item) => KINDS[item.kind](item))), () => process.exit(0));

// Format and display values with Grafana's own library. The argument is a file with the current time and a list of cases.
// Print a list with the parts of the text of each value.

const { data, read, written, input, print, parts, theme } = require("./library.cjs");
const { getDisplayProcessor, getValueFormat, getValueFormats, reduceField } = data;

const { now, cases } = input();
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

print(cases.map((item) => KINDS[item.kind](item)));

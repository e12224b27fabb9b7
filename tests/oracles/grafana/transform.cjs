// Apply transformations with Grafana's own library. The argument is a file with a list of cases, each with frames and transformations.
// Print a list with the frames of each case, or with the error.

const { data, written, toFrame, input, print } = require("./library.cjs");
const { transformed } = require("./pipeline.cjs");
const { getFieldDisplayName } = data;

// Nested tables are frames in a list.
const isTable = (value) => Array.isArray(value) && value.every((item) => item?.fields);
const table = (frame) => frame.fields.map(({ name, type, values }) => [name, type, Array.from(values, cell)]);
const cell = (value) => (isTable(value) ? value.map(table) : written(value));

const fromFrame = (frame, frames) => ({
  name: frame.name ?? "",
  refId: frame.refId ?? "",
  fields: frame.fields.map((field) => ({
    name: field.name ?? "",
    displayName: getFieldDisplayName(field, frame, frames),
    type: field.type,
    labels: field.labels,
    config: field.config ?? {},
    values: Array.from(field.values, cell),
  })),
});

const result = async ({ frames, transformations }) => {
  try {
    const found = await transformed(frames.map(toFrame), transformations);
    return { frames: found.map((frame) => fromFrame(frame, found)) };
  } catch (error) {
    return { error: String(error) };
  }
};

(async () => {
  const results = [];
  for (const item of input()) results.push(await result(item));
  print(results);
})();

// Prepare the columns of panels with Grafana's own library: transformations, names, field configurations and the display of values.
// The argument is a file with the current time and a list of cases. Print a list with the columns of each case, or with the error.

const { data, toFrame, input, print, parts, theme } = require("./library.cjs");
const { transformed } = require("./pipeline.cjs");
const { FieldConfigOptionsRegistry, FieldType, applyFieldOverrides, getFieldDisplayName, getFieldDisplayValues, getFrameDisplayName } = data;

const { now, customProperties, cases } = input();
Date.now = () => now;

const always = () => true;
const isNumber = (field) => field.type === FieldType.number;
const same = (value) => value;
// The properties that the application registers: how each is read, and the columns to which its default applies.
const PROPERTIES = {
  unit: [same, always],
  fieldMinMax: [same, isNumber],
  min: [data.numberOverrideProcessor, isNumber],
  max: [data.numberOverrideProcessor, isNumber],
  decimals: [data.numberOverrideProcessor, isNumber],
  displayName: [data.displayNameOverrideProcessor, always],
  color: [same, always],
  noValue: [data.displayNameOverrideProcessor, always],
  links: [same, always],
  actions: [same, always],
  mappings: [same, (field) => field.type !== FieldType.time],
  thresholds: [same, always],
  filterable: [same, always],
};
const registry = new FieldConfigOptionsRegistry(() => [
  ...customProperties.map((path) => ({ id: `custom.${path}`, path, isCustom: true, process: same, shouldApply: always })),
  ...Object.entries(PROPERTIES).map(([id, [process, shouldApply]]) => ({ id, path: id, process, shouldApply })),
]);

// The application restores the start of the first step, which JSON lacks.
const restore = (thresholds) => {
  const [first] = thresholds?.steps ?? [];
  if (first) first.value = -Infinity;
};

const columnOf = (field, frame, frames) => ({
  name: getFieldDisplayName(field, frame, frames),
  type: field.type,
  custom: field.config.custom,
  links: field.config.links,
  shown: Array.from(field.values, (value) => {
    const shown = field.display(value);
    return { parts: parts(shown), color: shown.color, percent: shown.percent };
  }),
});

const configured = async ({ frames, transformations, fieldConfig }) => {
  restore(fieldConfig.defaults.thresholds);
  for (const { properties } of fieldConfig.overrides)
    for (const { id, value } of properties) if (id === "thresholds") restore(value);
  const options = { fieldConfig, fieldConfigRegistry: registry, replaceVariables: same, theme, timeZone: "utc" };
  return applyFieldOverrides({ ...options, data: await transformed(frames.map(toFrame), transformations) });
};

const KINDS = {
  names: ({ frames }) => {
    const read = frames.map(toFrame);
    const columns = read.map((frame) => frame.fields.map((field) => getFieldDisplayName(field, frame, read)));
    const alone = frames.map(toFrame).map((frame) => [getFrameDisplayName(frame), getFrameDisplayName(frame, 0)]);
    return { columns, frames: alone };
  },
  columns: async (item) => {
    const found = await configured(item);
    return found.map((frame) => frame.fields.map((field) => columnOf(field, frame, found)));
  },
  items: async (item) => {
    const { fieldConfig, reduceOptions } = item;
    const options = { fieldConfig, reduceOptions, replaceVariables: same, theme, timeZone: "utc", percentChange: true };
    return getFieldDisplayValues({ ...options, data: await configured(item) }).map(({ display }) => ({
      title: display.title ?? "",
      parts: parts(display),
      color: display.color,
      percentChange: display.percentChange,
    }));
  },
};

(async () => {
  const results = [];
  for (const item of cases) {
    try {
      results.push(await KINDS[item.kind](item));
    } catch (error) {
      results.push({ error: String(error) });
    }
  }
  print(results);
})();

// Transformations of Grafana's own library.

const { data } = require("./library.cjs");
const { standardTransformers, standardTransformersRegistry, transformDataFrame } = data;
const { lastValueFrom } = require("rxjs");

const transformers = new Map(Object.values(standardTransformers).map((transformation) => [transformation.id, transformation]));
standardTransformersRegistry.setInit(() =>
  [...transformers.values()].map((transformation) => ({ ...transformation, transformation, editor: () => null })),
);

module.exports = { transformed: (frames, transformations) => lastValueFrom(transformDataFrame(transformations, frames)) };

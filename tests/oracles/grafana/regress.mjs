// Fit curves with the libraries that Grafana's transformation "regression" uses. The argument is a file with a list of cases.
// Print the values of each curve at the positions of its case.
import { readFileSync } from "node:fs";
import { PolynomialRegression } from "ml-regression-polynomial";
import { SimpleLinearRegression } from "ml-regression-simple-linear";

const values = ({ x, y, degree, positions }) => {
  const curve = degree === null ? new SimpleLinearRegression(x, y) : new PolynomialRegression(x, y, degree);
  return positions.map((position) => curve.predict(position));
};
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(process.argv[2], "utf8")).map(values)));

// Search texts with JavaScript's regular expressions. The argument is a file with a list of patterns, their flags and texts.
// Print the position, the text and the groups of each match of each text, or null for an invalid pattern.
import { readFileSync } from "node:fs";

const find = ({ pattern, flags, texts }) => {
  let expression;
  try {
    expression = new RegExp(pattern, flags);
  } catch {
    return null;
  }
  const row = (match) => [match.index, match[0], ...match.slice(1).map((group) => group ?? null)];
  return texts.map((text) => [...text.matchAll(expression)].map(row));
};
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(process.argv[2], "utf8")).map(find)));

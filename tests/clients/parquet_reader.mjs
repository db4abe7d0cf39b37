/** Print the types and rows that hyparquet finds in Parquet files, as JSON; a bigint is the text `int:…`. */
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const kind = (value) => (value instanceof Date ? "Date" : typeof value);
const plain = (name, value) => (typeof value === "bigint" ? `int:${value}` : value);
const found = await Promise.all(
  process.argv.slice(2).map(async (path) => {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
    const types = {};
    for (const row of rows)
      for (const [name, value] of Object.entries(row)) if (value !== null && value !== undefined) types[name] = kind(value);
    return { hyparquet: { types, rows } };
  }),
);
console.log(JSON.stringify(found, plain));

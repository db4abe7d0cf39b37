/** Print the columns that hyparquet finds in a Parquet file, as JSON. */
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const rows = await parquetReadObjects({ file: await asyncBufferFromFile(process.argv[2]) });
console.log(JSON.stringify(rows.map(({ data, metadata, position, at }) => ({ data, metadata, position: Number(position), at }))));

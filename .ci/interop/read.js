// Reads every published Parquet file of a table with hyparquet and prints what
// compare.py compares. Input on stdin: [{name, columns: [{name, type}], files}].
import { readFileSync } from 'node:fs'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { crc32 } from 'node:zlib'

// number is what a value adds to its column's sum; texts by their CRC-32.
function number(value, type) {
  if (type === 'VARCHAR') return BigInt(crc32(Buffer.from(value, 'utf8')))
  if (type === 'BOOLEAN') return value ? 1n : 0n
  if (type === 'DATE') return BigInt(value.getTime() / 86400000)
  if (type.startsWith('TIMESTAMP')) return value
  if (type.startsWith('DECIMAL')) return BigInt(Math.round(value * 1e6)) // hyparquet gives decimals as floats
  return BigInt(value)
}

// Instants stay whole numbers: a Date of JavaScript has no microseconds.
const parsers = { timestampFromMicroseconds: micros => micros }

// typeOf says in DuckDB's words what the file declares.
function typeOf({ type, logical_type: logical, converted_type: converted, precision, scale }) {
  if (converted === 'UTF8' || logical?.type === 'STRING') return 'VARCHAR'
  if (logical?.type === 'DECIMAL' || converted === 'DECIMAL') return `DECIMAL(${precision},${scale})`
  if (converted === 'DATE' || logical?.type === 'DATE') return 'DATE'
  if (logical?.type === 'TIMESTAMP') return logical.isAdjustedToUTC && logical.unit === 'MICROS' ? 'TIMESTAMP WITH TIME ZONE' : JSON.stringify(logical)
  return { INT64: 'BIGINT', BOOLEAN: 'BOOLEAN' }[type] ?? type
}

const answer = {}
for (const table of JSON.parse(readFileSync(0, 'utf8'))) {
  const columns = Object.fromEntries(table.columns.map(c => [c.name, { types: new Set(), nulls: 0, sum: 0n }]))
  let rows = 0
  for (const path of table.files) {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    for (const element of metadata.schema.slice(1)) {
      columns[element.name].types.add(typeOf(element) + (element.repetition_type === 'OPTIONAL' ? '' : ' NOT NULL'))
    }
    for (const row of await parquetReadObjects({ file, metadata, compressors, parsers })) {
      rows++
      for (const { name, type } of table.columns) {
        if (row[name] === null || row[name] === undefined) columns[name].nulls++
        else columns[name].sum += number(row[name], type)
      }
    }
  }
  answer[table.name] = { rows, columns: Object.fromEntries(Object.entries(columns).map(([name, c]) => [name, { types: [...c.types], nulls: c.nulls, sum: String(c.sum) }])) }
}
console.log(JSON.stringify(answer))

/** Points and traces of a large sweep, from tables of text to the lists that the views read. */

type Fields = Record<string, unknown>;

/** The document with its packed points and traces before those that stand in lists. */
export function unpacked(document: Fields): Fields {
  const { packed, ...plain } = document;
  if (packed === undefined) {
    return plain;
  }
  const tables = fieldsOf(packed);
  const values = listOf(tables.values);
  const [points, traces, rows, details] = ["points", "traces", "rows", "details"].map((name) =>
    recordsOf(fieldsOf(tables[name] ?? {}), values),
  ) as [Fields[], Fields[], Fields[], Fields[]];
  const filled = traces.map((entry) => ({
    ...entry,
    trace: filledTrace(fieldsOf(entry.trace), rows, details),
  }));
  return {
    ...plain,
    points: [...points, ...listOf(plain.points ?? [])],
    traces: [...filled, ...listOf(plain.traces ?? [])],
  };
}

/** A trace with the rows and details that it counts: the next ones. */
function filledTrace(trace: Fields, rows: Fields[], details: Fields[]): Fields {
  const told = taken(details, trace.details).map(({ span, facts }) => [span, facts] as const);
  const waterfall = trace.waterfall as Fields | null;
  return {
    ...trace,
    details: Object.fromEntries(told),
    waterfall: waterfall && { ...waterfall, rows: taken(rows, waterfall.rows) },
  };
}

function taken(records: Fields[], count: unknown): Fields[] {
  if (typeof count !== "number" || !(count >= 0 && count <= records.length)) {
    throw new RangeError("a packed trace counts what is not there");
  }
  return records.splice(0, count);
}

function recordsOf(table: Fields, values: readonly unknown[]): Fields[] {
  const columns = Object.entries(table).map(([path, text]) => ({
    path: path.split("/"),
    cells: String(text).split(" "),
  }));
  const count = columns[0]?.cells.length ?? 0;
  // Without a prototype, so that no path of a hostile document leads to that of every object.
  const records = Array.from({ length: count }, () => Object.create(null) as Fields);
  for (const { path, cells } of columns) {
    if (cells.length !== count) {
      throw new RangeError("packed columns have unequal lengths");
    }
    for (const [at, record] of records.entries()) {
      const cell = cells[at] as string;
      if (cell !== "") {
        put(record, path, cell.startsWith("#") ? values[Number(cell.slice(1))] : JSON.parse(cell));
      }
    }
  }
  return records;
}

function put(record: Fields, path: readonly string[], value: unknown): void {
  let inner = record;
  for (const key of path.slice(0, -1)) {
    inner[key] ??= Object.create(null);
    inner = fieldsOf(inner[key]);
  }
  inner[path.at(-1) as string] = value;
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("a packed table is no table");
  }
  return value as Fields;
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) {
    throw new TypeError("a list is no list");
  }
  return value;
}

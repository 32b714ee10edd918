"""Writes tables with pyarrow, pandas, fastparquet, Polars and DuckDB, each beside the same table as CSV, for
tests/ml/test_formats.c.

    make_files.py FOLDER

A file NAME.EXT is to be compared with SAME.csv, where SAME is NAME up to its first "--". Dates and times stand as seconds
since 1970 in the CSV. Columns whose names begin with "f32" or "f16" have floats of that width: they are equal when they are
equal as floats.
"""
import datetime as dt
import decimal
import itertools
import json
import random
import sys
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

OUT = sys.argv[1]
ROWS = 3000
UTC = dt.timezone.utc
rng = random.Random(7)


def path(name):
    return f"{OUT}/{name}"


def some(make, nulls=0.1, rows=ROWS):
    """A column: make(row), or None now and then."""
    return [None if nulls and rng.random() < nulls else make(i) for i in range(rows)]


def words(i):
    return rng.choice(["red", "green", "blue", "Grün", "a,b", 'say "hi"', "two\nlines", "日本語", "x" * 40])


D = decimal.Decimal
EPOCH = dt.datetime(1970, 1, 1)


def stamp(i):
    return EPOCH + dt.timedelta(seconds=rng.randrange(-(10**9), 2 * 10**9), microseconds=rng.randrange(10**6))


def whole(i):
    return stamp(i).replace(microsecond=0)


# name -> (pyarrow type, values)
COLUMNS = {
    "i8": (pa.int8(), some(lambda i: rng.randrange(-128, 128))),
    "i16": (pa.int16(), some(lambda i: rng.randrange(-(2**15), 2**15))),
    "i32": (pa.int32(), some(lambda i: rng.randrange(-(2**31), 2**31))),
    "i64": (pa.int64(), some(lambda i: rng.randrange(-(2**53), 2**53))),
    "i64_sorted": (pa.int64(), some(lambda i: i * 3, nulls=0)),
    "u8": (pa.uint8(), some(lambda i: rng.randrange(0, 256))),
    "u16": (pa.uint16(), some(lambda i: rng.randrange(0, 2**16))),
    "u32": (pa.uint32(), some(lambda i: rng.randrange(2**31, 2**32))),
    "u64": (pa.uint64(), some(lambda i: rng.randrange(2**63, 2**64))),
    "f32": (pa.float32(), some(lambda i: float(np.float32(rng.gauss(0, 1))))),
    "f64": (pa.float64(), some(lambda i: rng.gauss(0, 1e3))),
    "f64_few": (pa.float64(), some(lambda i: rng.randrange(9) / 4)),
    "f64_whole": (pa.float64(), some(lambda i: rng.randrange(9), nulls=0)),
    "b": (pa.bool_(), some(lambda i: rng.random() < 0.3)),
    "b_all": (pa.bool_(), some(lambda i: i % 7 == 0, nulls=0)),
    "s": (pa.string(), some(words)),
    "s_long": (pa.large_string(), some(lambda i: "key" + str(rng.randrange(500)) + "/" + "y" * rng.randrange(20))),
    "s_unique": (pa.string(), some(lambda i: f"row {i:06d}", nulls=0)),
    "s_number": (pa.string(), some(lambda i: str(rng.randrange(1000)))),
    "s_late": (pa.string(), some(lambda i: str(i) if i < 2500 else "late")),
    "s_na": (pa.string(), some(lambda i: rng.choice(["NA", "", "u", "v"]))),
    "cat": (pa.dictionary(pa.int8(), pa.string()), some(lambda i: rng.choice("abc"))),
    "dec": (pa.decimal128(9, 2), some(lambda i: D(rng.randrange(-(10**8), 10**8)).scaleb(-2))),
    "dec18": (pa.decimal128(18, 4), some(lambda i: D(rng.randrange(-(10**17), 10**17)).scaleb(-4))),
    "dec38": (pa.decimal128(38, 10), some(lambda i: D(rng.randrange(-(10**36), 10**36)).scaleb(-10))),
    "dec76": (pa.decimal256(60, 20), some(lambda i: D(rng.randrange(-(10**50), 10**50)).scaleb(-20))),
    "d32": (pa.date32(), some(lambda i: stamp(i).date())),
    "d64": (pa.date64(), some(lambda i: stamp(i).date())),
    "t32": (pa.time32("ms"), some(lambda i: whole(i).time())),
    "t64": (pa.time64("us"), some(lambda i: stamp(i).time())),
    "ts_s": (pa.timestamp("s"), some(whole)),
    "ts_ms": (pa.timestamp("ms"), some(whole)),
    "ts_us": (pa.timestamp("us"), some(stamp)),
    "ts_ns": (pa.timestamp("ns"), some(stamp)),
    "ts_zone": (pa.timestamp("us", "Europe/Berlin"), some(lambda i: stamp(i).replace(tzinfo=UTC))),
    "bin": (pa.binary(), some(lambda i: rng.choice([b"raw", b"bytes"]))),
    "null": (pa.string(), [None] * ROWS),
}
KIND = {"f32": "f32", "f16": "f16"}


def cell(v):
    """A value as a cell of CSV."""
    if v is None:
        return ""
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, dt.datetime):
        v = v.replace(tzinfo=UTC)
        us = (v - EPOCH.replace(tzinfo=UTC)) // dt.timedelta(microseconds=1)
        return cell(D(us).scaleb(-6))
    if isinstance(v, dt.date):
        return str((v - dt.date(1970, 1, 1)).days * 86400)
    if isinstance(v, dt.time):
        return cell(D((v.hour * 3600 + v.minute * 60 + v.second) * 10**6 + v.microsecond).scaleb(-6))
    if isinstance(v, dt.timedelta):
        return cell(D(v // dt.timedelta(microseconds=1)).scaleb(-6))
    if isinstance(v, D):
        return format(v, "f")
    if isinstance(v, bytes):
        v = v.decode()
    if isinstance(v, float):
        return repr(v)
    if isinstance(v, str):
        return '"' + v.replace('"', '""') + '"' if any(c in v for c in ',"\n') else v
    return str(v)


def csv(name, columns):
    with open(path(name + ".csv"), "w", encoding="utf-8", newline="") as f:
        f.write(",".join(columns) + "\n")
        for row in zip(*columns.values()):
            f.write(",".join(map(cell, row)) + "\n")


def values(names):
    return {n: COLUMNS[n][1] for n in names}


def table(names):
    return pa.table({n: pa.array(COLUMNS[n][1], COLUMNS[n][0]) for n in names})


ALL = list(COLUMNS)


def pyarrow_parquet():
    t = table(ALL)
    csv("all", values(ALL))
    for codec, page, dictionary in itertools.product(
            ["none", "snappy", "gzip", "zstd", "lz4"], ["1.0", "2.0"], [True, False]):
        pq.write_table(t, path(f"all--pa-{codec}-v{page[0]}-{dictionary}.parquet"), compression=codec,
                       data_page_version=page, use_dictionary=dictionary)
    pq.write_table(t, path("all--pa-small.parquet"), row_group_size=701, data_page_size=512, write_batch_size=50,
                   dictionary_pagesize_limit=300, write_page_checksum=True)
    pq.write_table(t, path("all--pa-int96.parquet"), use_deprecated_int96_timestamps=True)
    pq.write_table(t, path("all--pa-old.parquet"), version="1.0", coerce_timestamps="us",
                   allow_truncated_timestamps=True)
    pq.write_table(t, path("all--pa-decimal.parquet"), store_decimal_as_integer=True)
    encodings = {
        "delta": {n: "DELTA_BINARY_PACKED" for n in ["i8", "i16", "i32", "i64", "i64_sorted", "u32", "u64", "d32"]},
        "length": {n: "DELTA_LENGTH_BYTE_ARRAY" for n in ["s", "s_long", "s_unique", "s_na", "bin"]},
        "shared": {n: "DELTA_BYTE_ARRAY" for n in ["s", "s_long", "s_unique", "s_na", "dec38", "null"]},
        "split": {n: "BYTE_STREAM_SPLIT" for n in ["i32", "i64", "f32", "f64", "dec38"]},
        "rle": {n: "RLE" for n in ["b", "b_all"]},
    }
    for name, encoding in encodings.items():
        for page in ["1.0", "2.0"]:
            pq.write_table(t.select(list(encoding)), path(f"{name}--pa-v{page[0]}.parquet"), use_dictionary=False,
                           column_encoding=encoding, data_page_version=page, data_page_size=3000, row_group_size=1700)
        csv(name, values(list(encoding)))


def pyarrow_arrow():
    t = table(ALL)
    for codec in ["lz4", "zstd", "uncompressed"]:
        feather.write_feather(t, path(f"all--feather-{codec}.feather"), compression=codec)
        feather.write_feather(t, path(f"all--feather-small-{codec}.feather"), compression=codec, chunksize=777)
    for codec in [None, "lz4", "zstd"]:
        options = ipc.IpcWriteOptions(compression=codec)
        with ipc.new_stream(path(f"all--stream-{codec}.arrows"), t.schema, options=options) as w:
            w.write_table(t, max_chunksize=1000)
    options = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    parts = [pa.array([w + str(k) for w in "abc"] * 10).dictionary_encode() for k in range(4)]
    grown, seen = [], []
    for p in parts:
        seen += [v for v in p.dictionary.to_pylist() if v not in seen]
        grown.append(pa.DictionaryArray.from_arrays(
            pa.array([seen.index(v) for v in p.to_pylist()], pa.int32()), pa.array(seen)))
    for name, opts, arrays in [("delta", options, grown), ("replace", None, parts)]:
        with ipc.new_stream(path(f"dict--{name}.arrows"), pa.schema([("d", arrays[0].type)]), options=opts) as w:
            for a in arrays:
                w.write_batch(pa.record_batch([a], names=["d"]))
    csv("dict", {"d": [v for p in parts for v in p.to_pylist()]})
    more = pa.table({
        "f16": pa.array(np.array([0, 1.5, -2.25, 65504, 6e-8], np.float16)),
        "view": pa.array(["short", None, "a text of more than twelve bytes", "", "x"], pa.string_view()),
        "fixed": pa.array([b"ab", b"cd", None, b"ef", b"gh"], pa.binary(2)),
        "nothing": pa.nulls(5),
        "span": pa.array([1500, -1, None, 0, 7], pa.duration("ms")),
        "cat_i": pa.array([10, 20, None, 10, 30], pa.int64()).dictionary_encode(),
        "cat_b": pa.array([True, False, None, True, True]).dictionary_encode(),
        "dec32": pa.array([D("1.5"), D("-2.25"), None, D("0"), D("7")], pa.decimal32(7, 2)),
        "dec64": pa.array([D("1.5"), D("-2.25"), None, D("0"), D("7")], pa.decimal64(15, 2)),
    })
    ipc_cells = {n: [v if not isinstance(v, np.float16) else float(v) for v in more[n].to_pylist()]
                 for n in more.column_names}
    csv("more", ipc_cells)
    feather.write_feather(more, path("more--feather.feather"))
    with ipc.new_file(path("more--file.arrow"), more.schema) as w:
        w.write_table(more, max_chunksize=2)
    few = more.select(["f16", "fixed", "span"])
    csv("few", {"f16": ipc_cells["f16"], "fixed": ipc_cells["fixed"], "span": [1500, -1, None, 0, 7]})
    pq.write_table(few, path("few--pa.parquet"))
    ids = [uuid.UUID(int=rng.getrandbits(128)) for _ in range(50)]
    csv("uuid", {"id": [str(i) for i in ids]})
    pq.write_table(pa.table({"id": pa.array([i.bytes for i in ids], pa.uuid())}), path("uuid--pa.parquet"))


def pandas_files():
    names = ["i64_sorted", "f64", "f64_few", "b_all", "s", "s_unique", "s_number", "ts_us"]
    df = pd.DataFrame({n: COLUMNS[n][1] for n in names})
    df["cat"] = pd.Categorical(COLUMNS["cat"][1])
    df["cat_i"] = pd.Categorical([i % 5 * 10 for i in range(ROWS)])
    df["Int"] = pd.array([None if i % 9 == 0 else i for i in range(ROWS)], dtype="Int64")
    cells = values(names) | {"cat": COLUMNS["cat"][1], "cat_i": [i % 5 * 10 for i in range(ROWS)],
                             "Int": [None if i % 9 == 0 else i for i in range(ROWS)]}
    csv("pandas", cells)
    df.to_parquet(path("pandas--pyarrow.parquet"))
    df.to_parquet(path("pandas--gzip.parquet"), compression="gzip")
    df.to_feather(path("pandas--feather.feather"))
    plain = df.drop(columns=["Int"])
    csv("fast", {n: v for n, v in cells.items() if n != "Int"})
    for codec in ["SNAPPY", "GZIP", "ZSTD", None]:
        plain.to_parquet(path(f"fast--{codec}.parquet"), engine="fastparquet", compression=codec)
    names = ["i64_sorted", "f64", "s", "b_all"]
    csv("pandas_lines", values(names) | {"f64": [None if v is None else round(v, 6) for v in COLUMNS["f64"][1]]})
    small = df[names].round(6)
    small.to_json(path("pandas_lines--pandas.jsonl"), orient="records", lines=True, double_precision=15)
    small.to_json(path("pandas_lines--array.json"), orient="records", indent=2, double_precision=15)
    for end in ["gz", "xz", "zst"]:
        small.to_json(path(f"pandas_lines--pandas.jsonl.{end}"), orient="records", lines=True, double_precision=15)


def polars_files():
    names = [n for n in ALL if n not in ("d64", "dec76", "t32", "ts_s")]
    df = pl.from_arrow(table(names))
    csv("polars", values(names))
    for codec in ["zstd", "snappy", "gzip", "uncompressed", "lz4"]:
        df.write_parquet(path(f"polars--{codec}.parquet"), compression=codec, row_group_size=1300)
    for codec in ["uncompressed", "lz4", "zstd"]:
        df.write_ipc(path(f"polars--ipc-{codec}.arrow"), compression=codec)
        df.write_ipc_stream(path(f"polars--stream-{codec}.arrows"), compression=codec)
    names = ["i64_sorted", "f64", "s", "b_all"]
    csv("lines", values(names))
    pl.from_arrow(table(names)).write_ndjson(path("lines--polars.ndjson"))


def duckdb_files():
    names = [n for n in ALL if n not in ("d64", "dec76", "bin", "cat")]
    t = table(names)
    csv("duckdb", values(names))
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.register("t", t)
    for codec in ["snappy", "zstd", "gzip", "uncompressed", "lz4_raw"]:
        for version in ["V1", "V2"]:
            con.execute(f"COPY t TO '{path(f'duckdb--{codec}-{version}.parquet')}' (FORMAT parquet, COMPRESSION "
                        f"{codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
    extra = con.sql("SELECT (i * 7 % 100)::HUGEINT AS huge, uuid() AS id, ('e' || i % 3)::ENUM('e0','e1','e2') AS e "
                    "FROM range(500) r(i)").to_arrow_table()
    con.register("extra", extra)
    con.execute(f"COPY extra TO '{path('extra--duckdb.parquet')}' (FORMAT parquet)")
    back = con.execute(f"SELECT huge, id::VARCHAR, e::VARCHAR FROM '{path('extra--duckdb.parquet')}'").fetchall()
    csv("extra", dict(zip(["huge", "id", "e"], map(list, zip(*back)))))
    names = ["i64_sorted", "f64", "s", "b_all"]
    con.register("few", table(names))
    con.execute(f"COPY few TO '{path('lines--duckdb.jsonl')}' (FORMAT json)")


def dates():
    names = ["d32", "d64", "t32", "t64", "ts_s", "ts_ms", "ts_us", "ts_zone"]
    cells = {n: [None if v is None else v.isoformat() for v in COLUMNS[n][1]] for n in names}
    csv("iso", cells)
    pq.write_table(table(names), path("iso--pa.parquet"))
    feather.write_feather(table(names), path("iso--pa.feather"))
    pq.write_table(pa.table(cells), path("iso--texts.parquet"))


def refused():
    t = pa.table({"a": [1, 2], "tags": [["x"], ["y", "z"]], "where": [{"lat": 1.0}, {"lat": 2.0}],
                  "b": pa.array(["p", "q"]).dictionary_encode()})
    pq.write_table(t, path("nested--pa.parquet.refused"))
    feather.write_feather(t, path("nested--pa.feather.refused"))
    pl.from_arrow(t).write_ipc(path("nested--polars.arrow.refused"))
    csv("nested", {"a": [1, 2], "b": ["p", "q"]})
    pq.write_table(pa.table({"a": [1, 2]}), path("brotli--pa.parquet.refused"), compression="brotli")
    index = pd.DataFrame({"a": [1, 2, 3], "b": [4.5, 5.5, 6.5]}).query("a != 2")
    index.to_parquet(path("index--pandas.parquet"))
    csv("index", {"a": [1, 3], "b": [4.5, 6.5]})
    with open(path("late--hand.jsonl"), "w") as f:
        for i in range(3000):
            row = {"a": i}
            if i >= 1500:
                row["late"] = f"v{i % 4}"
            if i % 3 == 0:
                row["n"] = i / 4
            f.write(json.dumps(row) + "\n")
    csv("late", {"a": range(3000), "n": [i / 4 if i % 3 == 0 else None for i in range(3000)],
                 "late": [f"v{i % 4}" if i >= 1500 else None for i in range(3000)]})


for make in [pyarrow_parquet, pyarrow_arrow, pandas_files, polars_files, duckdb_files, dates, refused]:
    try:
        make()
    except Exception as e:
        print(f"{make.__name__}: {e!r}", file=sys.stderr)
        raise

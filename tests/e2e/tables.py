"""Writes one table in every format that is read, and hostile files, with nothing but Python's own library: the bytes of
Parquet, Arrow and zstd are put together here by hand, so that the readers are tested against their descriptions and not
only against the libraries of others.

    tables.py good FOLDER       the same table as t.csv, .parquet, .arrow, .arrows, .jsonl, and packed
    tables.py hostile FOLDER    bombs, cells of 2 GB, deep nesting, mixed encodings, files cut short
    tables.py odd FOLDER        files that lie about sizes and counts; odd rows, names and values
"""
import gzip
import json
import lzma
import random
import struct
import sys
import zlib

GB = 1 << 30


def pad(b, n=8):
    return b + bytes(-len(b) % n)


# ---- the table: None = missing ----

def make(rows=400):
    r = random.Random(5)
    t = {"x": [], "n": [], "s": [], "y": []}
    for i in range(rows):
        x, n, s = r.uniform(-3, 3), r.randrange(-20, 20), r.choice(["red", "Grün", "blue, dark", 'a "b"'])
        x = round(x, 4)
        y = round(2 * x + n / 5 + (s == "red") * 4 + r.gauss(0, .1), 4)
        t["x"].append(None if i % 17 == 3 else x)
        t["n"].append(n)
        t["s"].append(None if i % 23 == 5 else s)
        t["y"].append(y)
    return t


KIND = {"x": "f64", "n": "i64", "s": "text", "y": "f64"}


def csv(t):
    def cell(v):
        s = "" if v is None else str(v)
        return '"' + s.replace('"', '""') + '"' if set(s) & set('",\n') else s
    rows = [",".join(t)] + [",".join(map(cell, row)) for row in zip(*t.values())]
    return ("\n".join(rows) + "\n").encode()


def jsonl(t):
    return "".join(json.dumps(dict(zip(t, row)), ensure_ascii=False) + "\n" for row in zip(*t.values())).encode()


# ---- zstd: raw blocks, and runs of one byte ----

def zstd(*parts):
    """parts: bytes as they are, or (byte, how often)."""
    blocks = []
    for p in parts:
        if isinstance(p, tuple):
            byte, n = p
            blocks += [(1, 1 << 17, byte)] * (n >> 17)
            blocks += [(1, n & 0x1ffff, byte)] if n & 0x1ffff else []
        else:
            blocks += [(0, len(p[i:i + (1 << 17)]), p[i:i + (1 << 17)]) for i in range(0, len(p), 1 << 17)]
    out = bytearray(b"\x28\xb5\x2f\xfd\x00\x50")
    for i, (kind, n, data) in enumerate(blocks):
        out += struct.pack("<I", n << 3 | kind << 1 | (i == len(blocks) - 1))[:3] + data
    return bytes(out)


# ---- Parquet: the compact protocol, plain values, one page a column ----

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


class I32(int):
    """The protocol tells integers of 32 bits from those of 64, which are plain here."""


def thrift(fields):
    """{id: int | bytes | dict | list of one of these}"""
    out, last = b"", 0
    for k in sorted(fields):
        v = fields[k]
        out += bytes([(k - last) << 4 | thrift_type(v)]) + thrift_value(v)
        last = k
    return out + b"\0"


def thrift_type(v):
    return {dict: 12, list: 9, bytes: 8, I32: 5, int: 6}[type(v)]


def thrift_value(v):
    if isinstance(v, dict):
        return thrift(v)
    if isinstance(v, list):
        head = bytes([len(v) << 4 | thrift_type(v[0])]) if len(v) < 15 else bytes([0xf0 | thrift_type(v[0])]) + varint(len(v))
        return head + b"".join(map(thrift_value, v))
    return varint(len(v)) + v if isinstance(v, bytes) else zigzag(v)


def parquet(t, packed=False):
    types = {"i64": I32(2), "f64": I32(5), "text": I32(6)}
    plain, rle, optional, utf8 = I32(0), I32(3), I32(1), I32(0)
    out, chunks, rows = b"PAR1", [], len(t["y"])
    schema = [{4: b"root", 5: I32(len(t))}]
    for name, values in t.items():
        kind = KIND[name]
        here = [v for v in values if v is not None]
        bits = sum((v is not None) << i for i, v in enumerate(values))
        groups = -(-rows // 8)
        levels = varint(groups << 1 | 1) + bits.to_bytes(groups, "little")
        data = struct.pack("<I", len(levels)) + levels
        if kind == "text":
            data += b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in here)
        else:
            data += struct.pack(f"<{len(here)}{'q' if kind == 'i64' else 'd'}", *here)
        body = data
        if packed:
            z = zlib.compressobj(9, zlib.DEFLATED, 31)
            body = z.compress(data) + z.flush()
        head = thrift({1: I32(0), 2: I32(len(data)), 3: I32(len(body)), 5: {1: I32(rows), 2: plain, 3: rle, 4: rle}})
        at = len(out)
        out += head + body
        meta = {1: types[kind], 2: [plain, rle], 3: [name.encode()], 4: I32(2 if packed else 0), 5: rows,
                6: len(head) + len(data), 7: len(head) + len(body), 9: at}
        chunks.append({2: at, 3: meta})
        schema.append({1: types[kind], 3: optional, 4: name.encode()} | ({6: utf8} if kind == "text" else {}))
    footer = thrift({1: I32(1), 2: schema, 3: rows, 4: [{1: chunks, 2: len(out), 3: rows}]})
    return out + footer + struct.pack("<I", len(footer)) + b"PAR1"


# ---- Arrow: flatbuffers, children behind their parents ----

class Flat:
    def __init__(self, root):
        self.b = bytearray(4)
        self.b[0:4] = struct.pack("<I", root(self))

    def align(self, n, ahead=0):
        self.b += bytes(-(len(self.b) + ahead) % n)

    def text(self, s):
        self.align(4)
        at = len(self.b)
        self.b += struct.pack("<I", len(s)) + s + b"\0"
        return at

    def structs(self, parts):
        self.align(8, 4)
        at = len(self.b)
        self.b += struct.pack("<I", len(parts)) + b"".join(parts)
        return at

    def vector(self, children):
        self.align(4)
        at = len(self.b)
        self.b += struct.pack("<I", len(children)) + bytes(4 * len(children))
        for i, child in enumerate(children):
            self.point(at + 4 + 4 * i, child(self))
        return at

    def point(self, place, to):
        self.b[place:place + 4] = struct.pack("<I", to - place)

    def table(self, *fields):
        """fields: (slot, format of struct, value), or (slot, None, function that adds a child)."""
        at, slots, data = 4, [0] * (1 + max((f[0] for f in fields), default=-1)), {}
        for slot, form, value in sorted(fields, key=lambda f: -struct.calcsize(f[1] or "I")):
            size = struct.calcsize(form or "I")
            at += -at % size
            slots[slot], data[at] = at, (form, value)
            at += size
        vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), at, *slots)
        self.align(8, len(vtable))
        self.b += vtable
        here = len(self.b)
        self.b += struct.pack("<i", len(vtable)) + bytes(at - 4)
        for place, (form, value) in data.items():
            if form:
                struct.pack_into("<" + form, self.b, here + place, value)
        for place, (form, value) in data.items():
            if not form:
                self.point(here + place, value(self))
        return here


def arrow_schema(t):
    def kind(name):
        return {"i64": (2, lambda f: f.table((0, "i", 64), (1, "B", 1))), "f64": (3, lambda f: f.table((0, "h", 2))),
                "text": (5, lambda f: f.table())}[KIND[name]]

    def field(name):
        return lambda f: f.table((0, None, lambda f: f.text(name.encode())), (1, "B", 1), (2, "B", kind(name)[0]),
                                 (3, None, kind(name)[1]), (5, None, lambda f: f.vector([])))
    return lambda f: f.table((0, "h", 0), (1, None, lambda f: f.vector([field(n) for n in t])))


def arrow_message(kind, header, body):
    meta = pad(bytes(Flat(lambda f: f.table((0, "h", 4), (1, "B", kind), (2, None, header), (3, "q", len(body)))).b))
    return b"\xff\xff\xff\xff" + struct.pack("<i", len(meta)) + meta + body, len(meta) + 8


def arrow_batch(t):
    rows, body, buffers, nodes = len(t["y"]), b"", [], []
    for name, values in t.items():
        gaps = sum(v is None for v in values)
        nodes.append(struct.pack("<qq", rows, gaps))
        parts = [sum((v is not None) << i for i, v in enumerate(values)).to_bytes(-(-rows // 8), "little") if gaps else b""]
        if KIND[name] == "text":
            texts, ends = [(v or "").encode() for v in values], [0]
            for s in texts:
                ends.append(ends[-1] + len(s))
            parts += [struct.pack(f"<{rows + 1}i", *ends), b"".join(texts)]
        else:
            parts.append(struct.pack(f"<{rows}{'q' if KIND[name] == 'i64' else 'd'}", *(v or 0 for v in values)))
        for p in parts:
            buffers.append(struct.pack("<qq", len(body), len(p)))
            body += pad(p)
    return arrow_message(3, lambda f: f.table((0, "q", rows), (1, None, lambda f: f.structs(nodes)),
                                              (2, None, lambda f: f.structs(buffers))), body) + (len(body),)


def arrow(t, is_file, per_batch=150):
    out = b"ARROW1\0\0" if is_file else b""
    out += arrow_message(1, arrow_schema(t), b"")[0]
    blocks = []
    for i in range(0, len(t["y"]), per_batch):
        part, meta, body = arrow_batch({n: v[i:i + per_batch] for n, v in t.items()})
        blocks.append(struct.pack("<qiiq", len(out), meta, 0, body))
        out += part
    out += b"\xff\xff\xff\xff\0\0\0\0"
    if not is_file:
        return out
    footer = bytes(Flat(lambda f: f.table((0, "h", 4), (1, None, arrow_schema(t)), (2, None, lambda f: f.structs([])),
                                          (3, None, lambda f: f.structs(blocks)))).b)
    return out + footer + struct.pack("<i", len(footer)) + b"ARROW1"


# ---- Parquet files that lie: pages and columns as they are given ----

def snappy(n, *parts):
    """A snappy block that declares n bytes: literals, or (back, how many) copies."""
    out = varint(n)
    for p in parts:
        if isinstance(p, tuple):
            back, m = p
            out += (bytes([63 << 2 | 2]) + struct.pack("<H", back)) * (m // 64)
            out += bytes([(m % 64 - 1) << 2 | 2]) + struct.pack("<H", back) if m % 64 else b""
        else:
            out += bytes([61 << 2]) + struct.pack("<H", len(p) - 1) + p if len(p) > 60 else bytes([(len(p) - 1) << 2]) + p
    return out


def page(rows, body, size=None, encoding=0, is_dictionary=False):
    """A page of required values: body as it lies in the file, size as it is declared unpacked."""
    head = {1: I32(2 if is_dictionary else 0), 2: I32(len(body) if size is None else size), 3: I32(len(body))}
    if is_dictionary:
        head[7] = {1: I32(rows), 2: I32(0)}
    else:
        head[5] = {1: I32(rows), 2: I32(encoding), 3: I32(3), 4: I32(3)}
    return thrift(head) + body


def parquet_of(rows, *columns):
    types = {"i64": I32(2), "f64": I32(5), "text": I32(6)}
    out, chunks, schema = b"PAR1", [], [{4: b"root", 5: I32(len(columns))}]
    for name, kind, codec, pages, has_dictionary in columns:
        at = len(out)
        out += b"".join(pages)
        meta = {1: types[kind], 2: [I32(0), I32(8)], 3: [name], 4: I32(codec), 5: rows, 6: len(out) - at, 7: len(out) - at,
                9: at + (len(pages[0]) if has_dictionary else 0)} | ({11: at} if has_dictionary else {})
        chunks.append({2: at, 3: meta})
        schema.append({1: types[kind], 3: I32(0), 4: name} | ({6: I32(0)} if kind == "text" else {}))
    footer = thrift({1: I32(1), 2: schema, 3: rows, 4: [{1: chunks, 2: len(out), 3: rows}]})
    return out + footer + struct.pack("<I", len(footer)) + b"PAR1"


def runs(rows):
    """Dictionary indices of one bit, all 0."""
    return bytes([1]) + varint(rows << 1) + b"\0"


# ---- files ----

def write(name, data):
    with open(f"{sys.argv[2]}/{name}", "wb") as f:
        f.write(data)


def good():
    t = make()
    write("t.csv", csv(t))
    write("t.csv.gz", gzip.compress(csv(t)))
    write("t.csv.xz", lzma.compress(csv(t)))
    write("t.csv.zst", zstd(csv(t)))
    write("t.jsonl", jsonl(t))
    write("t.jsonl.zst", zstd(jsonl(t)))
    write("t.parquet", parquet(t))
    write("tz.parquet", parquet(t, packed=True))
    write("t.parquet.gz", gzip.compress(parquet(t)))
    write("t.arrow", arrow(t, True))
    write("t.arrows", arrow(t, False))
    write("t.arrows.xz", lzma.compress(arrow(t, False)))


def lies():
    """Parquet whose declared sizes, counts and lengths are not what follows."""
    big, n = 1 << 30, 200000

    def ints(*v):
        return struct.pack(f"<{len(v)}q", *v)

    def y(rows):
        return b"y", "i64", 0, [page(rows, ints(*range(rows)))], False

    def indexed(name, rows, *values):
        return name, "i64", 0, [page(len(values), ints(*values), is_dictionary=True), page(rows, runs(rows), encoding=8)], True

    def x(body, size=None, codec=0, kind="i64", rows=4):
        return parquet_of(4, y(4), (b"x", kind, codec, [page(rows, body, size)], False))
    write("runs.parquet", parquet_of(big, indexed(b"y", big, 1, 2), indexed(b"x", big, 1, 2)))
    write("page.zstd.parquet", x(zstd((b"\0", 2 * GB)), 2 * GB - 1, 6))
    write("lie.zstd.parquet", x(zstd((b"\0", 2 * GB)), 32, 6))
    write("lie.gzip.parquet", x(gzip.compress(bytes(100 << 20)), 32, 2))
    write("lie.snappy.parquet", x(snappy(0xffffffff, b"a" * 8), 32, 1))
    write("page.snappy.parquet", x(snappy(big, b"a" * 8, (8, big - 8)), big, 1))
    write("length.parquet", x(struct.pack("<I", 0xfffffff0) + b"abc", kind="text"))
    write("values.parquet", x(ints(1, 2, 3, 4), rows=(1 << 31) - 1))
    write("rows.parquet", parquet_of(1 << 62, y(4)))
    write("twice.parquet", parquet_of(4, y(4), y(4)))
    write("nameless.parquet", parquet_of(4, y(4), (b"", "i64", 0, [page(4, ints(1, 2, 3, 4))], False)))
    write("none.parquet", parquet_of(0, (b"y", "i64", 0, [], False)))
    text = struct.pack("<I", 1 << 20) + b"a" * (1 << 20) + struct.pack("<I", 1) + b"b"
    write("texts.parquet", parquet_of(n, (b"y", "i64", 0, [page(n, ints(*range(n)))], False),
                                      (b"x", "text", 0, [page(2, text, is_dictionary=True), page(n, runs(n), encoding=8)], True)))


def rows_and_names():
    """CSV and JSON lines that are odd in their rows, names and values."""
    rows = [f"{i},{i % 3},{i * 2}" for i in range(300)]

    def table(name, head, lines):
        write(name, "".join(s + "\n" for s in [head] + lines).encode())
    table("long.csv", "a,b,y", rows[:50] + ["1,2,3,4"] + rows[50:])
    table("short.csv", "a,b,y", rows[:50] + ["1,2"] + rows[50:])
    table("twice.csv", "a,a,y", rows)
    table("nameless.csv", ",,", rows)
    table("header.csv", "a,b,y", [])
    write("empty.csv", b"")
    write("newlines.csv", b"\n\n\n")
    table("one.csv", "a,b,y", ["1,2,3"])
    table("two.csv", "a,b,y", ["1,2,3", "2,3,5"])
    table("nothing.csv", "a,b,y", [",,"] * 50)
    table("notarget.csv", "a,b,y", [f"{i},{i % 7}," for i in range(300)])
    table("noinput.csv", "a,b,y", [f"1,,{i}" for i in range(300)])
    table("same.csv", "a,b,y", [f"{i},{i % 7},1" for i in range(300)])
    table("endless.csv", "a,b,y", [f"{i},{i % 7},{'inf' if i % 3 else i}" for i in range(300)])
    table("nul.csv", "a,b,y", rows[:50] + ["1,\0,3"] + rows[50:])
    table("quote.csv", "a,b,y", rows[:50] + ['1,"open,3'] + rows[50:])
    write("return.csv", "\r".join(["a,b,y"] + rows).encode())
    write("head.csv", "naïve,b,y\n".encode("latin-1") + "\n".join(rows).encode())
    write("keys.jsonl", b"".join(json.dumps({f"k{i * 1000 + j}": j for j in range(1000)} | {"y": i}).encode() + b"\n"
                                 for i in range(120)))
    write("nokeys.jsonl", b"{}\n" * 30)
    write("twice.csv.gz", gzip.compress(gzip.compress(csv(make()))))
    write("twice.csv.zst", zstd(lzma.compress(csv(make()))))
    # not hostile: they are read as well as they can be
    table("far.csv", "when,b,y", [f"{9700 + 2 * i}-01-01,{i % 3},{i % 5 + i % 3}" for i in range(300)])
    table("inf.csv", "a,b,y", [f"{'inf' if i % 3 else '1e400'},{i % 7},{i % 7}" for i in range(300)])
    table("levels.csv", "a,b,y", [f"l{i},{i % 7},{i % 5}" for i in range(1000000)])


def hostile():
    rows = b"x,y\n" + b"1.5,2.5\n" * (12 << 20)
    write("bomb.csv.gz", gzip.compress(rows))
    write("bomb.csv.xz", lzma.compress(rows, preset=0))
    write("bomb.csv.zst", zstd(b"x,y\n1,2\n", (b"\n", 4 * GB)))
    write("bomb.jsonl.zst", zstd(b'{"x":1,"y":2}\n', (b" ", 4 * GB)))
    write("cell.csv.zst", zstd(b"x,y\n1,2\n", (b"x", 2 * GB), b",3\n"))
    write("quoted.csv.zst", zstd(b'x,y\n1,2\n"', (b"x", 2 * GB), b'",3\n'))
    write("cell.jsonl.zst", zstd(b'{"x":1,"y":2}\n{"x":"', (b"x", 2 * GB), b'","y":3}\n'))
    write("key.jsonl.zst", zstd(b'{"x":1,"y":2}\n{"', (b"x", 2 * GB), b'":1,"y":3}\n'))
    write("name.csv.zst", zstd((b"x", 2 * GB), b",y\n1,2\n"))
    for name, a, b in [("lists", "[", "]"), ("objects", '{"k":', "}")]:
        write(f"{name}.jsonl", b'{"x":1,"y":2}\n' + f'{{"x":{a * 10000}1{b * 10000},"y":3}}\n'.encode())
    for n in (100000, 100001):
        row = ",".join("1a"[i % 2] for i in range(n - 1))
        write(f"wide{n}.csv", (",".join(f"c{i}" for i in range(n - 1)) + ",y\n"
                               + "".join(f"{row},{i}\n" for i in range(20))).encode())
    text = "name,y\n" + "".join(f"Müller {i % 9},{i}\n" for i in range(100))
    lines = text.splitlines(keepends=True)
    write("latin.csv", text.encode("latin-1"))
    write("mixed.csv", b"".join(s.encode("latin-1" if i == 70 else "utf-8") for i, s in enumerate(lines)))
    write("mixed.jsonl", b"".join(json.dumps({"name": f"Müller {i % 9}", "y": i}, ensure_ascii=False)
                                  .encode("latin-1" if i == 70 else "utf-8") + b"\n" for i in range(100)))
    write("utf16le.csv", b"\xff\xfe" + text.encode("utf-16-le"))
    write("utf16be.csv", b"\xfe\xff" + text.encode("utf-16-be"))
    write("utf16bare.csv", text.encode("utf-16-le"))
    write("utf32.csv", text.encode("utf-32"))
    write("utf16.jsonl", '{"x":1,"y":2}\n'.encode("utf-16"))
    write("nothing.jsonl", b'{"x":null,"y":null}\n{"x":NaN,"y":null}\n')
    write("mark.csv", b"\xef\xbb\xbf" + text.encode())
    t = make()
    whole = {"t.parquet": parquet(t), "t.arrow": arrow(t, True), "t.arrows": arrow(t, False),
             "t.csv.gz": gzip.compress(csv(t)), "t.csv.xz": lzma.compress(csv(t)), "t.csv.zst": zstd(csv(t)), "t.jsonl": jsonl(t)}
    for name, data in whole.items():
        write("cut-" + name, data[:len(data) // 2 + 1])
    write("latin.parquet", parquet(t).replace("Grün".encode(), b"Gr\xfcnn"))
    write("latin.arrow", arrow(t, True).replace("Grün".encode(), b"Gr\xfcnn"))


def odd():
    lies()
    rows_and_names()


{"good": good, "hostile": hostile, "odd": odd}[sys.argv[1]]()

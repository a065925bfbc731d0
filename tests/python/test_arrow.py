"""Tables leave by Arrow's C stream: polars, DuckDB, pyarrow and pandas take them, and say what the table says."""
import ctypes
import gc
import subprocess
import sys
import unittest

import attn
from attn import arrow, binding as c
from attn.table import Table, _Column
from support import KEYS, TestCase, model
from test_peers import module

KINDS = {"count": c.ATTN_VALUE_INTEGER, "share": c.ATTN_VALUE_REAL, "is_same": c.ATTN_VALUE_BOOLEAN, "text": c.ATTN_VALUE_TEXT,
         "places": c.ATTN_VALUE_LIST, "shares": c.ATTN_VALUE_REALS}


def all_kinds(n_row=11):
    """A table with a column of each kind, of which some values are missing, others empty."""
    cells = {"count": [-(1 << 63), None, 3], "share": [0.1, None, -1e308], "is_same": [True, None, False],
             "text": [b"", None, "caf\u00e9 \u732b".encode()], "places": [[], None, [1 << 62, -1, 0]], "shares": [[], None, [0.5]]}
    columns = [_Column(name, kind, "nats" if name == "share" else None, 0, 0, 0, 0, None, None, 0) for name, kind in KINDS.items()]
    return Table("all", columns, [(cells[name] * n_row)[:n_row] for name in KINDS])


TABLES = {
    "ablate": lambda: model().ablate(KEYS, target=" are", foil=" is"),
    "models": attn.models,
    "all kinds": all_kinds,
    "nothing missing": lambda: Table("some", all_kinds()._columns.values(), [cells[:1] * 9 for cells in all_kinds()._cells.values()]),
    "all missing": lambda: Table("none", all_kinds()._columns.values(), [[None] * 3] * 6),
    "no rows": lambda: all_kinds(0),
}


class Readers(TestCase):
    def check(self, read):
        for name, make in TABLES.items():
            with self.subTest(name):
                table = make()
                self.assertEqual(read(table), table.to_dict())
        gc.collect()
        arrow._forget_streams()
        self.assertEqual((arrow._kept, arrow._streams), ({}, []))

    def test_pyarrow(self):
        pyarrow = module("pyarrow")
        read = pyarrow.table(all_kinds())
        read.validate(full=True)
        self.assertEqual([str(kind) for kind in read.schema.types],
                         ["int64", "double", "bool", "string", "list<item: int64>", "list<item: double>"])
        self.assertEqual(read.schema.field("share").metadata, {b"unit": b"nats"})
        self.assertEqual(read.column("places").null_count, 4)
        del read
        self.check(lambda table: pyarrow.table(table).to_pydict())

    def test_polars(self):
        polars = module("polars")
        self.check(lambda table: polars.DataFrame(table).to_dict(as_series=False))
        frame = polars.DataFrame(all_kinds())
        self.assertEqual(frame.filter(polars.col("count") == 3)["places"].to_list(), [[1 << 62, -1, 0]] * 3)

    def test_duckdb(self):
        duckdb = module("duckdb")

        def read(answer):
            found = duckdb.sql("select * from answer")
            return dict(zip(found.columns, map(list, zip(*found.fetchall())))) or {name: [] for name in found.columns}

        self.check(read)
        heads = model().heads(KEYS)
        found = duckdb.sql("select layer, max(entropy) from heads group by layer order by layer").fetchall()
        self.assertEqual(found, [(layer, heads.where(layer=layer)["entropy"].max()) for layer in range(4)])

    def test_pandas(self):
        pandas, _ = module("pandas"), module("pyarrow")
        if not hasattr(pandas.DataFrame, "from_arrow"):
            self.skipTest("this pandas has no from_arrow")
        frame = pandas.DataFrame.from_arrow(all_kinds())
        self.assertEqual((list(frame.columns), len(frame)), (list(KINDS), 11))

    def test_frames_may_live_until_python_ends(self):
        for name in "pyarrow", "polars", "duckdb":
            module(name)
        lines = """import attn, duckdb, polars, pyarrow
t = attn.open("fable").heads("The keys to the cabinet")
kept = polars.DataFrame(t), pyarrow.table(t), duckdb.sql("select * from t"), t.__arrow_c_stream__()
again = duckdb.connect()
again.register("seen", t)
again.execute("select * from seen")
ring = [kept]
ring.append(ring)"""
        done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Stream(TestCase):
    def test_who_reads_it_may_be_anybody(self):
        table = all_kinds(4)
        capsule = table.__arrow_c_stream__()
        stream = arrow._Stream.from_address(self.address(capsule))
        schema, array = arrow._Schema(), arrow._Array()
        take = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        at = ctypes.addressof(stream)
        self.assertEqual(take(stream.get_schema)(at, ctypes.addressof(schema)), 0)
        formats = [child.contents.format for child in schema.children[:schema.n_children]]
        self.assertEqual((schema.format, formats), (b"+s", [b"l", b"g", b"b", b"u", b"+l", b"+l"]))
        self.assertEqual(take(stream.get_next)(at, ctypes.addressof(array)), 0)
        self.assertEqual((array.length, array.n_children, array.children[3].contents.null_count), (4, 6, 1))
        texts = array.children[3].contents.buffers
        self.assertEqual(ctypes.string_at(texts[2], 9), "caf\u00e9 \u732b".encode())
        end = arrow._Array(release=1)
        self.assertEqual(take(stream.get_next)(at, ctypes.addressof(end)), 0)
        self.assertIsNone(end.release)
        for made in schema, array, stream:
            arrow._RELEASE(made.release)(ctypes.addressof(made))
            self.assertIsNone(made.release)
        self.assertEqual(arrow._kept, {})

    def test_a_stream_that_nobody_reads_is_let_go(self):
        capsules = [all_kinds().__arrow_c_stream__() for _ in range(3)]
        self.assertEqual((len(arrow._streams), len(arrow._kept)), (3, 3))
        del capsules[:2]
        arrow._forget_streams()
        self.assertEqual((len(arrow._streams), len(arrow._kept)), (1, 1))
        self.assertIsNotNone(arrow._Stream.from_address(self.address(capsules[0])).release)
        del capsules[:]
        arrow._forget_streams()
        self.assertEqual((arrow._streams, arrow._kept), ([], {}))

    def address(self, capsule):
        find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
        return find(capsule, b"arrow_array_stream")


if __name__ == "__main__":
    unittest.main()

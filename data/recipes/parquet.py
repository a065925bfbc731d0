# /// script
# requires-python = ">=3.9"
# dependencies = ["attn-cli", "numpy", "pyarrow"]
# ///
"""parquet.py - a Parquet file of texts in, one of heads out:

    uv run --find-links FOLDER_OF_THE_WHEEL data/recipes/parquet.py MODEL texts.parquet heads.parquet [COLUMN]

Each row of the result is a head of a text: row (of the text, from 0), layer, head, entropy, previous. A text that fails has one row,
with its error. All cores compute, and memory does not grow with the file: texts are read 1,024 at a time.
"""
import sys

import attn
import numpy
import pyarrow
import pyarrow.parquet

MEASURES = ["entropy", "previous"]
SCHEMA = pyarrow.schema([("row", pyarrow.int64()), ("layer", pyarrow.int32()), ("head", pyarrow.int32()),
                         *((name, pyarrow.float32()) for name in MEASURES), ("error", pyarrow.string())])


def rows(number, result):
    if result.error:
        return pyarrow.RecordBatch.from_pylist([{"row": number, "error": str(result.error)}], SCHEMA)
    values = [result.measures[name] for name in MEASURES]  # [layers, heads]
    layer, head = (places.ravel() for places in numpy.indices(values[0].shape, "int32"))
    return pyarrow.RecordBatch.from_arrays(
        [numpy.full(layer.size, number), layer, head, *(v.ravel() for v in values), pyarrow.nulls(layer.size, "string")], schema=SCHEMA)


source, target, *column = sys.argv[2:]
model, number = attn.open(sys.argv[1]), 0
with pyarrow.parquet.ParquetWriter(target, SCHEMA) as writer:
    for batch in pyarrow.parquet.ParquetFile(source).iter_batches(1024, columns=column or ["text"]):
        results = model.map(batch.column(0).to_pylist(), measures=MEASURES, on_error="keep")
        writer.write_table(pyarrow.Table.from_batches(rows(n, result) for n, result in enumerate(results, number)))
        number += len(batch)

"""spark_frame.py - a Spark DataFrame of texts in, one of heads out, by mapInPandas:

    spark-submit data/recipes/spark_frame.py MODEL prompts.jsonl results.parquet

Each row of the result is a head of a text: id, layer, head, entropy. A thread feeds the process while
the generator reads from it: neither holds a whole partition. PYSPARK_PYTHON names the Python of the
workers, which needs pandas and pyarrow.
"""
import json
import subprocess
import sys
import threading

from pyspark.sql import SparkSession

model, prompts, results = sys.argv[1:4]


def feed(process, frames):
    with process.stdin as lines:
        for frame in frames:
            for row in frame.itertuples():
                lines.write(json.dumps({"id": row.id, "text": row.text}) + "\n")


def measure(frames):
    import pandas

    process = subprocess.Popen(
        ["attn-cli", "heads", "-m", model, "-t", "1", "-q", "--items", "-", "--measures", "entropy", "--each", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    feeder = threading.Thread(target=feed, args=(process, frames))
    feeder.start()
    for rows in pandas.read_csv(process.stdout, chunksize=10_000, dtype={"id": str}):
        yield rows[rows["error"].isna()][["id", "layer", "head", "entropy"]]
    feeder.join()
    if process.wait() not in (0, 6):  # 6: some records failed
        raise RuntimeError(f"attn-cli ended with {process.returncode}")


spark = SparkSession.builder.appName("attn").getOrCreate()
texts = spark.read.json(prompts).select("id", "text")
heads = texts.mapInPandas(measure, "id string, layer int, head int, entropy double")
heads.write.parquet(results)

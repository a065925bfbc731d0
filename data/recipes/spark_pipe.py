"""spark_pipe.py - prompts through attn-cli by Spark, a process a partition, in order:

    spark-submit data/recipes/spark_pipe.py MODEL prompts.jsonl results 64

`results` is a folder of 64 parts. Each process counts its records from 0: they need an `id`.
checkCode=True makes a process that fails fail its task: Spark ignores the status without it. Spark
gives the process no environment but `env`.
"""
import os
import shlex
import sys

from pyspark.sql import SparkSession

model, prompts, results, n_part = sys.argv[1:5]
command = f"attn-cli run -m {shlex.quote(model)} -t 1 -q --top 5 --items - --jsonl - --max-errors 1000"

spark = SparkSession.builder.appName("attn").getOrCreate()
lines = spark.sparkContext.textFile(prompts, int(n_part))
lines.pipe(command, env={"PATH": os.environ["PATH"]}, checkCode=True).saveAsTextFile(results)

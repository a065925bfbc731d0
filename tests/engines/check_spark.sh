#!/usr/bin/env bash
# check_spark.sh - the recipes for Spark on a master and two workers, on loopback.
#
#   check_spark.sh PYTHON      a Python with pyspark, pandas and pyarrow; java on the PATH
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

python=${1:-python3}
"$python" -c 'import pyspark, pandas, pyarrow' 2>/dev/null ||
    { echo "check-spark: skipped, '$python' lacks pyspark, pandas or pyarrow: make check-spark PYTHON=..." && exit 0; }
command -v java >/dev/null || { echo 'check-spark: skipped, there is no java' && exit 0; }
PATH=$(cd "$build" && pwd):$PATH
recipes=$PWD/data/recipes
python=$(command -v "$python")
home=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME=$home PYSPARK_PYTHON=$python SPARK_LOCAL_IP=127.0.0.1 SPARK_LOG_DIR=$scratch
master=spark://127.0.0.1:17077
daemons=()
trap 'kill "${daemons[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

daemon() { # CLASS ARGUMENT...
    "$home/bin/spark-class" "$@" >>daemons.log 2>&1 &
    daemons+=($!)
}

start_spark() {
    daemon org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 17077 --webui-port 0
    for _ in 1 2; do
        daemon org.apache.spark.deploy.worker.Worker "$master" --host 127.0.0.1 --cores 1 --memory 1g \
            --webui-port 0 --work-dir "$scratch/work"
    done
    for _ in $(seq 600); do
        [ "$(grep -c 'Successfully registered with master' daemons.log)" -eq 2 ] && return
        sleep 0.1
    done
    tail -5 daemons.log
    return 1
}

submit() { "$home/bin/spark-submit" --master "$master" --conf spark.ui.enabled=false "$@" >submit.log 2>&1 || { grep -m3 -E 'Caused by|Error' submit.log; return 1; }; }

make_prompts() {
    awk 'BEGIN { for (i = 0; i < 10000; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d keys to the old cabinet near the river are here\"}\n", i, i }' >prompts.jsonl
    attn-cli run -m fable -q --top 5 --items prompts.jsonl --jsonl whole.jsonl
}

pipes_in_order() {
    submit "$recipes/spark_pipe.py" fable prompts.jsonl piped 8 && cat piped/part-* | cmp - whole.jsonl
}

a_process_that_fails_fails_the_job() {
    ! submit --conf spark.task.maxFailures=1 "$recipes/spark_pipe.py" no-such-model prompts.jsonl none 2 >/dev/null &&
        grep -q 'Pipe function .* exited with error code 3' submit.log
}

maps_a_frame() {
    submit "$recipes/spark_frame.py" fable prompts.jsonl frame.parquet || return
    attn-cli heads -m fable -q --items prompts.jsonl --measures entropy --each heads.csv --csv /dev/null || return
    "$python" - <<'END'
import csv, pandas
seen = pandas.read_parquet("frame.parquet").set_index(["id", "layer", "head"]).entropy
assert len(seen) == 10000 * 32, len(seen)
for row in csv.DictReader(open("heads.csv")):
    assert seen[row["id"], int(row["layer"]), int(row["head"])] == float(row["entropy"])
END
}

make_prompts && start_spark || exit 1
for test in pipes_in_order a_process_that_fails_fails_the_job maps_a_frame; do
    if $test; then pass; else fail "tests/engines/check_spark.sh $python # $test"; fi
done
finish check-spark

#!/bin/bash
#SBATCH --job-name=attn --array=0-7 --cpus-per-task=16 --requeue --open-mode=append --output=%x-%A_%a.log
#
# slurm.sh - a file of prompts in 8 shards, each a task of a job array:
#
#     sbatch data/recipes/slurm.sh MODEL prompts.jsonl results.jsonl
#     cat results-*-of-00008.jsonl                   # the bytes of one run over all
#
# A task that was killed, ran out of time or of memory starts again, up to three times, and goes on
# where it stopped. Sent again by hand (sbatch --array=3,5 ...), tasks that were done say so.
# The number of shards stands here and not in a variable of Slurm: SLURM_ARRAY_TASK_COUNT is 2 when
# two of eight tasks are sent again.
n_shard=8
[ $# -ge 3 ] || { echo "usage: sbatch data/recipes/slurm.sh MODEL PROMPTS RESULTS" >&2; exit 2; }
model=$1 prompts=$2 results=$3

trap : TERM # the script outlives the end of its time; the tool writes its rows and leaves
attn-cli run -m "$model" -t "${SLURM_CPUS_PER_TASK:-1}" --top 5 --items "$prompts" \
    --shard "$SLURM_ARRAY_TASK_ID/$n_shard" --jsonl "$results" --resume
code=$?
if [ $code -gt 128 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" # it waits two minutes first
fi
exit $code

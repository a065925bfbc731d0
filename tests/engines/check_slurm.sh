#!/usr/bin/env bash
# check_slurm.sh - data/recipes/slurm.sh on a Slurm of one node, on loopback: an array of 8 tasks, one
# of which is killed and starts again. The joined output is that of one run.
#
#   check_slurm.sh        needs root, slurmctld, slurmd, sbatch and munged; the daemons write below a
#                         folder of their own, listen on 127.0.0.1 and end with the script
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

for program in slurmctld slurmd sbatch munged; do
    command -v $program >/dev/null || { echo "check-slurm: skipped, there is no $program: make deps-engines" && exit 0; }
done
[ -n "$(ls -A /sys/fs/cgroup 2>/dev/null)" ] ||
    { echo 'check-slurm: skipped, slurmd needs /sys/fs/cgroup, which is not mounted' && exit 0; }
[ "$(id -u)" -eq 0 ] || { echo 'check-slurm: skipped, its daemons need root' && exit 0; }
PATH=$(cd "$build" && pwd):$PATH
recipe=$PWD/data/recipes/slurm.sh
node=$(hostname -s)
export SLURM_CONF=$scratch/slurm.conf

end_daemons() {
    local pid
    for daemon in slurmd slurmctld munged; do
        pid=$(cat "$scratch/$daemon.pid" 2>/dev/null) && kill "$pid" 2>/dev/null &&
            timeout 10 tail --pid="$pid" -f /dev/null
    done
    rm -rf "$scratch"
}
trap end_daemons EXIT

# Waits up to SECONDS until COMMAND succeeds.
wait_until() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

start_daemons() {
    mkdir -p "$scratch"/{state,spool,log}
    mkdir -m 700 "$scratch/munge"
    chmod 755 "$scratch"
    head -c 1024 /dev/urandom >"$scratch/munge/key"
    chmod 600 "$scratch/munge/key"
    cat >"$SLURM_CONF" <<END
ClusterName=loopback
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
AuthInfo=socket=$scratch/munge.socket
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/log/slurmctld.log
SlurmdLogFile=$scratch/log/slurmd.log
ProctrackType=proctrack/linuxproc
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=$node Default=YES MaxTime=INFINITE State=UP
END
    munged --force --socket="$scratch/munge.socket" --key-file="$scratch/munge/key" \
        --pid-file="$scratch/munged.pid" --log-file="$scratch/log/munged.log" \
        --seed-file="$scratch/munge/seed" 2>/dev/null &&
        slurmctld && slurmd -N "$node" && wait_until 30 is_idle
}

is_idle() { [ "$(sinfo -h -o %t 2>/dev/null)" = idle ]; }
is_over() {
    local left
    left=$(squeue -h 2>/dev/null) && [ -z "$left" ] # a controller that does not answer has jobs, too
}
is_at_work() { [ -s results-00003-of-00008.jsonl.part ]; }
is_at_work_or_done() { is_at_work || [ -e results-00003-of-00008.jsonl ]; }

# A task takes seconds.
make_prompts() {
    local words='the keys to the old cabinet near the river are here and the cat sat on the mat because it was tired '
    awk -v words="$words" 'BEGIN { for (i = 0; i < 16000; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d %s%s\"}\n", i, i, words, words }' >prompts.jsonl
}

# Kills the tool of task 3 while it works.
kills_a_task_that_starts_again() {
    local job
    job=$(sbatch --parsable --cpus-per-task=1 "$recipe" fable prompts.jsonl results.jsonl) || return
    wait_until 300 is_at_work_or_done && is_at_work && pkill -KILL -f -- '--shard 3/8' ||
        { echo 'task 3 was not seen at work' && return 1; }
    wait_until 60 eval "squeue -h -j ${job}_3 -o %r 2>/dev/null | grep -q BeginTime" || return
    scontrol update "JobId=${job}_3" StartTime=now
    wait_until 120 grep -q 'continues at item' "attn-${job}_3.log" || { cat "attn-${job}_3.log" && return 1; }
    wait_until 300 is_over || { squeue && return 1; }
    [ "$(restarts_of "$job")" = 1 ] || { restarts_of "$job" && return 1; }
}

# How often task 3 was started again, as Slurm's controller says.
restarts_of() { scontrol show job "${1}_3" | sed -nE 's/.* Restarts=([0-9]+).*/\1/p' | head -1; }

joins_to_one_run() {
    attn-cli run -m fable -q --top 5 --items prompts.jsonl --jsonl whole.jsonl || return
    cat results-*-of-00008.jsonl | cmp - whole.jsonl
}

says_that_tasks_are_done() {
    local job
    job=$(sbatch --parsable --cpus-per-task=1 --array=3,5 "$recipe" fable prompts.jsonl results.jsonl) || return
    wait_until 60 is_over || return
    for task in 3 5; do
        grep -q 'complete' "attn-${job}_$task.log" || { cat "attn-${job}_$task.log" && return 1; }
    done
    [ ! -e "attn-${job}_0.log" ]
}

start_daemons || { echo 'check-slurm: Slurm does not start:'; tail -n 5 "$scratch"/log/*.log; exit 1; }
mkdir "$scratch/work"
cd "$scratch/work" || exit 1
make_prompts
for test in kills_a_task_that_starts_again joins_to_one_run says_that_tasks_are_done; do
    if $test; then pass; else fail "tests/engines/check_slurm.sh # $test"; fi
done
finish check-slurm

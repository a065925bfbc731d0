#!/usr/bin/env bash
# check_container.sh - the image of .packaging/Dockerfile and the pods of data/recipes/job.yaml: built by buildah, which needs no
# daemon, and run as pods are: without root, capabilities and network, over a read-only file system.
#
#   check_container.sh ARCHIVE PYTHON     ARCHIVE of make static; PYTHON may have yaml and kubernetes-validate
#
# Needs root, which is given up. What cannot be had is skipped by name.
set -u
package=$(realpath "$1") python=$(command -v "$2")
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh
job=$PWD/data/recipes/job.yaml dockerfile=$PWD/.packaging/Dockerfile image=$scratch/image

[ "$(id -u)" -eq 0 ] || { echo 'check-container: skipped, it needs root' && exit; }
chmod 755 "$scratch"
cd "$scratch" || exit 1
mkdir context
tar -C context --strip-components=1 -xzf "$package"

# Makes the folder `image` of the image's files; without buildah by the lines COPY.
make_image() {
    local store=(--root "$scratch/store" --runroot "$scratch/runroot" --storage-driver vfs) container line
    if command -v buildah >/dev/null; then
        buildah "${store[@]}" bud -q --isolation chroot -f "$dockerfile" -t attn-cli context >buildah.log 2>&1 &&
            container=$(buildah "${store[@]}" from attn-cli) &&
            buildah "${store[@]}" inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.WorkingDir}}' \
                "$container" >config && grep -qx '65532:65532 \[/bin/attn-cli\] /work' config &&
            cp -a "$(buildah "${store[@]}" mount "$container")" "$image" || { tail -n 5 buildah.log config; return 1; }
    else
        echo 'skipped buildah, which is not installed: its steps are made by hand'
        mkdir "$image"
        while read -ra line; do
            mkdir -p "$image${line[-1]}" && (cd context && cp -r "${line[@]:1:${#line[@]}-2}" "$image${line[-1]}")
        done < <(grep '^COPY ' "$dockerfile" | sed 's|COPY licences |COPY licences/. |')
    fi
    mkdir -p "$image/work" "$image/proc" # runtimes make these
    echo "image: $(du -sk "$image" | cut -f 1) KB in $(find "$image" -type f | wc -l) files"
}

# Runs ARGUMENT... in the image as the user 65532; only /work, the folder VOLUME, can be written.
run_pod() { # VOLUME ARGUMENT...
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --net --ipc --pid --fork sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" &&
        mount --bind "$2" "$1/work" && mount -t proc proc "$1/proc" && root=$1 && shift 2 && cd / &&
        exec setpriv --no-new-privs unshare --root="$root" --wd=/work --setgid 65532 --setuid 65532 /bin/attn-cli "$@"' \
        sh "$image" "$1" "${@:2}"
}

make_volume() { # NAME
    mkdir "$1" && awk 'BEGIN { for (i = 0; i < 400; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d keys to the old cabinet near the river are here\"}\n", i, i }' >"$1/prompts.jsonl"
    chown -R 65532:65532 "$1"
}

# The words of `args` in the job, for a pod of INDEX.
words_of_pod() { # INDEX
    sed -nE 's/^ *args: \[(.*)\]$/\1/p' "$job" | tr -d '"' | sed -e 's/, /\n/g' -e "s/\$(JOB_COMPLETION_INDEX)/$1/g"
}

# Runs all pods over VOLUME; prints the exit code of each.
run_job() { # VOLUME
    local index words
    for ((index = 0; index < $(sed -n 's/^ *completions: //p' "$job"); index++)); do
        mapfile -t words < <(words_of_pod $index)
        (cd context && run_pod "$scratch/$1" "${words[@]}") 2>>"$scratch/log"
        echo $?
    done
}

an_image_shows_help_and_writes_to_work_alone() {
    make_volume plain
    run_pod "$scratch/plain" --help | grep -q attention || return
    run_pod "$scratch/plain" run --heads 2.6 --svg /work/a.svg --live --html /work/a.html 'Life is short' >screen || return
    [ -s plain/a.svg ] && [ "$(stat -c %u plain/a.html)" = 65532 ] || return
    ! run_pod "$scratch/plain" run --svg /a.svg 'Life is short' 2>message && grep -qi 'read-only' message
}

pods_join_to_one_run() {
    make_volume pods && (cd pods && ../context/attn-cli batch -m fable -q -o ../whole.jsonl prompts.jsonl) || return
    [ "$(run_job pods | sort -u)" = 0 ] && cat pods/results-*-of-00008.jsonl | cmp - whole.jsonl || return
    [ "$(run_job pods | sort -u)" = 0 ] # they say that they were done
}

# The job must name the code as final: the same record would fail again.
a_record_that_fails_is_final() {
    make_volume failing && sed -i '77s/.*/nonsense/' failing/prompts.jsonl || return
    [ "$(run_job failing | sort | uniq -c | tr -s ' \n' ' ')" = ' 7 0 1 6 ' ] &&
        grep -A 1 'action: FailIndex' "$job" | grep -q 'values: \[.*\b6\]' &&
        [ "$(cat failing/results-*-of-00008.jsonl | wc -l)" -ge 399 ]
}

the_job_has_the_form_of_its_schema() {
    "$python" -c 'import kubernetes_validate' 2>/dev/null ||
        { echo "skipped ${FUNCNAME[0]}: '$python' lacks kubernetes-validate" && return; }
    "$python" -m kubernetes_validate --strict -k 1.33 "$job" >log 2>&1 && "$python" -m kubernetes_validate --strict "$job" >>log 2>&1 ||
        { cat log && return 1; }
}

make_image || exit 1
for test in an_image_shows_help_and_writes_to_work_alone pods_join_to_one_run a_record_that_fails_is_final \
    the_job_has_the_form_of_its_schema; do
    if $test; then pass; else fail "tests/engines/check_container.sh # $test"; fi
done
finish check-container

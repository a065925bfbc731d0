#!/usr/bin/env bash
# check_container.sh - the image of .packaging/Dockerfile: built by buildah, which needs no daemon, and run
# without root, capabilities and network, over a read-only file system.
#
#   check_container.sh ARCHIVE     ARCHIVE of make static
#
# Needs root, which is given up. What cannot be had is skipped by name.
set -u
package=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh
dockerfile=$PWD/.packaging/Dockerfile image=$scratch/image

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
run_image() { # VOLUME ARGUMENT...
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

an_image_shows_help_and_writes_to_work_alone() {
    make_volume plain
    run_image "$scratch/plain" --help | grep -q attention || return
    run_image "$scratch/plain" run --heads 2.6 --svg /work/a.svg --live --html /work/a.html 'Life is short' >screen || return
    [ -s plain/a.svg ] && [ "$(stat -c %u plain/a.html)" = 65532 ] || return
    ! run_image "$scratch/plain" run --svg /a.svg 'Life is short' 2>message && grep -qi 'read-only' message
}

# Shards of a volume join to the rows of one run, also of processes that find them done.
shards_join_to_one_run() {
    local index
    make_volume shards && (cd shards && ../context/attn-cli run -m fable -q --items prompts.jsonl --jsonl ../whole.jsonl) || return
    for index in 0 1 2 3 2; do
        run_image "$scratch/shards" run -m fable -q --items prompts.jsonl --shard $index/4 --jsonl rows.jsonl --resume || return
    done
    cat shards/rows-*-of-00004.jsonl | cmp - whole.jsonl
}

make_image || exit 1
for test in an_image_shows_help_and_writes_to_work_alone shards_join_to_one_run; do
    if $test; then pass; else fail "tests/engines/check_container.sh # $test"; fi
done
finish check-container

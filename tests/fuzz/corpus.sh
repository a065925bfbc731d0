# corpus.sh - where the inputs of a fuzz target lie; for scripts in the root of the repository.
#
# An input that a person named is a file of tests/fuzz/corpus/TARGET; the others are members of
# tests/fuzz/corpus/TARGET.tar.

# Makes FOLDER hold what is in the archive of TARGET, and nothing else. FOLDER.unpacked is as old as the
# unpacking: a folder that is older, and younger than the archive, holds that.
unpack_corpus() { # TARGET FOLDER
    local archive=tests/fuzz/corpus/$1.tar
    if [ "$2.unpacked" -nt "$archive" ] && [ -d "$2" ] && [ ! "$2" -nt "$2.unpacked" ]; then
        return
    fi
    rm -rf "$2" "$2.unpacked"
    mkdir -p "$2"
    [ ! -e "$archive" ] || tar -xf "$archive" -C "$2"
    : >"$2.unpacked"
}

# Makes the archive of TARGET of the files in FOLDER; the same files give the same bytes. It is not
# compressed: git does that, and stores what changed.
pack_corpus() { # TARGET FOLDER
    (cd "$2" && LC_ALL=C find . -type f -printf '%P\0') | LC_ALL=C sort -z |
        tar -cf "tests/fuzz/corpus/$1.tar" -C "$2" --null -T - --format=ustar --mtime=@0 \
            --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r
}

# corpus.sh - where the inputs of a fuzz target lie; for scripts in the root of the repository.
#
# An input that a person named is a file of tests/fuzz/corpus/TARGET; the others are members of
# tests/fuzz/corpus/TARGET.tar.

# Makes FOLDER hold what is in the archive of TARGET, and nothing else.
unpack_corpus() { # TARGET FOLDER
    rm -rf "$2"
    mkdir -p "$2"
    [ ! -e "tests/fuzz/corpus/$1.tar" ] || tar -xf "tests/fuzz/corpus/$1.tar" -C "$2"
}

# Makes the archive of TARGET of the files in FOLDER; the same files give the same bytes. It is not
# compressed: git does that, and stores what changed.
pack_corpus() { # TARGET FOLDER
    (cd "$2" && LC_ALL=C find . -type f -printf '%P\0') | LC_ALL=C sort -z |
        tar -cf "tests/fuzz/corpus/$1.tar" -C "$2" --null -T - --format=ustar --mtime=@0 \
            --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r
}

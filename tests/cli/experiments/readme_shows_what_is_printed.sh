# Each script of data/experiments has its test beside this one, and the README shows what that expects.
experiments="$MODELS/../data/experiments"
for script in "$experiments"/*.sh; do
    name=$(basename "$script" .sh)
    sed -n "/^\\$ sh data\/experiments\/$name.sh\$/,/^\`\`\`\$/p" "$experiments/README.md" | sed '1d;$d' |
        diff - "$MODELS/../tests/cli/experiments/$name.out" && echo "$name"
done

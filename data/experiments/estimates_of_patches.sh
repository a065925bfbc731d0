#!/bin/sh
# estimates_of_patches.sh - how well one gradient stands for a run a part: Pearson's correlation of
# estimates with exact patches, over all parts of fable, for its agreement of verb and subject and
# for a name that comes back; and a picture of that, of heads patched one by one and estimated.
set -eu

# The correlation that a note says of all parts.
correlate() {
    attn-cli patch --estimate "$1" --verify 9999 --site "$2" --csv /dev/null --clean "$clean" \
        --corrupted "$corrupted" --target "$target" --foil "$foil" 2>&1 |
        sed -n 's/.*patched exactly, Pearson \([-0-9.]*\),.*/\1/p'
}

compare() {
    echo "$clean / $corrupted"
    printf '%-10s %6s %6s %6s\n' "" atp relp ig
    for site in z q k v mlp_out resid_pre; do
        printf '%-10s' "$site"
        for method in atp relp ig; do
            printf ' %6s' "$(correlate "$method" "$site")"
        done
        echo
    done
}

clean="The keys near the door" corrupted="The key near the door" target=" are" foil=" is"
compare
clean="When Mary and John went to the store, John gave a drink to"
corrupted="When John and Mary went to the store, Mary gave a drink to"
target=" Mary" foil=" John"
echo
compare
for how in "--sort effect --columns layer,head,effect" \
    "--estimate ig --verify 0 --sort estimate --columns layer,head,estimate"; do
    echo
    attn-cli patch -q --limit 5 --site z --clean "$clean" \
        --corrupted "$corrupted" --target "$target" --foil "$foil" $how
done

# A site that is named must be there; a glob means those that there are, and so do the default ones.
run() { attn-cli run -m life-is-short "Life is short" --mask none "$@" | tail -5; echo "${PIPESTATUS[0]}"; }
run --attention lowrank:2
run --attention lowrank:2 -q
run --attention lowrank:2 --sites pattern
run --attention lowrank:2 --sites 'pattern*'
run --attention lowrank:2 --sites pattern_lowrank,z
run --attention linear --sites qk
run --attention linear --sites 'q*,pattern'
run --sites pattern_dropped
run --attention lowrank:2 --tidy x.csv

# What reaches the number of keys is exact attention, bit for bit where keys lie together.
run() { attn-cli run -m tiny-gpt2 "The keys to the cabinet" --sites pattern,z,resid_post --json - "$@" | grep -v '^"options"'; }
run >full
for kind in window:99 block:99 strided:99 strided:1 random:99 hybrid:99:3 hybrid:2:1; do
    run -q --attention $kind >other
    cmp full other && echo $kind
done

for output in --tidy --json --npz; do
    attn-cli run -m life-is-short $output /dev/full "Life is short"
    echo $?
done
mkdir out && ln -s /dev/full out/blocks.0.attn.hook_z.npy
attn-cli run -m life-is-short --npy out "Life is short"
echo $?
ls -A out

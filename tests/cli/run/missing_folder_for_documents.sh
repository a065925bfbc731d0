for output in --tidy --json --npy; do
    attn-cli run -m life-is-short $output missing/out "Life is"
    echo $?
done

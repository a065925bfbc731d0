for output in --tidy --json --npy; do
    attn-cli run $output missing/out "Life is"
    echo $?
done

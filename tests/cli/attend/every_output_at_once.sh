cd "$FIXTURES/../golden/attend/004_simple_attention" || exit
scratch=$OLDPWD
attn-cli attend --q q.npy --k k.npy --v v.npy --csv "$scratch/csv" --npy "$scratch/npy" \
    --npz "$scratch/all.npz" --tidy "$scratch/tidy.csv" --json "$scratch/all.json" --heads 1 --queries 0,-1
cd "$scratch" && ls csv npy
cat csv/H01.pattern.csv tidy.csv

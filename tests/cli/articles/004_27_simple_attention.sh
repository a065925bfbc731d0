# torch.rand(2, 4, 8) three times: output [2, 4, 8], and rows of weights that add to 1. The article
# names no seed and prints two rows of two digits, which no seed from 0 to 20000 gives.
for name in q k v; do
    cp "$FIXTURES/../golden/004_simple_attention/$name.npy" .
done
attn-cli attend --q q.npy --k k.npy --v v.npy --npy .
head -c 128 z.npy | grep -ao "'shape': ([^)]*)"
attn-cli attend --q q.npy --k k.npy --v v.npy --tidy - |
    awk -F , 'NR > 1 { sum[$3 " " $4] += $8 } END { for (row in sum) printf "%s: %.6f\n", row, sum[row] }' | sort

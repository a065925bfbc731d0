# [[0,1,1,1],[0,0,1,1],[0,0,0,1],[0,0,0,0]], 1 what is masked, of context_length 4; also a text of two words
attn-cli init model --vocab-from "a b c d" --set d_model=2 --set n_ctx=4 --draw embed=randn@1 --draw heads=rand
for text in "a b c d" "a b"; do
    attn-cli run -m model --sites pattern --csv - "$text" |
        awk -F , 'NR > 1 { for (j = 2; j <= NF; j++) printf "%d%s", $j == "", j < NF ? " " : "\n" }'
done
attn-cli run -m model "a b c d a"

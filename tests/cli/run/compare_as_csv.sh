attn-cli run -m tiny-gpt2 --attention log --layers 0,2 --heads 1 --compare --csv found --precision 4 'Cups, "two"'
head found/compare.csv found/compare_logits.csv
cut -d, -f1-5 found/compare_cost.csv
awk -F, 'NR > 1 && !($6 > 0 && $7 > 0) { print "no time was measured" }' found/compare_cost.csv

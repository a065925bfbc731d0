mkdir out
echo old >out/L00H00.pattern.csv
echo mine >out/other
attn-cli run -m life-is-short --csv out "Life is"
ls -A out
head -n 1 out/L00H00.pattern.csv

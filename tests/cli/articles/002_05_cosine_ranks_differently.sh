# "journey": by dot product starts, step, Your, with, one; by cosine starts 0.9997, with 0.9817,
# step 0.9141, Your 0.7808, one 0.7089
for similarity in dot cosine; do
    attn-cli run -m "$MODELS/your-journey" --similarity $similarity --sites qk --queries 1 --precision 4 --csv - \
        "Your journey starts with one step" | tr ',' '\n' | paste - - - - - - - |
        awk -F '\t' 'NR == 1 { split($0, word) } NR == 2 { for (j = 2; j <= NF; j++) if (j != 3) print $j, word[j] }' | sort -r
done

# 6x6, of which all 36 are printed
attn-cli run -m "$MODELS/your-journey" --sites qk --precision 4 --csv - "Your journey starts with one step" | tee scores
awk -F , 'NR > 1 { for (j = 2; j <= NF; j++) x[NR - 1, j - 1] = $j; n = NF - 1 }
    END { for (i = 1; i <= n; i++) for (j = 1; j < i; j++) differ += x[i, j] != x[j, i]; print differ + 0, "pairs differ" }' scores

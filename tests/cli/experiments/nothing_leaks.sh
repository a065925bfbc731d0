sh "$MODELS/../data/experiments/nothing_leaks.sh"

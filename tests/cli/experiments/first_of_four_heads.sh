sh "$MODELS/../data/experiments/first_of_four_heads.sh"

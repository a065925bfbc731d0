sh "$MODELS/../data/experiments/one_head_or_many.sh"

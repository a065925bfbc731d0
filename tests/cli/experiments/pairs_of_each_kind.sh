sh "$MODELS/../data/experiments/pairs_of_each_kind.sh"

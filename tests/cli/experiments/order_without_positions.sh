sh "$MODELS/../data/experiments/order_without_positions.sh"

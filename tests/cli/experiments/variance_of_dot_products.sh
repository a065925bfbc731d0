sh "$MODELS/../data/experiments/variance_of_dot_products.sh"

sh "$MODELS/../data/experiments/sharpness_of_softmax.sh"

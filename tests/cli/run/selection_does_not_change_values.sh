run() { attn-cli run -m "$MODELS/tiny-gpt2" --sites '*' --csv "$@" "The keys are here"; }
run all
run some --heads 1.2 --layers 0-1
for file in some/*; do
    cmp "$file" "all/${file#some/}"
done
ls some | grep pattern

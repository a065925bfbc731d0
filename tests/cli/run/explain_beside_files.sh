# the files hold what they hold without the page
attn-cli run -m "$MODELS/tiny-gpt2" --heads 1.0 --queries 2 --csv with --explain "The keys are" | head -n 1
attn-cli run -m "$MODELS/tiny-gpt2" --heads 1.0 --queries 2 --csv without "The keys are"
diff -r with without && ls with

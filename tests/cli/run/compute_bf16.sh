# Digits depend on the processor: what is the same everywhere, and how far from float32 it is.
attn-cli run -m fable --compute bf16 --top 1 "The cat sat on the" | cut -f2,3
attn-cli run -m fable --compute bf16 --compare "The cat sat on the" |
awk '/^kl in nats/ { near = $4 < 0.001 && $4 > 0 }
END { print near ? "near float32 and not it" : "not as it should be" }'
attn-cli run -m fable --compute bf16 --heads 0.0 --json - "The cat" | grep -o '"compute": *"[^"]*"'
attn-cli run -m fable --compute f64 "The cat"
echo $?

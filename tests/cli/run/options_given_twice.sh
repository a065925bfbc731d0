# What takes one value is refused when it comes twice, by whatever names; flags and lists may repeat.
refused() { attn-cli "$@" && echo "taken: $*"; echo $?; }
refused run --heads 0.1 --heads 2.2 "The keys"
refused run --npz a.npz --npz=a.npz "The keys"
refused run -p The --prompt keys
refused run --prompt The --sentence keys
refused run -t1 -qt2 "The keys"
refused run --eps 1 --eps 2 "The keys"
refused run --load map --load read "The keys"
refused run --top 1 --top 2 "The keys"
refused attend --x x.npy --x y.npy
refused tokenize --format ids --format json "The keys"
refused init toy --seed 1 --seed 1
refused inspect -m fable --model fable
ls -A
attn-cli run -q -q --quiet --next " are" --next " is" "The keys" | cut -f2
export ATTN_CLI_MODEL=$MODELS/absent ATTN_CLI_THREADS=2
attn-cli tokenize -m fable --format ids "The keys"
attn-cli run -m fable --threads 1 --top 1 "The keys" | wc -l

x=$FIXTURES/../golden/attend/003_simplified/x.npy
attend() { attn-cli attend "$@"; echo $?; }
attend
attend --q "$x" --k "$x"
attend --k "$x"
attend --x "$x" --v "$x"
attend --scores "$x" --q "$x"
attend --x "$x" --heads 1
attend --x "$x" --queries 6
attend --x "$x" --sites q
attend --x "$x" --layers 0
attend --x "$x" text
attend --scores "$x" --sites z

#!/bin/sh
# make_layout.sh - prints the C program that prints size and offsets of the public structs, as tests/install/layout.out has them.
cd "$(dirname "$0")/../.." || exit 1

printf '#include <attn/extra.h>\n\n#include <stddef.h>\n#include <stdio.h>\n\nint main(void)\n{\n'
awk '/^attn_/ { of = $1; place = "sizeof(struct " of ")" }
     /^ /     { place = "offsetof(struct " of ", " $1 ")" }
              { sub(/ [0-9]+$/, ""); printf "    printf(\"%s %%zu\\n\", %s);\n", $0, place }' tests/install/layout.out
echo '}'

/* batch.c - attn-cli batch: a name for `run` with --items, as many programs have. main.c makes it
 * the call of `run`, with its options; this is its help. */
#include "cmd/line/command.h"

const struct command command_batch = {
    .name = "batch",
    .summary = "a line of JSON for each of many texts",
    .usage = "[OPTIONS of run] [FILE]",
    .description =
        "Short for attn-cli run --items FILE --jsonl -, with the options of `run`.\n"
        "Without FILE the items come from standard input. 'attn-cli help items' explains\n"
        "what a file of items holds.\n",
    .examples =
        "  printf 'The keys\\nA cat\\n' | attn-cli batch --items-format lines\n"
        "  echo '{\"text\":\"The keys\"}' | attn-cli batch --top 2 --heads 2.2 --sites pattern\n",
    .args_size = 1,
};

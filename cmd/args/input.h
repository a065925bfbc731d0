/* input.h - what a model runs over: a text, ids or embeddings, and for cross-attention a source. */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "attn.h"

/* --source, which fills a text: the second sequence, or a file of it. */
extern const struct option_group source_options;

/* The numbers and texts that a request borrows. Initialize with = {0}. */
struct input {
    struct text text;
    int32_t *ids;
    struct attn_ndarray embeddings, source;
};

/* Reads what PROMPT and SOURCE, which may be NULL, say, and puts it into REQUEST, which borrows
 * INPUT. */
enum attn_status input_read(const struct prompt_args *prompt, const char *source,
                            struct input *input, struct attn_request *request,
                            struct attn_error *err);
void input_release(struct input *input);

#endif

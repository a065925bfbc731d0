/* prompt.h - the input of a command: a text from an option, an argument, a file or standard input;
 * token ids, embeddings or a picture instead; and a source for cross-attention. */
#ifndef CMD_PROMPT_H
#define CMD_PROMPT_H

#include "cmd/line/options.h"

#include "extra.h"

struct prompt_args {
    const char *text;       /* --sentence */
    const char *file;       /* --file; "-" is standard input */
    struct text_list plain; /* arguments that are no options: one text, or "-" */
    bool is_raw;
    struct attn_request asked; /* the input, and all else that parameters say of the request */
    struct attn_request_labels labels;
};

/* Options that fill a struct prompt_args: a text as an argument or a file; a text by name,
 * --sentence; both with numbers instead of a text, --sentence to --embeds. */
extern const struct option_group prompt_options, prompt_text_options, prompt_all_options;
/* The same, each from a list of run/input_params.h: special tokens, a prompt in front of a text and
 * its largest length; --pair; --key-mask; --source, --source-file and
 * --source-ids. */
extern const struct option_group special_options, pair_options, key_mask_options, source_options;
/* The same: --ids, --types and --embeds; --image and --label; other labels. */
extern const struct option_group prompt_numbers_options, prompt_image_options, prompt_label_options;

/* Whether there are labels to compare with. */
bool prompt_has_labels(const struct prompt_args *args);

/* Whether there is a text, ids, embeddings or a picture. */
bool prompt_is_given(const struct prompt_args *args);

/* Checks that CALL has exactly one of text, file, ids, embeds and image in ARGS, and what goes with
 * it; HINT shows how to give one. */
enum attn_status prompt_check(const struct call *call, const struct prompt_args *args,
                              const char *hint, struct attn_error *err);

/* Initialize a struct prompt_args. */
#define PROMPT_ARGS_DEFAULT                                                                        \
    {                                                                                              \
        .asked = {.size = sizeof(struct attn_request), .outputs.precision = -1 }                   \
    }

/* Sets REQUEST to what ARGS, which it borrows, ask; their text is left out. */
void prompt_fill(const struct prompt_args *args, struct attn_request *request);

/* A text and who owns it. */
struct text {
    const char *data; /* [size], not terminated */
    size_t size;
    char *owned; /* NULL when data is borrowed */
};

/* The text of ARGS, which have no ids. */
enum attn_status prompt_read(const struct prompt_args *args, struct text *text,
                             struct attn_error *err);
void text_release(struct text *text);

/* The name of --pair, --key-mask, --types or --raw, the first that is given; or NULL. */
const char *pair_find_given(const struct prompt_args *args);

/* Reads the text of ARGS, if there is one, into REQUEST, which borrows TEXT, {0} before. */
enum attn_status prompt_read_into(const struct prompt_args *args, struct text *text,
                                  struct attn_request *request, struct attn_error *err);

#endif

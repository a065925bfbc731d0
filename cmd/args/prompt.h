/* prompt.h - options for the input of a command: a text as an option, as an argument, in a file or
 * on standard input; or token ids, embeddings or a picture; and a source for cross-attention. */
#pragma once

#include "cmd/line/options.h"

#include "extra.h"

struct prompt_args {
    const char *text;          /* --sentence */
    const char *file;          /* --file; "-" is standard input */
    bool is_raw;               /* keep the final newline of that file */
    struct text_list plain;    /* arguments that are not options: one text, or "-" */
    struct attn_request asked; /* the input, and what other parameters set in the request */
    struct attn_request_labels labels;
};

/* Options of struct prompt_args: for a text as --sentence; as an argument or in a file. */
extern const struct attn_param_list prompt_text_options, prompt_options;

/* The options for all kinds of input, from --sentence to --embeds. */
#define PROMPT_OPTIONS(at)                                                                         \
    {&prompt_text_options, (at)}, {&prompt_options, (at)},                                         \
        {&attn_reading_params, (at) + offsetof(struct prompt_args, asked)},                        \
        {&attn_pair_params, (at) + offsetof(struct prompt_args, asked)},                           \
    {                                                                                              \
        &attn_numbers_params, (at) + offsetof(struct prompt_args, asked)                           \
    }

/* Returns true if there are labels to compare an image with. */
bool prompt_has_labels(const struct prompt_args *args);

/* Returns true if there is a text, ids, embeddings or a picture. */
bool prompt_is_given(const struct prompt_args *args);

/* Checks that CALL has exactly one of text, file, ids, embeds and image in ARGS, and that options
 * which depend on these are allowed. HINT is a complete example. */
enum attn_status prompt_check(const struct call *call, const struct prompt_args *args,
                              const char *hint, struct attn_error *err);

/* Initializes a struct prompt_args. */
#define PROMPT_ARGS_DEFAULT                                                                        \
    {                                                                                              \
        .asked = {.size = sizeof(struct attn_request), .outputs.precision = -1 }                   \
    }

/* Returns the time for chat templates: SOURCE_DATE_EPOCH, or that of the clock on the wall. */
int64_t prompt_time(void);

/* Copies the input and the parameters of ARGS to REQUEST, which borrows from them. The text is not
 * copied. */
void prompt_fill(const struct prompt_args *args, struct attn_request *request);

/* A text, which is either owned or borrowed. */
struct text {
    const char *data; /* [size], not terminated */
    size_t size;
    char *owned; /* NULL: `data` is borrowed */
};

/* Reads the text that ARGS name. ARGS must not have ids. */
enum attn_status prompt_read(const struct prompt_args *args, struct text *text,
                             struct attn_error *err);
void text_release(struct text *text);

/* Returns the name of the first option that is given of --pair, --key-mask and --types; NULL if
 * none is. */
const char *pair_find_given(const struct prompt_args *args);

/* If *messages is "-", reads standard input, a JSON list, into TEXT, which *messages becomes. */
enum attn_status prompt_read_messages(struct text *text, const char **messages,
                                      struct attn_error *err);

/* Reads the text that ARGS name, if any, into REQUEST, which borrows it from TEXT. TEXT must be {0}
 * before. */
enum attn_status prompt_read_into(const struct prompt_args *args, struct text *text,
                                  struct attn_request *request, struct attn_error *err);

/* prompt.h - the input of a command: a text from an option, an argument, a file or standard input;
 * token ids, embeddings or a picture instead; and a source for cross-attention. */
#ifndef CMD_PROMPT_H
#define CMD_PROMPT_H

#include "cmd/line/options.h"

#include "extra.h"

struct prompt_args {
    const char *text;       /* --prompt, --sentence */
    const char *file;       /* --file; "-" is standard input */
    const char *ids;        /* --ids, --decode */
    const char *source;     /* --source: a text or a file */
    const char *source_ids; /* --source-ids */
    const char *types;      /* --types: of the tokens of --ids */
    const char *pair;       /* --pair: a second text */
    const char *key_mask;   /* --key-mask */
    const char *embeds;     /* --embeds: an array instead of a text */
    const char *image;      /* --image: a picture instead of a text */
    struct text_list label; /* --label: texts that a picture or a text is compared with */
    struct text_list label_ids, label_image; /* the same as ids; pictures, of a text */
    struct text_list plain;                  /* arguments that are no options: one text, or "-" */
    const char *with_prompt;                 /* --with-prompt: the name of a model's prompt */
    int64_t max_tokens;                      /* --max-tokens; 0: not given */
    bool is_raw;
    int special;        /* enum attn_special */
    int special_tokens; /* enum attn_special_tokens */
};

/* Options that fill a struct prompt_args: a text as an argument or a file, and how to read it. */
extern const struct option_group prompt_options;
/* Options for every text: special tokens, a prompt in front of it, and its largest length. */
extern const struct option_group special_options;
/* The same: a text by name, --prompt or --sentence. */
extern const struct option_group prompt_text_options;
/* The same: numbers instead of a text, --ids and --embeds. */
extern const struct option_group prompt_numbers_options;
/* The same: additions to a text, --pair and --key-mask. */
extern const struct option_group pair_options, key_mask_options;
/* The same: a picture instead of a text, --image. */
extern const struct option_group prompt_image_options;
/* The same: the second sequence, --source and --source-ids. */
extern const struct option_group source_options;
/* Texts and numbers: --prompt to --embeds. */
extern const struct option_group prompt_all_options;

/* Whether there are labels to compare with. */
bool prompt_has_labels(const struct prompt_args *args);

/* Whether there is a text, ids, embeddings or a picture. */
bool prompt_is_given(const struct prompt_args *args);

/* Checks that there is exactly one of text, file, ids, embeds and image; HINT shows how to give
 * one. */
enum attn_status prompt_check(const struct prompt_args *args, const char *hint,
                              struct attn_error *err);

/* Sets in REQUEST how special tokens are read. */
void prompt_say_special(const struct prompt_args *args, struct attn_request *request);

/* Whether the name of a file has something before its ENDING, ".npy". */
bool path_has_ending(const char *path, const char *ending);

/* A text and who owns it. */
struct text {
    const char *data; /* [size], not terminated */
    size_t size;
    char *owned; /* NULL when data is borrowed */
};

/* The text of ARGS, which has no ids. */
enum attn_status prompt_read(const struct prompt_args *args, struct text *text,
                             struct attn_error *err);
void text_release(struct text *text);

/* Token ids separated by commas or spaces, none between two commas is an error; free *ids with
 * free(). */
enum attn_status ids_parse(const char *list, int32_t **ids, size_t *n, struct attn_error *err);

/* Sets INPUT to TEXT, or to the ids of LIST, which the caller owns as *ids; both may be NULL. */
enum attn_status text_or_ids_read(const char *text, const char *list, struct attn_input *input,
                                  int32_t **ids, struct attn_error *err);

/* The name of --pair, --key-mask, --types or --raw, the first that is given; or NULL. */
const char *pair_find_given(const struct prompt_args *args);

/* The numbers and texts that a request borrows. Initialize with = {0}. */
struct input {
    struct text text;
    int32_t *ids, *types, *key_mask, *source_ids;
    struct attn_ndarray embeddings, source;
    struct attn_request_labels labels;
    struct attn_label_ids *label_ids; /* [labels.n_ids] */
};

/* Sets --label, --label-ids and --label-image of PROMPT in PREDICT, which borrows INPUT. */
enum attn_status labels_read(const struct prompt_args *prompt, struct input *input,
                             struct attn_request_predict *predict, struct attn_error *err);

/* Sets --source and --source-ids of PROMPT in REQUEST, which borrows both and INPUT. */
enum attn_status prompt_source_read(const struct prompt_args *prompt, struct input *input,
                                    struct attn_request *request, struct attn_error *err);

/* Sets INPUT to SOURCE, a text, a file of rows or NULL; borrows SOURCE and ROWS. */
enum attn_status source_read(const char *source, struct attn_ndarray *rows,
                             struct attn_input *input, struct attn_error *err);

/* Sets --pair and --key-mask of PROMPT in REQUEST, which has its text and its source. The mask,
 * *owned, is for the source if there is one. */
enum attn_status pair_read(const struct prompt_args *prompt, int32_t **owned,
                           struct attn_request *request, struct attn_error *err);

/* Reads PROMPT but for its source into REQUEST, which borrows INPUT. */
enum attn_status input_read(const struct prompt_args *prompt, struct input *input,
                            struct attn_request *request, struct attn_error *err);
void input_release(struct input *input);

#endif

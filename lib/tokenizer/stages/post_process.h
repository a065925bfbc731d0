/*
 * post_process.h - the last step over the tokens of a text: adds special tokens around them, and
 * between two texts; sets the type of each token; trims white space off ranges.
 */
#ifndef ATTN_TOKENIZER_STAGES_POST_PROCESS_H
#define ATTN_TOKENIZER_STAGES_POST_PROCESS_H

#include "tokenizer/tokenizer.h"

/* An item of a template: an added token, or the tokens of a text. */
enum { ATTN_TEMPLATE_TEXT = -1, ATTN_TEMPLATE_PAIR = -2 };

struct attn_template_item {
    int32_t id;   /* or one of these */
    uint8_t type; /* of the tokens */
};

enum { ATTN_TEMPLATE_MAX = 66 }; /* items; published tokenizers have at most seven */

struct attn_template {
    struct attn_template_item items[ATTN_TEMPLATE_MAX];
    size_t n; /* 0: the tokens of the text, or of both texts, with the types 0 and 1 */
};

/* Initialize with = {0}: no tokens are added, and pairs are not supported. */
struct attn_post_process {
    struct attn_template single, pair;
    bool takes_pair;
    bool trims;      /* white space off the ranges of the text's tokens */
    bool has_prefix; /* a space was put in front of the text: it has no place to be trimmed */
};

/* Appends ITEM; ATTN_UNSUPPORTED when there are too many. */
enum attn_status attn_template_append(struct attn_template *to, struct attn_template_item item,
                                      struct attn_error *err);

/* Replaces the single text's template by OUTER, in which the old template takes the place of the
 * text. */
enum attn_status attn_post_process_wrap(struct attn_post_process *post,
                                        const struct attn_template *outer, struct attn_error *err);

/* Adds the template of one text, as above, and the template of two texts, which cannot be combined
 * with others. */
enum attn_status attn_post_process_take(struct attn_post_process *post,
                                        const struct attn_template *single,
                                        const struct attn_template *pair, struct attn_error *err);

/* The same with CLS before and SEP after a text, and between two as BERT or RoBERTa has it. */
enum attn_status attn_post_process_set_ends(struct attn_post_process *post, int32_t cls,
                                            int32_t sep, bool is_roberta, struct attn_error *err);

/* The template of one text, or of two. */
const struct attn_template *attn_post_process_template(const struct attn_post_process *post,
                                                       bool is_pair);

/*
 * Takes as many characters off both ends of the range of each token of TEXT, those of ENCODING from
 * FIRST on, as its key has white space there, in GPT-2's alphabet or itself; an added token that
 * strips keeps the white space that it took.
 */
void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text, size_t first,
                            struct attn_encoding *encoding);

#endif

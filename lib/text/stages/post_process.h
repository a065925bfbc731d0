/*
 * post_process.h - what is done with the tokens of a text at the end: special tokens are put around
 * them, and between those of two texts; each token gets a type; white space is taken off ranges.
 */
#ifndef ATTN_TEXT_STAGES_POST_PROCESS_H
#define ATTN_TEXT_STAGES_POST_PROCESS_H

#include "text/tokenizer.h"

/* What is appended in turn: a token that is added, or the tokens of a text. */
enum { ATTN_TEMPLATE_TEXT = -1, ATTN_TEMPLATE_PAIR = -2 };

struct attn_template_item {
    int32_t id;   /* or one of these */
    uint8_t type; /* of the tokens */
};

enum { ATTN_TEMPLATE_MAX = 66 }; /* items; published tokenizers have at most seven */

struct attn_template {
    struct attn_template_item items[ATTN_TEMPLATE_MAX];
    size_t n; /* 0: of one text its tokens, of two those of both, of the types 0 and 1 */
};

/* Initialize with = {0}: nothing is added, and there are no pairs. */
struct attn_post_process {
    struct attn_template single, pair;
    bool takes_pair;
    bool trims;      /* white space off the ranges of the text's tokens */
    bool has_prefix; /* a space was put in front of the text: it has no place to be trimmed */
};

/* Appends ITEM; ATTN_UNSUPPORTED when there are too many. */
enum attn_status attn_template_append(struct attn_template *to, struct attn_template_item item,
                                      struct attn_error *err);

/* Makes the single text's template one in which what it was stands for the text of OUTER. */
enum attn_status attn_post_process_wrap(struct attn_post_process *post,
                                        const struct attn_template *outer, struct attn_error *err);

/* Takes the template of one text, as above, and that of two, with which no other goes together. */
enum attn_status attn_post_process_take(struct attn_post_process *post,
                                        const struct attn_template *single,
                                        const struct attn_template *pair, struct attn_error *err);

/* The same with CLS before and SEP after a text, and between two as BERT or RoBERTa has it. */
enum attn_status attn_post_process_take_ends(struct attn_post_process *post, int32_t cls,
                                             int32_t sep, bool is_roberta, struct attn_error *err);

/* The template of one text, or of two. */
const struct attn_template *attn_post_process_template(const struct attn_post_process *post,
                                                       bool is_pair);

/*
 * Takes as many characters off both ends of the range of each token of TEXT, those of ENCODING from
 * FIRST on, as its key has white space there, in GPT-2's alphabet or itself; an added token that
 * strips has what it took of the text.
 */
void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text, size_t first,
                            struct attn_encoding *encoding);

#endif

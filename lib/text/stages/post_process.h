/*
 * post_process.h - what is done with the tokens of a text at the end: special tokens are put before
 * and after them, and white space is taken off their ranges.
 */
#ifndef ATTN_TEXT_STAGES_POST_PROCESS_H
#define ATTN_TEXT_STAGES_POST_PROCESS_H

#include "text/tokenizer.h"

/* Initialize with = {0}; end with attn_id_list_release. */
struct attn_id_list {
    int32_t *ids; /* owns; [n] */
    size_t n, capacity;
};

/* Initialize with = {0}: nothing is done. End with attn_post_process_release. */
struct attn_post_process {
    struct attn_id_list front, back; /* special tokens before and after the text */
    bool trims;                      /* white space off the ranges of the text's tokens */
    bool has_prefix; /* a space was put in front of the text: it has no place to be trimmed */
};

/* Puts ID before what is in front, or after what is at the back. */
enum attn_status attn_post_process_add(struct attn_post_process *post, bool is_front, int32_t id,
                                       struct attn_error *err);
void attn_post_process_release(struct attn_post_process *post);

/* Appends the tokens of LIST without a place, 0..0. */
enum attn_status attn_post_process_append(const struct attn_id_list *list,
                                          struct attn_encoding *encoding, struct attn_error *err);

/*
 * Takes as many characters off both ends of the range of each token of TEXT as its key has white
 * space there, in GPT-2's alphabet or itself; an added token that strips has what it took of the
 * text.
 */
void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text,
                            struct attn_encoding *encoding);

#endif

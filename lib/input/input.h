/* input.h - what a request computes: a text, token ids, embeddings, a picture or arrays, and how
 * they are read. */
#ifndef ATTN_INPUT_INPUT_H
#define ATTN_INPUT_INPUT_H

#include "tokenizer/tokenizer.h"

struct attn_ndarray; /* formats/ndarray.h */
struct attn_pixels;  /* image/pixels.h */

/* One of: a text, token ids, embeddings, a picture; or of attention on arrays, q, k and v, or
 * scores and v. */
struct attn_input {
    const char *text; /* [n_text] bytes, UTF-8 */
    size_t n_text;
    const int32_t *ids; /* [n_id] */
    size_t n_id;
    const struct attn_ndarray *embeddings; /* [T, d_model]; of a source [S, d_source] */
    const struct attn_ndarray *q, *k, *v;  /* [T, E], [H, T, E] or [B, H, T, E] each; the number of
                                              heads of k and v may divide that of q */
    const struct attn_ndarray *scores;     /* [T, S], [H, T, S] or [B, H, T, S] instead of q, k */
    const int32_t *types; /* [n_type] of the tokens, one for each of `ids`; NULL: 0 */
    size_t n_type;
    const char *pair; /* [n_pair] a second text after `text`, as the tokenizer puts them together,
                         with its types; NULL: there is none */
    size_t n_pair;
    const int32_t *key_mask; /* [n_key_mask] of each token or row: 1, or 0: it is masked; of
                                encoders and sources; NULL: all are 1 */
    size_t n_key_mask;
    const char *image; /* the path of a picture (image/pixels.h), for models that read them */
    const struct attn_pixels *pixels; /* or what was made of one; its `shown` may be NULL */
    const void *later[2];             /* here and below NULL: room for later fields */
};

/* What the rows or the columns of arrays are called. */
struct attn_label_list {
    const char *const *items; /* [n] bytes of each, not terminated; NULL: none are given */
    const size_t *sizes;      /* [n] */
    size_t n;
    const char *name; /* the file that they are from, for messages */
};

/* A list of words. */
struct attn_word_texts {
    const char *text; /* one after the other, each terminated */
    size_t n;         /* 0: there is none */
};

/* Positions with a name, "pos.NAME" of an item. SPEC lists numbers or words (input/position.h). */
struct attn_item_place {
    const char *name, *spec; /* terminated */
};

/* Places by name. Wherever a position of the text is asked for, such a name stands for its SPEC,
 * even if it is a word of the text. */
struct attn_places {
    const struct attn_item_place *items; /* [n] */
    size_t n;
    const struct attn_places *others; /* looked up for names that are not among these; or NULL */
};

/* How the inputs are read. */
struct attn_request_reading {
    enum attn_special special;               /* how special tokens in texts are taken */
    enum attn_special_tokens special_tokens; /* whether the tokenizer adds its own to texts */
    const char *example; /* the hint of the failure when a text has no tokens; or NULL */
    struct attn_label_list queries, keys; /* of arrays; empty: rows and columns have numbers */
    const struct attn_places *places;     /* or NULL */
    const char *with_prompt; /* the name of the prompt of a model of sentences that is put in front
                                of each text; NULL: none is */
    const void *later[2];
};

#endif

/* input.h - the input of a request: a text, token ids, embeddings, a picture or arrays, and how
 * they are read. */
#ifndef ATTN_INPUT_INPUT_H
#define ATTN_INPUT_INPUT_H

#include "tokenizer/tokenizer.h"
#include "trace/lists.h"

struct attn_ndarray; /* formats/ndarray.h */
struct attn_pixels;  /* towers/pixels.h */

/* The input of one run: a text, token ids, embeddings or a picture. For attention without a model:
 * the arrays q, k and v, or scores and v. */
struct attn_input {
    const char *text; /* [n_text] bytes, UTF-8 */
    size_t n_text;
    const int32_t *ids; /* [n_id] */
    size_t n_id;
    const struct attn_ndarray *embeddings; /* [T, d_model]; of a source [S, d_source] */
    const struct attn_ndarray *q, *k, *v;  /* [T, E], [H, T, E] or [B, H, T, E] each; the number of
                                              heads of k and v may divide that of q */
    const struct attn_ndarray *scores;     /* [T, S], [H, T, S] or [B, H, T, S] instead of q, k */
    const int32_t *types;                  /* [n_type] the type of each of `ids`; NULL: all are 0 */
    size_t n_type;
    const char *pair; /* [n_pair] a second text, which the tokenizer joins to `text`, with its
                         types; NULL: one text */
    size_t n_pair;
    const int32_t *key_mask; /* [n_key_mask] 0 masks a token or row, 1 keeps it; for encoders and
                                sources; NULL: all are kept */
    size_t n_key_mask;
    const char *image; /* the path of a picture (towers/pixels.h), for models that read them */
    const struct attn_pixels *pixels; /* or its pixels; their `shown` may be NULL */
    const char *continuation; /* [n_continuation] an answer, whose tokens are appended to those of
                                 the text or the ids; NULL: none */
    size_t n_continuation;
    const int32_t *continuation_ids; /* [n_continuation_id] or its token ids */
    size_t n_continuation_id;
    /* [n_image] several pictures in one text: their paths, of which `image` is the first; those
     * that are NULL are in pixels [n_image]. With one picture, these are not read. */
    const char *const *images;
    size_t n_image;
    const void *later[4]; /* room for later fields: NULL, here and below */
};

/* Labels of the rows or the columns of arrays. */
struct attn_label_list {
    const char *const *items; /* [n] the bytes of each label, not terminated; NULL: no labels */
    const size_t *sizes;      /* [n] */
    size_t n;
    const char *name; /* the file of the labels, for messages */
};

/* A list of words. */
struct attn_word_texts {
    const char *text; /* all labels, each terminated */
    size_t n;         /* 0: there are no words */
};

/* A named list of positions, "pos.NAME" of an item. */
struct attn_item_place {
    const char *name; /* terminated */
    struct attn_number_list spec;
};

/* Named positions. A request may use such a name for a position; it takes precedence over a word of
 * the text. */
struct attn_places {
    const struct attn_item_place *items; /* [n] */
    size_t n;
    const struct attn_places *others; /* where other names are looked up; or NULL */
    const void *later[4];
};

/* How a text becomes a conversation. */
struct attn_chat_request {
    /* "on": by the template of the model; "off"; or the path of a template. NULL: on beside a
     * picture, off for a text alone. */
    const char *form;
    const char *system;   /* what the system says before the text; or NULL */
    const char *messages; /* instead of a text: the path of a JSON list of objects with `role` and
                             `content`, or the list itself, which begins with '['; or NULL */
    int64_t now; /* the time for templates that ask for it: seconds since 1970 of the clock on the
                    wall; 0: such templates fail */
    /* The functions that a model may call: the path of a JSON list of objects with `function` or
     * `name`, or the list itself; or NULL. */
    const char *tools;
    /* [n_set] variables of the template: "enable_thinking=false", a name and JSON, or an object
     * with names and values, which begins with '{'. */
    const char *const *sets;
    size_t n_set;
    const void *later[4];
};

/* Whether large pictures beside a text are also cut into tiles, by models that do so. */
enum attn_image_tiles { ATTN_IMAGE_TILES_ON = 0, ATTN_IMAGE_TILES_OFF = 1 };

/* How the inputs are read: special tokens, labels, named positions and prompts. */
struct attn_request_reading {
    enum attn_special special; /* how special tokens in texts are parsed */
    /* Whether the tokenizer adds special tokens to texts. */
    enum attn_special_tokens special_tokens;
    const char *example; /* the hint of the error for a text without tokens; or NULL */
    /* labels of arrays; empty: rows and columns are numbered */
    struct attn_label_list query_labels, key_labels;
    const struct attn_places *places; /* or NULL */
    const char *prompt_name; /* the name of the prompt that a model of sentences puts in front of
                                each text, or "off"; NULL: the default prompt, if it has one */
    enum attn_image_tiles image_tiles;
    const void *later[4];
};

#endif

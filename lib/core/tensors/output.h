/* output.h - labels of rows and columns, and predictions. */
#ifndef ATTN_TENSORS_OUTPUT_H
#define ATTN_TENSORS_OUTPUT_H

#include "trace/trace.h"

#include <stdint.h>

struct attn_picture_maps; /* towers/maps/picture_maps.h */
struct attn_pixels;       /* towers/pixels.h */

/* An option that affected the run, as the user wrote it. */
struct attn_option {
    const char *name, *value;
};

/* The axes of input arrays, if attention is computed on arrays without a model (attn_attend). In
 * the trace, such arrays appear as one layer, 0, with one list of heads: head h of batch b is b *
 * (n_head / n_batch) + h. Outputs restore the axes of the inputs, and use plain names: array
 * `pattern` [T, S], [H, T, S] or [B, H, T, S], `z` [T, Ev], [H, T, Ev] or [B, H, T, Ev]; file
 * pattern.csv, H03.pattern.csv or B00H03.pattern.csv. If heads are selected, the array `heads`
 * lists them. If the same heads are selected in all batches, these are heads of a batch, and arrays
 * are [B, H', T, S]; otherwise they are heads of the one list, and arrays are [H', T, S]. The
 * format tidy has layer 0, and heads of the one list. */
struct attn_array_axes {
    int rank;       /* rank of the inputs: 2 [T, E], 3 [H, T, E], 4 [B, H, T, E] */
    size_t n_batch; /* B, a divisor of n_head and n_kv_head; 1 unless rank is 4 */
};

/* The cropped and resized picture behind the map of a head. The first n_front keys are [CLS] and
 * registers; then come n_row rows of n_col patches, which divide the picture evenly. */
struct attn_backdrop {
    /* [height, stride, 3] sRGB; only `width` pixels of each row are shown; borrowed */
    const unsigned char *rgb;
    size_t height, width, stride;
    size_t n_front;
    size_t n_row, n_col;
    bool is_in_text; /* the positions before and after its cells are those of a text */
    /* In a text, the positions that are drawn if all are selected, from `usual` on: those that
     * predict the answer. */
    size_t usual, n_usual;
    const char *neutral;  /* the question whose map is taken away from others; or NULL */
    bool is_ratio;        /* others are divided by its map instead */
    const void *later[4]; /* NULL: room for fields of later versions */
};

/* Labels and shapes of a run. Writers borrow the pointers for their lifetime. */
struct attn_labels {
    const struct attn_selection *selection; /* what the events contain; also has the sizes */
    const char *model;                      /* name of the model, or NULL */
    const struct attn_array_axes *axes;     /* set for attention on arrays; NULL: a model is run */
    const int32_t *ids;                     /* [n_position], or NULL if the input was embeddings */
    const char *const *tokens; /* [n_position] bytes of each token (not null-terminated), or NULL */
    const size_t *token_sizes; /* [n_position] */
    const int32_t *source_ids; /* [n_source] ids of a source that an encoder reads, or NULL */
    /* [n_source] tokens of the source of cross-attention, or NULL */
    const char *const *source_tokens;
    const size_t *source_token_sizes; /* [n_source] */
    const size_t
        *words; /* [n_position] the word of each token, ascending from 0 by 0 or 1; or NULL */
    const size_t *source_words; /* [n_source] the same for the source */
    const char *piece;          /* prefix of tokens that continue a word, "##"; or NULL */
    /* [n_position] where each token begins and ends in its text, in bytes; or NULL */
    const size_t *begin, *end;
    /* [n_option] options that affected the run; json lists them */
    const struct attn_option *options;
    size_t n_option;
    const size_t *mask; /* position of the only mask token in the text of an encoder, or NULL */
    /* number of tokens that the tokenizer added at the front and at the back */
    size_t n_front, n_back;
    const int32_t *types;                 /* [n_position] token types, or NULL: all are 0 */
    const struct attn_backdrop *backdrop; /* set if positions are patches of a picture; or NULL */
    /* [n_position] 1: token of the text, 2: of its pair, 0: added by the tokenizer; NULL without a
     * pair */
    const uint8_t *texts;
    const char *text, *pair; /* [n_text] and [n_pair] bytes of the input texts, or NULL */
    size_t n_text, n_pair;
    bool has_residues;           /* labels of one-letter tokens include their position: K17 */
    const unsigned char *region; /* [n_position] the part of a prompt with a picture that a token
                                    belongs to (towers/prompt/picture_prompt.h), or NULL */
    const struct attn_backdrop *seen; /* the picture in the text, whose cells are positions from
                                         n_front on; or NULL */
    const struct attn_pixels *pixels; /* of the first picture in the text; or NULL */
    /* of the pictures in the text, when all events have come: where the heads look, or NULL if no
     * output needs it; NULL without a picture */
    struct attn_picture_maps **maps;
    /* [n_position] where heads park weight (measures/parks.h); NULL: unknown */
    const bool *parks;
    const void *later[8]; /* NULL: room for fields of later versions */
};

/* The keys that are left out of rows: the first, or those where heads park weight. */
enum attn_hidden { ATTN_HIDDEN_NONE = 0, ATTN_HIDDEN_FIRST = 1, ATTN_HIDDEN_PARKS = 2 };

/* A token, label or span that the model predicts. */
struct attn_candidate {
    size_t position; /* position after which it is predicted */
    int32_t id;
    const char *token; /* bytes of the token, or NULL */
    size_t token_size;
    double prob;          /* 0..1 */
    double score;         /* the logit */
    const void *later[4]; /* NULL: room for fields of later versions */
};

struct attn_next {
    size_t position;      /* position after which it is predicted */
    const char *text;     /* null-terminated */
    double log_prob;      /* natural logarithm, summed over its tokens */
    const void *later[4]; /* NULL: room for fields of later versions */
};

/* A metric of the next token, as the answers of questions use it (predict/answer.h). */
struct attn_predicted_metric {
    size_t position;  /* position after which it is measured */
    const char *name; /* "logit_diff"; a constant string */
    double value;
    const void *later[4]; /* NULL: room for fields of later versions */
};

struct attn_predictions {
    struct attn_candidate *top; /* [n_top] sorted by position, then from the most probable on */
    size_t n_top;
    bool has_labels;        /* `top` are texts with which a picture was compared */
    bool is_in_place;       /* predicted tokens are at the positions, not after them */
    bool has_positions;     /* the user chose positions; otherwise only the last one is predicted */
    bool are_values;        /* labels have no probabilities: `score` is a value */
    bool are_spans;         /* `top` are spans: they begin at `position` and end at `id` */
    bool are_of_whole;      /* `top` are labels of the whole text or picture */
    struct attn_next *next; /* [n_next] sorted by position, then in the order given */
    size_t n_next;
    struct attn_predicted_metric *metric; /* [n_metric] sorted by position */
    size_t n_metric;
    char *bytes; /* owns the bytes of the tokens and texts above; NULL: they are borrowed */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#endif

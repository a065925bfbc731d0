/* output.h - labels of rows and columns, and predictions. */
#ifndef ATTN_WRITERS_OUTPUT_H
#define ATTN_WRITERS_OUTPUT_H

#include "trace/trace.h"

#include <stdint.h>

/* An option that shaped a run, as it was given. */
struct attn_option {
    const char *name, *value;
};

/* The axes of arrays that attention is computed on, without a model (attn_attend). For the trace
 * they are one layer, 0, with one list of heads: head h of batch b is b * (n_head / n_batch) + h.
 * Outputs restore their axes, and use plain names: array `pattern` [T, S], [H, T, S] or [B, H, T,
 * S], `z` [T, Ev], [H, T, Ev] or [B, H, T, Ev]; file pattern.csv, H03.pattern.csv or
 * B00H03.pattern.csv. If heads are selected, `heads` lists those in the arrays: if all batches keep
 * the same heads, the heads of each batch, and arrays are [B, H', T, S]; else heads of that one
 * list, and arrays are [H', T, S]. Tidy has layer 0, and heads of that list. */
struct attn_array_axes {
    int rank;       /* of the inputs: 2 [T, E], 3 [H, T, E], 4 [B, H, T, E] */
    size_t n_batch; /* B, which divides n_head and n_kv_head; 1 unless rank is 4 */
};

/* The cropped and resized picture behind the map of a head. Keys are first n_front positions, [CLS]
 * and registers, then n_row rows of n_col patches, which divide the picture evenly. */
struct attn_backdrop {
    const unsigned char *rgb; /* [height, stride, 3] sRGB, of which width are seen; borrowed */
    size_t height, width, stride;
    size_t n_front;
    size_t n_row, n_col;
};

/* The run, for labels and shapes. Borrowed by writers for their life. */
struct attn_labels {
    const struct attn_selection *selection; /* the contents of the events; has the sizes */
    const char *model;                      /* its name, or NULL */
    const struct attn_array_axes *axes;     /* NULL: a model is run, and not attention on arrays */
    const int32_t *ids;                     /* [n_position], or NULL when embeddings were fed */
    const char *const *tokens; /* [n_position] bytes of each token (not terminated), or NULL */
    const size_t *token_sizes; /* [n_position] */
    const int32_t *source_ids; /* [n_source] of a source that an encoder reads, or NULL */
    const char *const *source_tokens; /* [n_source] of the source of cross-attention, or NULL */
    const size_t *source_token_sizes; /* [n_source] */
    const size_t
        *words; /* [n_position] the word of each token, ascending from 0 by 0 or 1; or NULL */
    const size_t *source_words; /* [n_source] the same for the source */
    const char *piece;          /* the prefix of tokens that continue a word: "##"; or NULL */
    const size_t *begin, *end;  /* [n_position] each token's bytes in its text, or NULL */
    const struct attn_option *options; /* [n_option] that shaped the run; json names them */
    size_t n_option;
    const size_t *mask;     /* the position of the only mask token of an encoder's text, or NULL */
    size_t n_front, n_back; /* of the tokens, the first and the last that the tokenizer added */
    const int32_t *types;   /* [n_position] token types, or NULL: all are 0 */
    const struct attn_backdrop *backdrop; /* that positions are patches of, or NULL */
    const uint8_t *texts; /* [n_position] 1: of the text, 2: of its pair, 0: added by the tokenizer;
                             NULL without a pair */
    const char *text, *pair; /* [n_text] and [n_pair] bytes that were read, or NULL */
    size_t n_text, n_pair;
    bool has_residues; /* readers see a token of one letter with its position: K17 */
};

/* The predictions of a model after the prompt. */
struct attn_candidate {
    size_t position; /* after which it is expected */
    int32_t id;
    const char *token; /* its bytes, or NULL */
    size_t token_size;
    double probability; /* 0..1 */
    double score;       /* the logit */
};

struct attn_continuation {
    size_t position;        /* after which the model predicts */
    const char *text;       /* terminated */
    double log_probability; /* natural, summed over its tokens */
};

/* A metric of the next token, which answers of experiments measure (predict/answer.h). */
struct attn_predicted_metric {
    size_t position;  /* after which it is measured */
    const char *name; /* "logit_diff"; constant */
    double value;
};

struct attn_predictions {
    struct attn_candidate *top; /* [n_top] by position, the most probable first */
    size_t n_top;
    bool has_labels;                /* `top` are texts that a picture was compared with */
    bool is_in_place;               /* tokens are those at the positions, not after them */
    bool has_positions;             /* positions were chosen; else there is the last one alone */
    bool are_values;                /* of labels without probabilities: these are the scores */
    bool are_spans;                 /* `top` begin at their positions and end at their ids */
    bool are_of_whole;              /* `top` are labels of a whole text or picture */
    struct attn_continuation *next; /* [n_next] by position, then as they were given */
    size_t n_next;
    struct attn_predicted_metric *metric; /* [n_metric] by position */
    size_t n_metric;
    char *bytes; /* of the tokens and texts above; NULL: these are borrowed */
};

#endif

/* item_result.h - what a run of many inputs finds of one of them (stream/many.h). */
#ifndef ATTN_STREAM_ITEM_RESULT_H
#define ATTN_STREAM_ITEM_RESULT_H

#include "measures/measure.h"
#include "run/item.h"
#include "run/run.h"
#include "trace/capture.h"

struct attn_head_mix; /* measures/head_mix.h */
struct attn_sequence; /* input/sequence.h */
struct attn_spaces;   /* input/input_extra.h */

/* What was measured of the heads of a text; NULL if it failed or was not requested. */
struct attn_result_heads {
    const float *measures;  /* [n_measure, L, H] in the order of their numbers. NaN for heads that
                               are not selected, and if a measure needs rows that do not exist */
    const double *exact;    /* the measures before they are rounded to float */
    attn_measure_set which; /* which measures they are */
    size_t n_layer, n_head; /* L and H */
    const struct attn_head_mix *mixes; /* [L, H] how each divides its weight, with has_mixes */
    const void *later[4];              /* NULL: room for fields of later versions, here and below */
};

/* The answer of a question about an item. */
struct attn_result_answer {
    bool is_general;         /* if it failed: every item would fail with this error */
    size_t position;         /* the position of the text that is read */
    struct attn_table *rows; /* the rows of the item, as for a single text; or NULL */
    double *beside;          /* [n_beside] numbers beside the rows, as many for each item */
    size_t n_beside;
    const char *metric; /* metric of the unchanged model; NULL without one */
    const char *row;    /* name of the row with the metric's value, "base"; or NULL */
    double value;
    bool has_right; /* `right` is set */
    double right;   /* 1, 0, or NaN for a tie */
    /* what follows from whether the item has a foil: METRIC, or if it is given, one of the texts
     * below, since `right` compares with the foil or with all answers; NULL without both */
    const char *chosen;
    const void *later[4];
};

/* The result of an item, or of one of its two texts. Borrowed until `done` returns. */
struct attn_item_result {
    const struct attn_item *item;
    bool is_second, is_last;    /* which of the texts of a pair it is */
    bool is_followed;           /* the next result is finished, and follows at once */
    enum attn_reason failure;   /* why it failed; NONE: it did not */
    struct attn_error err;      /* the message of the failure */
    struct attn_spaces *spaces; /* receives unusual spaces of the text or the target; or NULL */
    const struct attn_run *run; /* the run of the text, or of its last window; NULL if it failed */
    const struct attn_sequence *text;    /* [n_token] its tokens; NULL if it failed */
    size_t n_token;                      /* 0 if it failed */
    const struct attn_labels *labels;    /* ids, tokens, offsets and the selection; NULL if it
                                            failed */
    const struct attn_capture *capture;  /* the tensors; NULL unless they are kept */
    struct attn_predictions predictions; /* if requested */
    /* [n_token] -ln p(token | earlier tokens), NaN for the first; for an encoder -ln p(token | all
     * others), NaN for special tokens; or NULL. */
    const double *surprisal;
    const double *numbers; /* [n_token, n_number] of the reader of tokens; or NULL */
    const float *logits;   /* [n_vocab] after the position of the item; or NULL */
    struct attn_result_heads heads;
    struct attn_result_answer answer; /* attn_run_many leaves it empty */
};

#define ATTN_CHOSEN_OF_FOIL "right_of_foil"
#define ATTN_CHOSEN_OF_ALL "right_of_all"

#endif

/* align_internal.h - the parts of `align`: align.c has the question and its sides, align_links.c
 * makes links of weights or hidden states, align_table.c has the rows. Private to align*.c. */
#pragma once

#include "align/align.h"
#include "frame/frame.h"
#include "frame/text_words.h"
#include "measures/links.h"

/* A text, its words, and the word of each token. */
struct attn_align_side {
    struct attn_input input; /* a text, or ids */
    const char *text;        /* [size] the text; for ids one word per id */
    size_t size;
    const struct attn_word_texts *list;
    struct attn_text_words words; /* owns */
    double *units;                /* [n_unit, D] vectors of its tokens, or of its words */
    size_t *word_of;              /* [n_unit] word of each unit */
    size_t n_unit;
};

/* What links are made of. */
enum attn_align_kind {
    ATTN_ALIGN_AUTO,     /* chosen by the model */
    ATTN_ALIGN_CROSS,    /* cross-attention */
    ATTN_ALIGN_HIDDEN,   /* hidden states of two runs */
    ATTN_ALIGN_ATTENTION /* attention of one run of a template with both texts */
};

struct attn_align_run {
    struct attn_frame frame;
    const struct attn_align_args *args;
    enum attn_align_kind kind;
    struct attn_link_rule rule;
    int first, last;                 /* range of layers; for ATTN_ALIGN_HIDDEN 0 is the embedding */
    unsigned char *layers;           /* [n_layer + 1] which of them, the frame's */
    struct attn_align_side sides[2]; /* the source and the text */
    size_t begins[2];             /* for attention: where each side begins in the text of the run */
    struct attn_selection *heads; /* owns; the heads from which links are derived */
    struct attn_capture *source;  /* owns; for hidden states: the vectors of the source */
    struct attn_parks *parks[2];  /* own; for attention: of the text of the run; and unused */
    float *row;                   /* [n_key] for attention; owned by the frame */
    double *x;                    /* [m, n] similarities or weights; owned by the frame */
    unsigned char *links, *gold;  /* [m, n] owned by the frame */
    double *unit_x;               /* [n_unit, n_unit] similarities of units, for hidden states */
    unsigned char *unit_links;
    double *more; /* [n_more] owned by the frame */
    size_t n_more;
};

/* --- Links (align_links.c) -------------------------------------------------------------------- */

/* Returns the location of HEAD in layer number LAYER of `layers`; of hidden states LAYER is their
 * number. */
struct attn_location attn_align_at(const struct attn_align_run *align, size_t layer, int head);

/* Returns true if links are derived from this head; for ATTN_ALIGN_CROSS, only heads that attend to
 * a source. */
bool attn_align_uses(const struct attn_align_run *align, const struct attn_location *at);

/* Returns the weights [N_KEY] of row T of PATTERN, in a decoder that reads both texts without those
 * that are parked, and scaled to 1. The next call overwrites them. */
const float *attn_align_weights(const struct attn_align_run *align, const float *pattern, size_t t,
                                size_t n_key);

/* Finds the links from the mean of the selected heads of layers FIRST to LAST; if HEAD >= 0, from
 * that head of layer FIRST. */
void attn_align_by_heads(struct attn_align_run *align, int first, int last, int head);

/* Allocates the units of hidden states; finds the links from those of LAYER. */
void attn_align_allocate(struct attn_align_run *align, size_t n_source, size_t n_text);
enum attn_status attn_align_by_vectors(struct attn_align_run *align, int layer,
                                       struct attn_error *err);

/* --- The table (align_table.c) ---------------------------------------------------------------- */

/* Numbers beside each row from which derived columns are computed: two counts of hits, or four
 * means. */
enum { ATTN_ALIGN_N_MORE = 4 };

enum { ATTN_ALIGN_N_COLUMN = 26, ATTN_ALIGN_N_VIEW = 4 };
enum { ATTN_ALIGN_SCORES = 17, ATTN_ALIGN_N_SCORE = 7 }; /* the columns n to aer */

extern const struct attn_column attn_align_columns[ATTN_ALIGN_N_COLUMN];
extern const struct attn_table_view attn_align_views[ATTN_ALIGN_N_VIEW];

/* `shows` and `derive` of the procedure. */
uint64_t attn_align_shows(const void *state);
enum attn_status attn_align_derive(const void *args, const struct attn_fold_means *means,
                                   struct attn_error *err);

/* Makes the links, and appends their rows or their scores. */
enum attn_status attn_align_append(struct attn_align_run *align, struct attn_error *err);

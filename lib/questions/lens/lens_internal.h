/* lens_internal.h - the parts of the lens: lens.c reads streams and the maps that carry a layer to
 * the last one, lens_table.c has the table. Private to lens*.c. */
#pragma once

#include "frame/frame.h"
#include "lens/lens.h"

struct attn_lens_run {
    struct attn_frame frame; /* its session computes readings with the output layer */
    const struct attn_lens_args *args;
    /* values are means over the queries, for items; otherwise each query has rows */
    bool is_mean;
    struct attn_site_set
        sites; /* in addition to resid_pre of all layers and resid_post of the last */
    struct attn_answer answer;
    size_t n_query, top;
    bool is_whole;   /* the model is a classifier that reads all rows at once */
    size_t pooled;   /* index of the row that this classifier reads, unless it reads the mean */
    float *stream;   /* [n_query, D] the output of one head */
    double *scratch; /* [2, D] for attn_readout_head */
    float *logits;   /* [V] */
    struct attn_scored *ranked; /* [2 * V] */
    int32_t *answers;           /* [n_answer] the target, and the model's most probable answers */
    size_t n_answer;
    double *values, *sums; /* [n_value] values of one reading, and their mean over queries */
    /* one value per answer; else ATTN_LENS_N_TARGET_VALUE with a target, or one per place */
    size_t n_value;
    float *last; /* [n_query, D] the input of the last norm, of a model with config.stream */
    float *own;  /* [n_query, V] logits of the model's own predictions */
    double measured[2], measure_sums[2]; /* entropy and divergence of a reading, and their mean */
};

/* Indices of the values of a target in one reading. */
enum {
    ATTN_LENS_RANK,
    ATTN_LENS_PROB,
    ATTN_LENS_LOGIT,
    ATTN_LENS_DIFFERENCE,
    ATTN_LENS_RIGHT,
    ATTN_LENS_N_TARGET_VALUE
};

/* One reading: of a tensor of a layer, or of one head. */
struct attn_lens_reading {
    struct attn_location at;
    size_t position;
    bool is_hidden; /* has no row */
};

/* Whether a classifier reads several rows at once, so that there is no reading per position. */
static inline bool attn_lens_reads_mean(const struct attn_config *config)
{
    return config->is_sentence || config->pool_head || attn_config_has_mean(config) ||
           attn_config_pools_wide(config);
}

/* Returns true if it lists the most probable tokens of an item, which may have a target. */
static inline bool attn_lens_lists_top(const struct attn_lens_run *lens)
{
    return lens->frame.item && lens->args->top > 0;
}

/* Returns true if the rows are answers (args->n_answer). */
static inline bool attn_lens_has_answers(const struct attn_lens_run *lens)
{
    return lens->args->n_answer > 0 && !lens->args->reads_heads && !lens->frame.item &&
           (lens->n_query == 1 || lens->is_whole);
}

/* Returns true if the target may be omitted; the first label is then used. */
static inline bool attn_lens_has_first(const struct attn_lens_run *lens)
{
    const struct attn_config *config = lens->frame.config;

    return config->label_kind >= ATTN_LABELS_SCORE &&
           (config->n_vocab == 1 || config->pooling == ATTN_POOLING_PROJECTED);
}

enum { ATTN_LENS_N_COLUMN = 17, ATTN_LENS_N_VIEW = 5 };

extern const struct attn_column attn_lens_columns[ATTN_LENS_N_COLUMN];
extern const struct attn_table_view attn_lens_views[ATTN_LENS_N_VIEW];

/* `draw` and `shows` of the procedure. */
void attn_lens_draw(const void *given, struct attn_drawn *drawn);
uint64_t attn_lens_shows(const void *state);

/* Appends a row for the target, or one row per place. VALUES has `top` values for the most probable
 * tokens, then as many for the least probable. */
enum attn_status attn_lens_append(struct attn_lens_run *lens,
                                  const struct attn_lens_reading *reading, const double *values,
                                  struct attn_error *err);

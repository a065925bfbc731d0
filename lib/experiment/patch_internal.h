/* patch_internal.h - a patching experiment and its parts, shared by exact patches (patch.c) and
 * estimates (patch_estimate.c). For the files of this layer. */
#ifndef ATTN_EXPERIMENT_PATCH_INTERNAL_H
#define ATTN_EXPERIMENT_PATCH_INTERNAL_H

#include "experiment/part_sums.h"
#include "experiment/patch.h"
#include "study/frame.h"

/* Why a part is patched: not at all, like every part, or as a check of its estimate. */
enum attn_part_trial { ATTN_PART_UNTRIED, ATTN_PART_TRIED, ATTN_PART_TOP, ATTN_PART_RANDOM };

/* The subject of a row: a head, a position, a place or a neuron of a layer. */
struct attn_patch_part {
    int layer;
    size_t unit; /* head or neuron */
    size_t row;  /* position or place; unused for a whole head or neuron */
    enum attn_part_trial trial;
    bool has_effect; /* it was patched, and has rows */
    double right;    /* of the patched run (attn_answer_right) */
    double estimate, value, effect;
};

/* Positions that are patched together, by name. */
struct attn_patch_places {
    struct attn_item_place *list; /* [n] the frame's */
    unsigned char *is_of_place;   /* [n, T] the frame's */
    size_t n;
};

struct attn_patching {
    struct attn_frame frame; /* run: the clean text; other: the corrupted text; capture: the site,
                                in the source */
    const struct attn_patch_args *args;
    bool is_estimated;
    struct attn_run *base, *source; /* the run that is patched, and the run that is copied from */
    enum attn_site site;
    bool is_by_head, is_by_row; /* parts have a head; each position is a part */
    struct attn_answer answer;  /* in the base */
    struct attn_reply base_reply, source_reply;
    bool can_restore;                  /* both replies differ enough for effects */
    const char *queries;               /* NULL: all */
    unsigned char *rows, *source_rows; /* [T], [S] the frame's: the queries as flags; NULL: all */
    struct attn_patch_places places;
    struct attn_patch_part *parts; /* [n_part] the frame's, in the order of the table */
    size_t n_part;
    /* The rest is for estimates. */
    struct attn_part_sums sums; /* owns their values */
    size_t *order;              /* [n_part] the frame's: by |estimate|, descending; or NULL */
    size_t n_top, n_random;     /* the first of that; the drawn ones */
};

/* --- patch_parts.c ---------------------------------------------------------------------------- */

/* The least difference of the metric between both runs. */
#define ATTN_PATCH_SMALLEST_DIFFERENCE 1e-4

/* Whether the rows of LAYER are those of the source, not of the text. */
bool attn_patch_is_of_source(const struct attn_patching *patch, int layer);

/* Sets the list of parts. */
enum attn_status attn_patch_list_parts(struct attn_patching *patch, struct attn_error *err);

/* Whether ROW, a position of the layer's text or source, belongs to PART. */
bool attn_patch_has_row(const struct attn_patching *patch, const struct attn_patch_part *part,
                        size_t row);

/* Sets can_restore. ATTN_INVALID if both replies are equal, unless an item is patched: over items
 * only the mean difference counts. */
enum attn_status attn_patch_check_difference(struct attn_patching *patch, struct attn_error *err);

/* --- patch_estimate.c ------------------------------------------------------------------------- */

/* Checks that the run, its site and its answer have gradients. */
enum attn_status attn_patch_check_gradients(const struct attn_patching *patch,
                                            struct attn_error *err);

/* Sets both replies, and the list of parts with their estimates. */
enum attn_status attn_patch_find_estimates(struct attn_patching *patch, struct attn_error *err);

/* Whether only the largest parts have rows: a text has too many neurons for a table. Items must all
 * have the same rows. */
bool attn_patch_shows_largest(const struct attn_patching *patch);

/* Ranks the parts if anything depends on it, and marks those that will be patched. */
enum attn_status attn_patch_choose_checks(struct attn_patching *patch, struct attn_error *err);

/* Fills the frame's sum: how estimates agree with effects. */
enum attn_status attn_patch_compare(struct attn_patching *patch, struct attn_error *err);

/* Puts sum and method beside the rows, and notes them. */
enum attn_status attn_patch_report(struct attn_patching *patch, struct attn_error *err);

#endif

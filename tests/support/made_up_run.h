/*
 * made_up_run.h - a run without a model: sizes, tokens and events with numbers that say where they
 * belong, for the tests of writers.
 *
 *     struct attn_made_up_run made;
 *     attn_made_up_run_init(&made, &attn_made_up_small, words);
 *     attn_made_up_run_play(&made, writer, SIZE_MAX, &err);
 *     attn_made_up_run_release(&made);
 */
#pragma once

#include "attn.h"
#include "tensors/writer.h"

enum { ATTN_MADE_UP_MAX = 64 }; /* positions */

/* 2 layers, 2 heads and 3 positions: files small enough to be written out in a test. */
extern const struct attn_dims attn_made_up_small;

/* Whether a sparse matrix holds a cell. */
typedef bool (*attn_made_up_keeps_fn)(int layer, int head, size_t row, size_t col);

struct attn_made_up_run {
    struct attn_selection *selection; /* owned; may be narrowed before a writer is made */
    struct attn_labels run;
    struct attn_dims dims;
    int32_t ids[ATTN_MADE_UP_MAX];
    const char *tokens[ATTN_MADE_UP_MAX];
    size_t token_sizes[ATTN_MADE_UP_MAX];
    bool is_causal; /* true; it and what follows may be changed before it is played */
    size_t ahead;   /* of events, 0 */
    size_t room; /* floats after each row of an event, 3; 0: sparse rows have that of dense ones */
    attn_made_up_keeps_fn keeps; /* NULL; else matrices are told by the keys that they hold */
    bool is_dense;  /* false; true: they are told whole all the same, and without a mask */
    float stand_in; /* 0; else what dense matrices have in cells that do not count, instead of
                       what arrays have there */
};

/* Every site exists, pattern_lowrank when there is an n_rank, text_embed with a d_projected. WORDS
 * [n_position], borrowed; NULL gives "w". Ids are 10, 11, 12 ... */
void attn_made_up_run_init(struct attn_made_up_run *made, const struct attn_dims *dims,
                           const char *const *words);
void attn_made_up_run_release(struct attn_made_up_run *made);

/* SITES as --sites takes them, but that * means the derived ones too. */
void attn_made_up_run_select(struct attn_made_up_run *made, const char *sites, const char *heads,
                             const char *queries);

/* The number in a cell of a causal run. Masked cells of patterns are 0, of scores -inf. */
float attn_made_up_value(enum attn_site site, int layer, int head, size_t row, size_t col);

/* Whether the run tells a cell as one that counts. */
bool attn_made_up_run_shows(const struct attn_made_up_run *made, enum attn_site site, int layer,
                            int head, size_t row, size_t col);

/* All events of one feed, in blocks of N_ROW positions in which the sites follow one another. */
enum attn_status attn_made_up_run_play(const struct attn_made_up_run *made,
                                       struct attn_writer *writer, size_t n_row,
                                       struct attn_error *err);

/* The same in several feeds of STEP positions, which see only the keys so far. */
enum attn_status attn_made_up_run_play_steps(const struct attn_made_up_run *made,
                                             struct attn_writer *writer, size_t step,
                                             struct attn_error *err);

/* How many tensors MADE has: those of a layer once for each. */
size_t attn_made_up_run_n_tensor(const struct attn_made_up_run *made);

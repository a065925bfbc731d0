/* patch_internal.h - a patching procedure and its parts, shared by exact patches (patch.c) and
 * estimates (patch_estimate.c). Private to lib/questions. */
#pragma once

#include "circuit/patch.h"
#include "circuit/wiring.h"
#include "frame/frame.h"
#include "frame/parts.h"
#include "trials/part_sums.h"
#include "trials/reply.h"

extern const struct attn_question attn_question_patch;

/* Why a part is patched: not at all; in exact patching; to check one of the largest estimates; or
 * to check a randomly drawn part. */
enum attn_part_trial { ATTN_PART_UNTRIED, ATTN_PART_TRIED, ATTN_PART_TOP, ATTN_PART_RANDOM };

/* What a row is about. */
struct attn_patch_part {
    struct attn_part of; /* a head, a neuron, or a position or a place of a tensor */
    enum attn_part_trial trial;
    size_t from, to; /* of a path: its writer and its reader */
    bool has_effect; /* it was patched, and its rows exist */
    double right;    /* attn_answer_right of the patched run */
    double estimate, value, effect;
};

/* Named groups of positions that are patched together. */
struct attn_patch_places {
    struct attn_item_place *list; /* [n] owned by the frame */
    unsigned char *is_of_place;   /* [n, T] owned by the frame */
    size_t n;
};

/* A number by its size, to be sorted by `qsort`: the largest first, of equal ones the first. */
struct attn_ranked {
    double size;
    size_t at; /* its index */
};
int attn_ranked_compare(const void *a, const void *b);

/* The estimates of all parts, and which parts are patched beside them. */
struct attn_patch_estimates {
    struct attn_part_sums sums; /* owns their values */
    size_t *order; /* [n_part] owned by the frame; parts by |estimate|, descending; or NULL */
    size_t n_top, n_random; /* how many of `order` are patched, and how many drawn parts */
};

/* What the procedures about two texts have. */
#define ATTN_PATCH_PROCEDURE                                                                       \
    ATTN_PROCEDURE_TABLE(columns, views),                                                          \
        .needs_output = true, .items.take_item = take_item, .items.pairs = attn_patch_pairs,       \
        .items.derive = derive, .items.beyond_rows = beyond_rows, .check = check_args,             \
        .choose = choose, .prepare = prepare, .shows = shows, .draw = draw, .ask = ask,            \
        .perform = perform

/* Rows of parameters of ARGS, the arguments of a question about two texts. OTHER is of their
 * corrupted text, CLEAN of the input of the request. */
#define ATTN_PATCH_OTHER(args, kind, word, what, field, size, ...)                                 \
    ATTN_PARAM(kind, word, what, args, field, __VA_ARGS__, .second = offsetof(args, size))
#define ATTN_PATCH_CLEAN(kind, word, what, field, size, ...)                                       \
    ATTN_PARAM(kind, word, what, struct attn_request, field, __VA_ARGS__,                          \
               .second = offsetof(struct attn_request, size), .home = ATTN_PARAM_OF_REQUEST,       \
               .traits = ATTN_PARAM_NO_KEYWORD)

/* The rows of both texts. ABOUT describes the clean one. */
#define ATTN_PATCH_TEXTS(args, about)                                                              \
    ATTN_PATCH_CLEAN(INPUT, "clean", "TEXT", input, input.n_text, about),                          \
        ATTN_PATCH_OTHER(args, INPUT, "corrupted", "TEXT", corrupted, corrupted.n_text,            \
                         "the same text with a difference, of as many tokens"),                    \
        ATTN_PATCH_CLEAN(IDS, "clean_ids", "LIST", input.ids, input.n_id, NULL, .of = "clean",     \
                         .prefix = "ids:"),                                                        \
        ATTN_PATCH_OTHER(args, IDS, "corrupted_ids", "LIST", corrupted.ids, corrupted.n_id, NULL,  \
                         .of = "corrupted", .prefix = "ids:", .traits = ATTN_PARAM_NO_KEYWORD)

/* Returns which texts the items have (`pairs` of struct attn_item_rules). */
unsigned attn_patch_pairs(const void *args);

struct attn_patching {
    /* run: the clean text; other: the corrupted text; capture: the site in the source */
    struct attn_frame frame;
    const struct attn_patch_args *args;
    bool is_estimated;
    /* the run that is patched, and the run from which parts are taken */
    struct attn_run *base, *source;
    enum attn_site site;
    bool is_by_head, is_by_row; /* parts have a head; parts have a position */
    struct attn_answer answer;  /* the answer in the base */
    struct attn_reply base_reply, source_reply;
    bool can_restore;                /* the replies differ enough to compute effects */
    struct attn_number_list queries; /* not given: all positions */
    const char *heads;               /* those of the site that are parts; NULL: all */
    /* [T], [S] owned by the frame; flags of the queries; NULL: all */
    unsigned char *rows, *source_rows;
    struct attn_patch_places places;
    struct attn_patch_part *parts; /* [n_part] owned by the frame, in the order of the table */
    size_t n_part;
    struct attn_patch_part **tried; /* [n_tried] owned by the frame; those that are patched */
    size_t n_tried;
    struct attn_patch_estimates estimates;
    struct attn_wiring edges; /* owns; of paths */
};

/* --- patch_runs.c ----------------------------------------------------------------------------- */

/* Minimum difference of the metric between both runs. */
#define ATTN_PATCH_SMALLEST_DIFFERENCE 1e-4

/* Returns true if the clean run is patched with parts of the corrupted one. */
bool attn_patch_is_to_noise(const struct attn_patch_args *args);

/* Returns the number of the head or neuron of PART; 0 if it has neither. */
size_t attn_patch_unit(const struct attn_patch_part *part);

/* Returns true if heads of the encoder are parts: the sources of both runs differ, and no positions
 * are chosen, which are those of the text. */
bool attn_patch_has_encoder(const struct attn_patching *patch);

enum attn_status attn_patch_list_parts(struct attn_patching *patch, struct attn_error *err);

/* Returns true if ROW, a position of the layer's text or source, belongs to PART. */
bool attn_patch_has_row(const struct attn_patching *patch, const struct attn_patch_part *part,
                        size_t row);

/* Sets can_restore. Returns ATTN_INVALID if both replies are equal, except for an item, as over
 * items only the mean difference counts. */
enum attn_status attn_patch_check_difference(struct attn_patching *patch, struct attn_error *err);

/* Finds the answer, prepares the corrupted run, and resolves places and queries. */
enum attn_status attn_patch_prepare(struct attn_patching *patch, struct attn_error *err);

/* Returns the effect of a run with VALUE: its change as a share of that of the source; never -0. */
double attn_patch_share(const struct attn_patching *patch, double value);

/* Patches the parts that are marked for it. */
enum attn_status attn_patch_try(struct attn_patching *patch, struct attn_error *err);

/* Reports the reply of the clean run, for an item. */
void attn_patch_report_base(struct attn_patching *patch);

/* Reads the reply of the source from the session of the frame, and frees it. */
enum attn_status attn_patch_read_source(struct attn_patching *patch, struct attn_error *err);

/* --- patch_paths.c ---------------------------------------------------------------------------- */

/* Lists the paths of the arguments as parts. Errors have a stage. */
enum attn_status attn_patch_list_paths(struct attn_patching *patch, struct attn_error *err);

/* Runs both texts, and patches each path. */
enum attn_status attn_patch_try_paths(struct attn_patching *patch, struct attn_error *err);

/* Checks that gradients of the run, its site and its answer are supported. */
enum attn_status attn_patch_check_gradients(const struct attn_patching *patch,
                                            struct attn_error *err);

/* --- patch_estimate.c ------------------------------------------------------------------------- */

/* Sets both replies, and lists the parts with their estimates. */
enum attn_status attn_patch_find_estimates(struct attn_patching *patch, struct attn_error *err);

/* Returns true if only the largest parts have rows, because a model has too many neurons for a
 * table. Items show all parts, as all must have equal rows. */
bool attn_patch_shows_largest(const struct attn_patching *patch);

/* Ranks the parts if the ranking is needed, and marks the parts to patch. */
enum attn_status attn_patch_choose_checks(struct attn_patching *patch, struct attn_error *err);

/* Sets the frame's sum: how well estimates agree with effects. */
enum attn_status attn_patch_compare(struct attn_patching *patch, struct attn_error *err);

/* Sends notes about the direction, and where the texts differ. */
void attn_patch_note_runs(const struct attn_patching *patch);

/* Adds sum and method to the facts about the table, and sends notes about them. */
enum attn_status attn_patch_report(struct attn_patching *patch, struct attn_error *err);

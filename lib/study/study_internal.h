/*
 * study_internal.h - a study on its way: it reads the items, counts those that fail, and folds the
 * tables of the others. For the files of this layer.
 *
 *     attn_study_open(args, &form, &study, &err);
 *     attn_study_ask(study, host, ask, user, &err);       // every item, side by side on threads
 *     attn_study_end(study, &table, &err);
 *     attn_study_free(study);
 *
 * An experiment that needs one pass over the texts of an item has them packed, short ones together:
 *
 *     struct attn_study_pack pack = {study, host, &request, at, find, user};
 *     attn_study_pack_run(&pack, &options, &err);         // instead of attn_study_ask
 */
#ifndef ATTN_STUDY_STUDY_INTERNAL_H
#define ATTN_STUDY_STUDY_INTERNAL_H

#include "run/many.h"
#include "study/fold.h"
#include "study/reply.h"

struct attn_study;

/* The answer about one item. */
struct attn_study_answer {
    struct attn_table *table; /* owns; its rows, as of one text; of texts NULL if the experiment
                                 makes the rows of all */
    double *more;             /* [n_more] owns; numbers beside them (fold.h) */
    size_t n_more;
    const char *metric; /* of the model as it is; NULL: there is none */
    const char *row;    /* the row that has its value, "base"; or NULL */
    double value;
    bool has_right;            /* the model is right or wrong */
    double right;              /* 1, 0, or NaN for a tie (attn_verdict) */
    bool is_general;           /* if it failed: every item would fail like this one */
    struct attn_spaces spaces; /* odd spaces of the text or the target */
};

/* Copies the metric of the unchanged run, the row "base", from REPLY into ANSWER. */
void attn_study_answer_base(struct attn_study_answer *answer, const struct attn_answer *asked,
                            const struct attn_reply *reply);

enum { ATTN_MOST_DEFAULTS = 64 };

/* The caller's values for items that lack these keys. A default that no item uses is refused before
 * the first item. If the input is a pipe it is noted at the end. Unused places are also noted at
 * the end, because they still define the order of rows. */
struct attn_study_defaults {
    struct attn_study_default {
        const char *keys;        /* of items that have their own, "queries|at"; or NULL */
        const char *place;       /* else the name of a place */
    } items[ATTN_MOST_DEFAULTS]; /* [n] */
    size_t n;
};

/* Adds a default, unless it is there; more than ATTN_MOST_DEFAULTS are left out. */
void attn_study_add_default(struct attn_study_defaults *defaults, const char *keys,
                            const char *place);

/* The experiment, as its study sees it. Borrowed. */
struct attn_study_form {
    struct attn_study_defaults defaults;
    struct attn_fold_form fold;
    unsigned pairs; /* ATTN_ITEM_BIT of the texts that an item may have */
    bool is_listed; /* items have rows, and no table of means is made of them */
    bool is_ragged; /* each item has as many rows as it has */
    bool has_sum;   /* texts add to one sum, and are taken one after another */
    struct attn_host *host;
    const struct attn_request *request; /* hears notes and progress */
};

/* Whether STUDY, which may be NULL, is of texts (`are_texts`), or of other items. */
bool attn_study_is_of_texts(const struct attn_study_args *study);
bool attn_study_is_of_items(const struct attn_study_args *study);

/* ARGS and what FORM points to are borrowed. */
enum attn_status attn_study_open(const struct attn_study_args *args,
                                 const struct attn_study_form *form, struct attn_study **study,
                                 struct attn_error *err);
void attn_study_free(struct attn_study *study); /* NULL is allowed */

/* Ends the study early because of ERR. The finished items can be resumed. */
void attn_study_keep(struct attn_study *study, const struct attn_error *err);

/* Makes REQUEST that of ITEM, or without an item that of all: notes come once, on any thread, and
 * progress counts items. */
void attn_study_fill_request(struct attn_study *study, const struct attn_item *item,
                             struct attn_request *request);

/* The first item that has not failed, from which an experiment chooses its columns. Borrowed until
 * attn_study_ask. NULL if the first thousand items all failed. */
enum attn_status attn_study_peek(struct attn_study *study, const struct attn_item **item,
                                 struct attn_error *err);

/* Sets the columns that tables of items have: all of the form except the HIDDEN ones [n_column].
 * Fails if the whole table cannot be sorted, grouped or paired as the arguments require. Call it
 * before the first item. */
enum attn_status attn_study_show(struct attn_study *study, const bool *hidden,
                                 struct attn_error *err);

/* --- Each alone ------------------------------------------------------------------------------- */

/* Fills ANSWER, which is {0}, about ITEM. Runs on several threads at a time. */
typedef enum attn_status (*attn_study_ask_fn)(void *user, const struct attn_item *item,
                                              struct attn_study_answer *answer,
                                              struct attn_error *err);

/* Calls ASK for all items, each on one thread of HOST. If a file has fewer items than threads,
 * items run one after the other, each on all threads. */
enum attn_status attn_study_ask(struct attn_study *study, struct attn_host *host,
                                attn_study_ask_fn ask, void *user, struct attn_error *err);

/* --- Packed ----------------------------------------------------------------------------------- */

/* Adds the RESULT of a text of ITEM, the first or the second of a pair, to ANSWER, which is
 * complete after the last text. ANSWER is zeroed between items, except that an emptied table and
 * its numbers are reused. Called in the order of the items, one call at a time, on any thread, and
 * not again for an item after one of its texts failed. */
typedef enum attn_status (*attn_study_find_fn)(void *user, const struct attn_item *item,
                                               bool is_second,
                                               const struct attn_many_result *result,
                                               struct attn_study_answer *answer,
                                               struct attn_error *err);

/* Adds to RECORD, a text of ITEM, what else is asked about it. NEXT is room for its continuations,
 * which is kept as long as the record. */
typedef void (*attn_study_fill_fn)(void *user, const struct attn_item *item,
                                   struct attn_record *record, const char *next[2]);

struct attn_study_pack {
    struct attn_study *study; /* borrowed, like all else */
    struct attn_host *host;
    const struct attn_request *request; /* of every text */
    const char *at; /* the position whose logits are asked for, of items that name none; or NULL */
    attn_study_find_fn find;
    attn_study_fill_fn fill; /* or NULL */
    void *user;              /* for these */
};

/* Runs all items. Sets the request of OPTIONS. The result of an item does not depend on other
 * items. */
enum attn_status attn_study_pack_run(const struct attn_study_pack *pack,
                                     struct attn_many_options *options, struct attn_error *err);

/* --- The end ---------------------------------------------------------------------------------- */

/* Creates the table of all items, which the caller owns, fills the sum, and notes unused defaults
 * and items without a partner. *table stays as it is if texts had answers without tables. */
enum attn_status attn_study_end(struct attn_study *study, struct attn_table **table,
                                struct attn_error *err);

/* --- Values of an item ------------------------------------------------------------------------ */

/* Overwrites target, foil and `at` of ARGS with the values that ITEM has. Fails if the metric needs
 * a target and there is none. */
enum attn_status attn_item_answer(const struct attn_item *item, struct attn_answer_args *args,
                                  struct attn_error *err);

/* --- For study_ask.c -------------------------------------------------------------------------- */

/* Reads the next item, which the caller owns; NULL after the last. The first call adds the items of
 * earlier runs and skips them. One call at a time, on any thread. */
enum attn_status attn_study_next(struct attn_study *study, struct attn_item **item,
                                 struct attn_error *err);

/* Whether STATUS with ERR is a failure of one item, or of a text. Any other failure ends the
 * study. */
bool attn_study_is_of_item(const struct attn_study *study, enum attn_status status,
                           const struct attn_error *err);

/* Adds ANSWER about ITEM, or its failure, to the fold, and reports progress. The caller keeps both.
 * Called in the order of the items, one call at a time, on any thread. Fails if the study ends: too
 * many items failed, or there are too many groups. */
enum attn_status attn_study_take(struct attn_study *study, const struct attn_item *item,
                                 const struct attn_study_answer *answer,
                                 const struct attn_error *failed, struct attn_error *err);

/* *has_them: N more items follow, and can run side by side. True for a pipe, whose end is not
 * known; false for texts. */
enum attn_status attn_study_has_items(const struct attn_study *study, size_t n, bool *has_them,
                                      struct attn_error *err);

#endif

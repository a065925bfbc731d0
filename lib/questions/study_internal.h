/*
 * study_internal.h - a running study: reads the items, counts those that fail, and folds the tables
 * of the others. Private to lib/questions.
 *
 *     struct attn_study_work work = {.host = host, .request = &request, .ask = ask, .user = user};
 *     attn_study_open(args, &form, &study, &err);
 *     attn_study_run(study, &work, &err);                 // every item
 *     attn_study_end(study, &table, &err);
 *     attn_study_free(study);
 */
#ifndef ATTN_QUESTIONS_STUDY_INTERNAL_H
#define ATTN_QUESTIONS_STUDY_INTERNAL_H

#include "questions/fold.h"
#include "run/reply.h"
#include "stream/stream_internal.h"

struct attn_study;

/* Sets the metric of the unchanged run, the row "base", from REPLY. */
void attn_study_answer_base(struct attn_item_result *result, const struct attn_answer *asked,
                            const struct attn_reply *reply);

enum { ATTN_MOST_DEFAULTS = 64 };

/* The caller's values for items that lack these keys. An unused default is an error before the
 * first item; if the input is a pipe, it is a note at the end. Unused places are always a note,
 * because they still define the order of rows. */
struct attn_study_defaults {
    struct attn_study_default {
        const char *keys;  /* keys of items that replace the default, "queries|at"; or NULL */
        const char *place; /* the name of a place; of keys, that of the parameter if another */
    } items[ATTN_MOST_DEFAULTS]; /* [n] */
    size_t n;
};

/* Adds a default, unless it is listed. More than ATTN_MOST_DEFAULTS are ignored. */
void attn_study_add_default(struct attn_study_defaults *defaults, const char *keys,
                            const char *place);

/* Collects the answers about items in another way than by means. */
struct attn_study_gather {
    /* Adds an answer. Called in the order of the items, one call at a time, on any thread; a
     * resumed run begins with those of earlier runs, from a file that may be forged. ATTN_FORMAT
     * if the question cannot give such an answer. */
    enum attn_status (*add)(void *user, const struct attn_item_result *result,
                            struct attn_error *err);
    /* Creates the table, which the caller owns, after the last item. It may read the items again
     * (attn_study_rewind). */
    enum attn_status (*tabulate)(void *user, struct attn_study *study, struct attn_table **table,
                                 struct attn_error *err);
    void *user; /* passed to these functions */
};

/* What a study needs to know about its procedure. Borrowed. */
struct attn_study_form {
    struct attn_study_defaults defaults;
    struct attn_fold_form fold;
    unsigned pairs; /* set of ATTN_ITEM_BIT: the texts that an item may have */
    bool is_listed; /* items have rows, but no table of means is computed */
    bool is_ragged; /* items have different numbers of rows */
    /* makes the table of all items, instead of means; or NULL */
    const struct attn_study_gather *gather;
    struct attn_host *host;
    const struct attn_request *request; /* receives notes and progress */
};

/* Opens a study. ARGS and the pointers in FORM are borrowed. */
enum attn_status attn_study_open(const struct attn_study_args *args,
                                 const struct attn_study_form *form, struct attn_study **study,
                                 struct attn_error *err);
void attn_study_free(struct attn_study *study); /* NULL is allowed */

/* Ends the study early because of ERR. It can be resumed after the finished items. */
void attn_study_keep(struct attn_study *study, const struct attn_error *err);

/* Fills REQUEST with the input of ITEM, or without an item with what all items share: each note is
 * sent once, from any thread, and progress counts items. */
void attn_study_fill_request(struct attn_study *study, const struct attn_item *item,
                             struct attn_request *request);

/* Finds the first item that did not fail to parse, from which a procedure derives its columns.
 * Borrowed until attn_study_run. NULL if the first thousand items all failed. */
enum attn_status attn_study_peek(struct attn_study *study, const struct attn_item **item,
                                 struct attn_error *err);

/* Sets the columns of the items' tables: all of the form except the HIDDEN ones [n_column]. Call it
 * before the first item. Returns an error if the table of all items cannot be sorted, grouped or
 * paired as the arguments require. */
enum attn_status attn_study_show(struct attn_study *study, const bool *hidden,
                                 struct attn_error *err);

/* --- Running ---------------------------------------------------------------------------------- */

/* Sets `next` and `queries` of ITEM to those that the procedure asks for. */
typedef enum attn_status (*attn_study_fill_fn)(void *user, struct attn_item *item,
                                               struct attn_error *err);

/* How each item is computed. Borrowed. */
struct attn_study_work {
    struct attn_host *host;
    attn_ask_fn ask; /* answers about each item alone; or NULL */
    /* Otherwise texts are run, short ones together: */
    const struct attn_request *request; /* the request for every text */
    struct attn_many_options options;   /* its size and request need not be set */
    struct attn_number_list at; /* position whose logits are needed, for items without one */
    attn_stream_find_fn find;
    attn_study_fill_fn fill; /* NULL: neither */
    void *user;              /* passed to the functions above */
};

/* Runs all items. An item's result does not depend on other items. */
enum attn_status attn_study_run(struct attn_study *study, const struct attn_study_work *work,
                                struct attn_error *err);

/* --- The end ---------------------------------------------------------------------------------- */

/* Creates the table of all items, which the caller owns, fills the sum, and sends notes about
 * unused defaults and about items without a partner. *TABLE is not changed if items are
 * listed. */
enum attn_status attn_study_end(struct attn_study *study, struct attn_table **table,
                                struct attn_error *err);

/* Begins with the first item again, for a second pass after attn_study_run. attn_study_again reads
 * the next item, which the caller owns; NULL after the last. Its failures are those of the first
 * pass. */
enum attn_status attn_study_rewind(struct attn_study *study, struct attn_error *err);
enum attn_status attn_study_again(struct attn_study *study, struct attn_item **item,
                                  struct attn_error *err);

/* --- Values of an item ------------------------------------------------------------------------ */

/* Overwrites target, foil and `at` of ARGS with the values of ITEM. Returns an error if the metric
 * needs a target and none is given. */
enum attn_status attn_item_answer(const struct attn_item *item, struct attn_answer_args *args,
                                  struct attn_error *err);

#endif

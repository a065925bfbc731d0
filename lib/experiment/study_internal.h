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
#ifndef ATTN_EXPERIMENT_STUDY_INTERNAL_H
#define ATTN_EXPERIMENT_STUDY_INTERNAL_H

#include "experiment/fold.h"
#include "experiment/patch.h"
#include "experiment/reply.h"
#include "run/many.h"

struct attn_study;

/* What came of one item. */
struct attn_study_answer {
    struct attn_table *table; /* owns; its rows, as of one text */
    double *more;             /* [n_more] owns; numbers beside them (fold.h) */
    size_t n_more;
    const char *metric; /* of the model as it is; NULL: there is none */
    const char *row;    /* the row that has its value, "base"; or NULL */
    double value;
    bool has_right, is_right;  /* whether the model is */
    bool is_general;           /* of a failure: every item would fail like this one */
    struct attn_spaces spaces; /* what is odd about those of the text or the target */
};

/* Puts into ANSWER what REPLY of the unchanged run, the row "base", says. */
void attn_study_answer_base(struct attn_study_answer *answer, const struct attn_answer *asked,
                            const struct attn_reply *reply);

/* Keys of items that replace a field of the arguments or of the request: X(ID, field, whether ITEM
 * has it). */
#define ATTN_ITEM_KEY_MAP(X)                                                                       \
    X(TARGET, "target", item->target || item->has_target_id)                                       \
    X(FOIL, "foil", item->foil || item->has_foil_id)                                               \
    X(AT, "at", item->at)                                                                          \
    X(FROM, "from", item->from)                                                                    \
    X(TO, "to", item->to)                                                                          \
    X(QUERIES, "queries", item->queries)                                                           \
    X(READ, "queries", item->queries || item->at)                                                  \
    X(SOURCE, "source", attn_input_is_given(&item->record.source))                                 \
    X(CORRUPTED_SOURCE, "corrupted_source", attn_input_is_given(&item->corrupted_source))

enum attn_item_key {
#define ATTN_ITEM_KEY_ENUM(id, ...) ATTN_ITEM_KEY_##id,
    ATTN_ITEM_KEY_MAP(ATTN_ITEM_KEY_ENUM)
#undef ATTN_ITEM_KEY_ENUM
        ATTN_N_ITEM_KEY
};

#define ATTN_ITEM_KEY_BIT(id) (UINT64_C(1) << ATTN_ITEM_KEY_##id)

/* What was given for items without these keys. One that no item takes is refused before the first
 * item; of a pipe it is noted at the end, as is one of places, which also order rows. */
struct attn_study_defaults {
    uint64_t keys;                         /* bits */
    const struct attn_patch_place *places; /* [n_place] by their names */
    size_t n_place;
};

/* What is asked about items. Borrowed. */
struct attn_study_form {
    struct attn_study_defaults defaults;
    struct attn_fold_form fold;
    unsigned pairs; /* ATTN_ITEM_BIT of the texts that an item may have */
    struct attn_host *host;
    const struct attn_request *request; /* hears notes and progress */
};

/* ARGS and what FORM points to are borrowed. */
enum attn_status attn_study_open(const struct attn_study_args *args,
                                 const struct attn_study_form *form, struct attn_study **study,
                                 struct attn_error *err);
void attn_study_free(struct attn_study *study); /* NULL is allowed */

/* It ends early, by ERR: what is done can be resumed. */
void attn_study_keep(struct attn_study *study, const struct attn_error *err);

/* An attn_note_fn for the runs about items, with the study: hands on what was not noted before.
 * Side by side on several threads. */
void attn_study_note_once(void *user, const char *message);

/* The first item that has not failed, whose answer may say what the table is; borrowed until it is
 * next. NULL: there is none among the first thousand. */
enum attn_status attn_study_peek(struct attn_study *study, const struct attn_item **item,
                                 struct attn_error *err);

/* Says which columns of the form the tables of items have: all but those that are HIDDEN. Fails
 * where the whole cannot be sorted, grouped or paired as the arguments say. Before the first item
 * is asked about. */
enum attn_status attn_study_show(struct attn_study *study, uint64_t hidden, struct attn_error *err);

/* --- Each alone ------------------------------------------------------------------------------- */

/* Finds ANSWER, = {0} before, about ITEM: side by side on several threads. */
typedef enum attn_status (*attn_study_ask_fn)(void *user, const struct attn_item *item,
                                              struct attn_study_answer *answer,
                                              struct attn_error *err);

/* Asks about all items: on the threads of HOST, each item on one of them, or one after the other
 * on all of them where there are fewer items than threads. */
enum attn_status attn_study_ask(struct attn_study *study, struct attn_host *host,
                                attn_study_ask_fn ask, void *user, struct attn_error *err);

/* --- Packed ----------------------------------------------------------------------------------- */

/* Takes the RESULT of a text of ITEM, the first or the second of a pair; after the last one ANSWER
 * is whole. Before the first it is {0}, but for what the item before left: a table without rows,
 * and numbers, whose memory serves again. In the order of the items, one call at a time, on any
 * thread. Not called of an item after one of its texts has failed. */
typedef enum attn_status (*attn_study_find_fn)(void *user, const struct attn_item *item,
                                               bool is_second,
                                               const struct attn_many_result *result,
                                               struct attn_study_answer *answer,
                                               struct attn_error *err);

struct attn_study_pack {
    struct attn_study *study; /* borrowed, like all else */
    struct attn_host *host;
    const struct attn_request *request; /* of every text */
    const char *at; /* the position whose logits are asked for, of items that name none; or NULL */
    attn_study_find_fn find;
    void *user; /* for it */
};

/* Goes over all items. OPTIONS get the request. The result of an item does not depend on others. */
enum attn_status attn_study_pack_run(const struct attn_study_pack *pack,
                                     struct attn_many_options *options, struct attn_error *err);

/* --- The end ---------------------------------------------------------------------------------- */

/* Makes the table of all, the caller's, fills the sum, and notes what was left out. */
enum attn_status attn_study_end(struct attn_study *study, struct attn_table **table,
                                struct attn_error *err);

/* --- What an item says ------------------------------------------------------------------------ */

/* Puts what ITEM has of a target, a foil and `at` over ARGS, and checks that there is a target
 * where the metric needs one. */
enum attn_status attn_item_answer(const struct attn_item *item, struct attn_answer_args *args,
                                  struct attn_error *err);

/* --- For study_ask.c -------------------------------------------------------------------------- */

/* The next item, the caller's; NULL after the last. Before the first one what earlier runs found is
 * taken, and those items are not given. One call at a time, on any thread. */
enum attn_status attn_study_next(struct attn_study *study, struct attn_item **item,
                                 struct attn_error *err);

/* Whether STATUS, with what ERR says, is a failure of one item; any other ends the study. */
bool attn_study_is_of_item(enum attn_status status, const struct attn_error *err);

/* Takes ANSWER about ITEM, or why it FAILED, and reports progress; both stay the caller's. In the
 * order of the items, one call at a time, on any thread. Fails where the study ends: too many
 * failed, or there are too many groups. */
enum attn_status attn_study_take(struct attn_study *study, const struct attn_item *item,
                                 const struct attn_study_answer *answer,
                                 const struct attn_error *failed, struct attn_error *err);

/* Whether N items come next, as far as that is known: a pipe may still have them. */
enum attn_status attn_study_has_items(const struct attn_study *study, size_t n, bool *has_them,
                                      struct attn_error *err);

#endif

/*
 * questions.h - the questions by their names, their answers, and what a picture of these shows
 * unless the caller chooses otherwise.
 *
 *     const struct attn_question_asked asked = {"lens", host, &request, &args};
 *     struct attn_table_picture picture = {.n_label = 0};
 *     attn_question_ask(&asked, &table, NULL, &err);
 *     attn_question_picture(&asked, table, &picture, &err);
 *     attn_table_picture_write(table, &picture, &options, &output, &err);
 *
 * The questions: ablate, align, attribute, diff, heads (attn_survey), lens, patch, score,
 * similarity.
 */
#ifndef ATTN_EXPERIMENT_QUESTIONS_H
#define ATTN_EXPERIMENT_QUESTIONS_H

#include "figures/table_picture.h"
#include "study/question.h"

/* What the question NAME takes, also "generate"; "items": what every question takes of items
 * (struct attn_items_args); "batch" (struct attn_batch_args). Or NULL. */
ATTN_API const struct attn_question *attn_question_find(const char *name);

/* What question I of the list takes; NULL after the last one. */
ATTN_API const struct attn_question *attn_question_at(size_t i);

/* A question, and of what it is asked. Borrowed. */
struct attn_question_asked {
    const char *question;               /* "ablate" */
    struct attn_host *host;             /* NULL: the picture names no model, and ids as numbers */
    const struct attn_request *request; /* NULL: the picture names no text */
    const void *args;                   /* of the question: struct attn_ablate_args; or NULL */
};

/* Asks. The caller owns *TABLE. SUM is the struct of results beside the table that the function of
 * the question fills (struct attn_ablate_sum); NULL if it fills none. Errors have a stage. */
ATTN_API enum attn_status attn_question_ask(const struct attn_question_asked *asked,
                                            struct attn_table **table, void *sum,
                                            struct attn_error *err);

/*
 * Fills PICTURE for TABLE, the answer to ASKED: the view of the table and the words of its title,
 * the model, what was measured, the text, the two texts of a pair, or of which items it is the
 * mean, and how many columns name a group. The sum of a study (study/study.h) has the numbers for
 * that. `run`, `other_run`, `lens`, `patterns`, ATTN_VIEW_CLUSTERED and a text that is set stay.
 *
 * TABLE may be NULL before it is there; the view then has the kind of figure, but no words and no
 * columns of a table. Its `rows` are 0 if such a table has no picture. PICTURE borrows from ASKED,
 * and from itself: copies of it are valid as long as it is. ATTN_INVALID for an unknown question,
 * and with a TABLE for arguments that the question refuses.
 */
ATTN_API enum attn_status attn_question_picture(const struct attn_question_asked *asked,
                                                const struct attn_table *table,
                                                struct attn_table_picture *picture,
                                                struct attn_error *err);

#endif

/*
 * questions.h - the questions, found by name: runs the procedure that answers one, and describes
 * the default picture of the answer.
 *
 *     const struct attn_question_call asked = {"lens", host, &request, &args};
 *     struct attn_table_picture picture = {.n_label = 0};
 *     attn_question_ask(&asked, &table, NULL, &err);
 *     attn_question_picture(&asked, table, &picture, &err);
 *     attn_table_picture_write(table, &picture, &options, &output, &err);
 *
 * attn_question_at goes through the questions.
 */
#ifndef ATTN_FRAME_QUESTIONS_H
#define ATTN_FRAME_QUESTIONS_H

#include "figures/table_picture.h"
#include "frame/question.h"

/* Returns the arguments that question NAME accepts. Other names: "items", the arguments about
 * items that all questions share (struct attn_items_args).
 * NULL for an unknown name. */
ATTN_API const struct attn_question *attn_question_find(const char *name);

/* Returns question I of the list; NULL after the last one. */
ATTN_API const struct attn_question *attn_question_at(size_t i);

/* Sets ARGS [size bytes], the arguments of the question NAME, to its defaults, and returns them;
 * NULL for an unknown name. */
ATTN_API void *attn_question_init(const char *name, void *args, size_t size);

/* The defaults of the arguments TYPE of the question NAME, to initialize variables. */
#define ATTN_QUESTION_DEFAULT(name, type)                                                          \
    (*(struct type *)attn_question_init(name, &(struct type){0}, sizeof(struct type)))

/* A question and its input. Borrowed. */
struct attn_question_call {
    const char *question; /* "ablate" */
    /* NULL: the picture does not name the model, and shows ids as numbers */
    struct attn_host *host;
    const struct attn_request *request; /* NULL: the picture does not name a text */
    const void *args; /* arguments of the question: struct attn_ablate_args, for example; or NULL */
};

/* Answers a question. The caller owns *TABLE. SUM is the struct of further results that the
 * question fills (struct attn_ablate_sum, for example); NULL if there is none. Errors have a
 * stage. */
ATTN_API enum attn_status attn_question_ask(const struct attn_question_call *asked,
                                            struct attn_table **table, void *sum,
                                            struct attn_error *err);

/*
 * Fills PICTURE for TABLE, the answer to ASKED: the view of the table, the wording of its title,
 * the model, the metric, the text (or the two texts of a pair, or which items were averaged), and
 * how many columns name a group. For items, the numbers come from the sum of the study
 * (means/study.h). The fields `run`, `other_run`, `lens` and a text that is already set are not
 * changed.
 *
 * TABLE may be NULL if it was not computed yet; the view then only has the kind of figure, and
 * `rows` is 0 if this question has no picture. PICTURE borrows from ASKED, and from itself, so a
 * copy is valid only as long as the original. ATTN_INVALID for an unknown question and, if TABLE is
 * given, for arguments that the question refuses.
 */
ATTN_API enum attn_status attn_question_picture(const struct attn_question_call *asked,
                                                const struct attn_table *table,
                                                struct attn_table_picture *picture,
                                                struct attn_error *err);

/* Returns the columns that an answer to ASKED can have, in their order, their number in *N, and the
 * name of the table in *TABLE; constant. A table leaves out columns that do not apply; tables over
 * items have columns for groups and errors, too. NULL and 0 for an unknown question. What it takes
 * is in `parts` of its struct attn_question. */
ATTN_API const struct attn_column *attn_question_schema(const struct attn_question_call *asked,
                                                        const char **table, size_t *n);

#endif

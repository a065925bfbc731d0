/*
 * drawn.h - what a picture of an experiment's table shows: one of the views of its row (frame.h),
 * and the words of its title, which follow from the arguments, the request and the study. For the
 * files of this layer and the experiments.
 */
#ifndef ATTN_STUDY_DRAWN_H
#define ATTN_STUDY_DRAWN_H

#include "figures/table_picture.h"
#include "host/host.h"
#include "predict/answer.h"
#include "run/request.h"

struct attn_experiment;

/* Fields of a view: a row for each LAYER, say, a column for each HEAD, and the numbers of the
 * experiment's column VALUE. */
#define ATTN_VIEW_OF(row, column, value)                                                           \
    .rows = ATTN_ROLE_##row, .columns = ATTN_ROLE_##column, .values = ATTN_TABLE_COLUMN(value)

/* A picture that is being described. Borrowed. */
struct attn_drawn {
    struct attn_host *host;             /* or NULL */
    const struct attn_request *request; /* or NULL */
    const struct attn_table *table;     /* or NULL, before it is there */
    struct attn_table_picture *picture; /* with its view; `words` has room for its `asked` */
    struct attn_answer_args answer;     /* whose name is the answer of the picture */
    bool has_answer;
};

/* Fills view, n_label, model, answer and texts of the picture of DRAWN, of the table that
 * EXPERIMENT has made with ARGS. Without a table the columns of the view are those of the
 * experiment. A text that the picture has already stays. The view has no `rows` if such a table has
 * no picture. The picture borrows from all of them and from itself. */
void attn_experiment_draw(const struct attn_experiment *experiment, const void *args,
                          struct attn_drawn *drawn);

/* Writes what was asked into the words of the picture, as printf. False: they are cut. */
ATTN_PRINTF(2, 3)
bool attn_drawn_ask(struct attn_drawn *drawn, const char *format, ...);

/* Names the pair of texts of the picture, if it has both: the request's and OTHER. */
void attn_drawn_name_pair(struct attn_drawn *drawn, const char *name, const char *other_name,
                          const struct attn_input *other);

#endif

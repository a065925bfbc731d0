/* drawn.h - describes the picture of a procedure's table: selects one of the views of the
 * procedure (frame.h), and derives the wording of the title from the arguments, the request and
 * the study. Private to lib/questions. */
#pragma once

#include "figures/table_picture.h"
#include "predict/answer.h"
#include "run/request.h"

struct attn_procedure;

/* Fields of a view with a row for each LAYER (for example), a column for each HEAD, and the numbers
 * of the procedure's column VALUE. */
#define ATTN_VIEW_OF(row, column, value)                                                           \
    .rows = ATTN_ROLE_##row, .columns = ATTN_ROLE_##column, .values = ATTN_TABLE_COLUMN(value)

/* A picture that is being described. Borrowed. */
struct attn_drawn {
    struct attn_host *host;             /* or NULL */
    const struct attn_request *request; /* or NULL */
    const struct attn_table *table;     /* NULL if it was not computed yet */
    /* has a view; its buffer `words` can be used for the view's `asked` */
    struct attn_table_picture *picture;
    struct attn_answer_args answer; /* the answer that the title names */
    bool has_answer;
};

/* Fills view, n_label, model, answer and texts of the picture of DRAWN, for the table that
 * PROCEDURE made with ARGS. Without a table, the columns of the view are those of the procedure.
 * A text that the picture already has is kept. The view's `rows` is 0 if such a table has no
 * picture. The picture borrows from all arguments and from itself. */
void attn_procedure_draw(const struct attn_procedure *procedure, const void *args,
                         struct attn_drawn *drawn);

/* Formats the text `asked` of the view, like printf, in the memory `words` of the picture. Returns
 * false if it was cut. */
ATTN_PRINTF(2, 3)
bool attn_drawn_ask(struct attn_drawn *drawn, const char *format, ...);

/* Sets the names of the two texts of the picture, that of the request and OTHER, if both are
 * given. */
void attn_drawn_name_pair(struct attn_drawn *drawn, const char *name, const char *other_name,
                          const struct attn_input *other);

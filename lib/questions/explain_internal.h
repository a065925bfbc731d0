/*
 * explain_internal.h - the arithmetic of one row as tables (explain_table.c), as text
 * (explain_text.c) and as a picture (explain_picture.c). For use inside the library and the tool
 * only.
 *
 *     if (attn_explanation_is_drawn(output.format))
 *         status = attn_explanation_draw(row, labels, &options, &output, &err);
 *
 * The text has one section per step, most with a table. In long vectors, and if there are many
 * keys, the middle is replaced by a single sum, so that the numbers that are shown add up.
 *
 * The picture shows the query, and for each key its vector, score, weight and value, down to the
 * sum that is z. The strongest key has a frame. Vectors are strips of cells, blue below 0 and
 * orange above; each kind of vector has its own scale.
 */
#ifndef ATTN_QUESTIONS_EXPLAIN_INTERNAL_H
#define ATTN_QUESTIONS_EXPLAIN_INTERNAL_H

#include "base/sink.h"
#include "questions/explain.h"
#include "tables/document.h"
#include "tables/table.h"
#include "tensors/outputs.h"
#include "tensors/picture.h"

/* The run to which the row belongs. */
struct attn_explained_run {
    const struct attn_config *config;      /* config of the stack; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* the input arrays; NULL: a model is run */
    const struct attn_labels *labels;
};

/* The tables of a row. Vectors are lists. */
enum attn_explained_table {
    ATTN_EXPLAINED_FITS,    /* q, then each key: k and its products with q */
    ATTN_EXPLAINED_WEIGHTS, /* each key: from the fit to the weight; sink and sum */
    ATTN_EXPLAINED_VALUES,  /* each key: weight w, v and their product; z */
    ATTN_EXPLAINED_LAYER,   /* x, the output of the layer, their sum */
    /* for pictures, all of these: key, token, a mark of the strongest key, vectors and numbers of
     * each key; also q and z */
    ATTN_EXPLAINED_ROW,
    ATTN_N_EXPLAINED_TABLE
};

enum {
    ATTN_EXPLAINED_MOST_COLUMNS = 12, /* of a table */
    /* numbers of a vector in text: the first and the last two of a longer one */
    ATTN_EXPLAINED_ITEMS = 5
};

/* A table of a row, and how text shows its columns. */
struct attn_explained_grid {
    struct attn_table *table; /* own; NULL: the row has no such table */
    struct attn_document_column columns[ATTN_EXPLAINED_MOST_COLUMNS];
};

/* Creates a table of ROW of RUN. If ROW has more keys than LIMIT, the middle is left out except for
 * the strongest key: a row "... 7 more" has the sums over those between. The table
 * ATTN_EXPLAINED_LAYER needs `config` and attn_out. */
enum attn_status attn_explanation_tabulate(const struct attn_explanation *row,
                                           const struct attn_explained_run *run,
                                           enum attn_explained_table which, size_t limit,
                                           struct attn_explained_grid *grid,
                                           struct attn_error *err);

/* Returns the name of the number from which a score is computed: "q.k". */
static inline const char *attn_explanation_fit(const struct attn_explanation *row)
{
    return !row->q                                                ? "given"
           : row->attention->similarity == ATTN_SIMILARITY_COSINE ? "cosine"
                                                                  : "q.k";
}

static inline bool attn_explanation_has_dropout(const struct attn_explanation *row)
{
    return row->attention->dropout > 0 || row->attention->dropout_mask.cells;
}

/* Returns the text of token I of the text or of its source, without surrounding blanks; NULL
 * without tokens. */
const char *attn_explained_token(const struct attn_labels *labels, bool is_source, size_t i,
                                 size_t *size);

/* Writes ROW of RUN as text. */
enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err);

/* Returns true if FORMAT is a format of figures, such as svg. */
bool attn_explanation_is_drawn(const struct attn_format *format);

/* Draws the table ATTN_EXPLAINED_ROW of ROW to OUTPUT, a file or a sink. LABELS are those of the
 * run. ATTN_INVALID, at the stage ATTN_STAGE_OPTIONS, if the row has too many keys for a figure, or
 * if the path is a directory. */
enum attn_status attn_explanation_draw(const struct attn_explanation *row,
                                       const struct attn_labels *labels,
                                       const struct attn_picture_options *options,
                                       const struct attn_output *output, struct attn_error *err);

#endif

/* record_csv.c - two tables. `csv` has a line with measures for each selected head of a record, or
 * a line per continuation, or a line per word. `edges` has a line per edge: the keys with the
 * largest weights of each query, in descending order; in a tie the smaller key comes first. */
#include "analysis/analysis_internal.h"
#include "base/memory.h"
#include "base/table_internal.h"
#include "batch/records_internal.h"
#include "encode/float_text.h"
#include "encode/quoting.h"
#include "tables/table_writer_internal.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Rows ------------------------------------------------------------------------------------ */

enum { MOST_COLUMNS = 4 + ATTN_N_MEASURE };

struct csv_writer {
    struct attn_record_writer base;
    struct attn_column columns[MOST_COLUMNS]; /* [n_column] columns after the labels */
    size_t n_column;
};

static void add_column(struct csv_writer *w, const char *name, enum attn_value_type type)
{
    w->columns[w->n_column++] = (struct attn_column){.name = name, .type = type};
}

/* Appends CELLS, those of the columns FIRST to END, each after a comma. Texts are not escaped. */
static void append_cells(const struct csv_writer *w, size_t first, size_t end,
                         const struct attn_cell *cells, struct attn_buffer *out)
{
    const struct attn_table_style csv = {.form = ATTN_TABLE_CSV,
                                         .precision = w->base.form->precision};

    for (size_t c = first; c < end; c++, cells++) {
        attn_buffer_append_char(out, ',');
        if (cells->type == ATTN_VALUE_TEXT && w->columns[c].notation != ATTN_NOTATION_LABEL)
            attn_csv_text_append(out, cells->text, cells->size);
        else
            attn_table_append_styled(out, csv, &w->columns[c], cells);
    }
}

/* Appends a line: KEY, then CELLS of the columns from FIRST on. */
static void append_row(struct csv_writer *w, const struct attn_buffer *key, size_t first,
                       const struct attn_cell *cells)
{
    attn_buffer_append(&w->base.text, key->data, key->size);
    append_cells(w, first, w->n_column, cells, &w->base.text);
    attn_buffer_append_char(&w->base.text, '\n');
}

/* Returns a cell with the float32 VALUE; missing if it is NaN or infinite. */
static struct attn_cell number_cell(double value)
{
    return isfinite(value) ? attn_cell_real((double)(float)value) : attn_cell_missing();
}

/* Returns the location of the pattern of HEAD of BLOCK. */
static struct attn_location location_of(const struct attn_record_outcome *outcome, int block,
                                        int head)
{
    return attn_location_of_block(attn_selection_dims(outcome->labels->selection),
                                  ATTN_SITE_PATTERN, block, head);
}

/* Fills CELLS with the stack (if there are two), the layer and the head of AT. Returns their
 * number. */
static size_t fill_head(const struct csv_writer *w, const struct attn_location *at,
                        struct attn_cell *cells)
{
    size_t n = 0;

    if (w->base.form->n_stack > 1)
        cells[n++] = attn_cell_string(attn_model_stack_name(at->stack));
    cells[n++] = attn_cell_integer(at->layer);
    cells[n++] = attn_cell_integer(at->head);
    return n;
}

/* Appends a line with measures for each selected head. */
static void append_heads(struct csv_writer *w, const struct attn_record_outcome *outcome,
                         const struct attn_buffer *key)
{
    const struct attn_records_form *form = w->base.form;
    const size_t n_matrix = form->n_layer * form->n_stack * form->n_head;
    const int n_measure = attn_measures_count(form->measures);

    for (size_t i = 0; outcome->measures && i < n_matrix; i++) {
        const struct attn_location at =
            location_of(outcome, (int)(i / form->n_head), (int)(i % form->n_head));
        struct attn_cell cells[MOST_COLUMNS];
        size_t n;

        if (!attn_selection_has_head(outcome->labels->selection, &at))
            continue;
        n = fill_head(w, &at, cells);
        cells[n++] = attn_cell_integer((int64_t)outcome->n_token);
        for (int m = 0; m < n_measure; m++)
            cells[n++] = number_cell((double)outcome->measures[(size_t)m * n_matrix + i]);
        append_row(w, key, 0, cells);
    }
}

/* Appends a line for each continuation. */
static void append_continuations(struct csv_writer *w, const struct attn_record_outcome *outcome,
                                 const struct attn_buffer *key)
{
    const struct attn_predictions *found = outcome->predictions;

    for (size_t i = 0; found && i < found->n_next; i++) {
        struct attn_cell cells[3];
        size_t n = 0;

        if (w->base.form->has_positions)
            cells[n++] = attn_cell_integer((int64_t)found->next[i].position);
        cells[n++] = attn_cell_string(found->next[i].text);
        cells[n++] = number_cell(found->next[i].log_probability);
        append_row(w, key, 0, cells);
    }
}

/* Appends a line for each word with the sum over its tokens. The first word has no sum, because its
 * first token has no score. */
static enum attn_status append_words(struct csv_writer *w,
                                     const struct attn_record_outcome *outcome,
                                     const struct attn_buffer *key, struct attn_error *err)
{
    const struct attn_labels *labels = outcome->labels;
    struct attn_buffer word = {0};
    bool *begins; /* true for each token that begins a word */
    int64_t n_word = 0;

    if (!outcome->surprisal || !labels->tokens || !labels->ids)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(begins, outcome->n_token, err));
    attn_words_mark(w->base.form->tokenizer, labels->ids, outcome->n_token, begins);
    for (size_t i = 0; i < outcome->n_token; n_word++) {
        double nats = 0;

        attn_buffer_reset(&word);
        do {
            attn_buffer_append(&word, labels->tokens[i], labels->token_sizes[i]);
            nats += outcome->surprisal[i];
        } while (++i < outcome->n_token && !begins[i]);
        append_row(w, key, 0,
                   (const struct attn_cell[]){attn_cell_integer(n_word),
                                              attn_cell_text(word.data ? word.data : "", word.size),
                                              number_cell(nats / M_LN2), number_cell(nats)});
    }
    w->base.text.has_failed |= word.has_failed;
    attn_buffer_release(&word);
    attn_free(begins);
    return ATTN_OK;
}

/* --- One of them ----------------------------------------------------------------------------- */

/* Adds the columns of a head: its stack (if there are two), its layer and its number. */
static void add_head(struct csv_writer *w)
{
    if (w->base.form->n_stack > 1)
        add_column(w, "stack", ATTN_VALUE_TEXT);
    add_column(w, "layer", ATTN_VALUE_INTEGER);
    add_column(w, "head", ATTN_VALUE_INTEGER);
}

static enum attn_status begin_table(struct csv_writer *w, struct attn_error *err)
{
    return attn_record_writer_is_empty(&w->base)
               ? attn_record_header_append(&w->base, w->columns, w->n_column, false, err)
               : ATTN_OK;
}

static enum attn_status begin_csv(struct attn_record_writer *writer, struct attn_error *err)
{
    struct csv_writer *w = (struct csv_writer *)writer;

    w->n_column = 0;
    if (writer->form->table == ATTN_RECORD_FIELD_PREDICTIONS) {
        if (writer->form->has_positions)
            add_column(w, "position", ATTN_VALUE_INTEGER);
        add_column(w, "next", ATTN_VALUE_TEXT);
        w->columns[w->n_column - 1].notation = ATTN_NOTATION_LABEL;
        add_column(w, "log_prob", ATTN_VALUE_REAL);
    } else if (writer->form->table == ATTN_RECORD_FIELD_SURPRISAL) {
        add_column(w, "word", ATTN_VALUE_INTEGER);
        add_column(w, "text", ATTN_VALUE_TEXT);
        add_column(w, "bits", ATTN_VALUE_REAL);
        add_column(w, "nats", ATTN_VALUE_REAL);
    } else {
        add_head(w);
        add_column(w, "n_token", ATTN_VALUE_INTEGER);
        for (int m = 0; m < ATTN_N_MEASURE; m++)
            if (writer->form->measures & ATTN_MEASURE_BIT(m))
                add_column(w, attn_measure_name((enum attn_measure)m), ATTN_VALUE_REAL);
    }
    return begin_table(w, err);
}

static enum attn_status write_csv(struct attn_record_writer *writer,
                                  const struct attn_record_outcome *outcome, struct attn_error *err)
{
    struct csv_writer *w = (struct csv_writer *)writer;
    struct attn_buffer key = {0};
    enum attn_status status;

    if (outcome->failure)
        return ATTN_OK;
    attn_record_key_append(writer, &key, outcome);
    status = attn_buffer_check(&key, err);
    if (status == ATTN_OK && writer->form->table == ATTN_RECORD_FIELD_PREDICTIONS)
        append_continuations(w, outcome, &key);
    else if (status == ATTN_OK && writer->form->table == ATTN_RECORD_FIELD_SURPRISAL)
        status = append_words(w, outcome, &key, err);
    else if (status == ATTN_OK)
        append_heads(w, outcome, &key);
    attn_buffer_release(&key);
    return status;
}

const struct attn_record_format attn_record_format_csv = {
    .name = "csv",
    .size = sizeof(struct csv_writer),
    .is_text = true,
    .begin = begin_csv,
    .write = write_csv,
};

/* --- Edges ----------------------------------------------------------------------------------- */

static enum attn_status begin_edges(struct attn_record_writer *writer, struct attn_error *err)
{
    struct csv_writer *w = (struct csv_writer *)writer;

    w->n_column = 0;
    add_head(w);
    add_column(w, "query", ATTN_VALUE_INTEGER);
    add_column(w, "key", ATTN_VALUE_INTEGER);
    add_column(w, "weight", ATTN_VALUE_REAL);
    return begin_table(w, err);
}

/* Appends a line for each edge of the head AT. Each line begins with KEY. */
static void append_edges(struct csv_writer *w, const struct attn_record_outcome *outcome,
                         const struct attn_location *at, struct attn_buffer *key)
{
    const size_t size = key->size;
    struct attn_cell cells[3];
    const size_t n_head = fill_head(w, at, cells);

    append_cells(w, 0, n_head, cells, key);
    for (size_t query = 0; query < outcome->n_token; query++) {
        size_t n;
        const struct attn_edge *edges = attn_edges_find(outcome->edges, at, query, &n);

        cells[0] = attn_cell_integer((int64_t)query);
        for (size_t i = 0; i < n; i++) {
            cells[1] = attn_cell_integer(edges[i].key);
            cells[2] = attn_cell_real((double)edges[i].weight);
            append_row(w, key, n_head, cells);
        }
    }
    key->size = size;
}

static enum attn_status write_edges(struct attn_record_writer *writer,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err)
{
    const struct attn_records_form *form = writer->form;
    struct attn_buffer key = {0};
    enum attn_status status;

    if (outcome->failure || !outcome->edges)
        return ATTN_OK;
    attn_record_key_append(writer, &key, outcome);
    for (int block = 0; block < (int)(form->n_layer * form->n_stack); block++)
        for (int head = 0; head < (int)form->n_head && !key.has_failed; head++) {
            const struct attn_location at = location_of(outcome, block, head);

            append_edges((struct csv_writer *)writer, outcome, &at, &key);
        }
    status = attn_buffer_check(&key, err);
    attn_buffer_release(&key);
    return status;
}

const struct attn_record_format attn_record_format_edges = {
    .name = "edges",
    .size = sizeof(struct csv_writer),
    .is_text = true,
    .begin = begin_edges,
    .write = write_edges,
};

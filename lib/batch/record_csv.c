/* record_csv.c - two tables: `csv` has a line per selected head of a record with its measures, or
 * one per continuation, or one per word; `edges` a line per edge, the largest keys of each query,
 * the largest first, of equal ones the smaller key. */
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
    struct attn_column columns[MOST_COLUMNS]; /* [n_column] after the labels */
    size_t n_column;
};

static void add_column(struct csv_writer *w, const char *name, enum attn_value_type type)
{
    w->columns[w->n_column++] = (struct attn_column){.name = name, .type = type};
}

/* Appends a line of CELLS [n_column], whose texts are not escaped, after KEY. */
static void append_row(struct csv_writer *w, const struct attn_buffer *key,
                       const struct attn_cell *cells)
{
    const struct attn_table_style csv = {.form = ATTN_TABLE_CSV,
                                         .precision = w->base.form->precision};
    struct attn_buffer *out = &w->base.text;

    attn_buffer_append(out, key->data, key->size);
    for (size_t c = 0; c < w->n_column; c++) {
        attn_buffer_append_char(out, ',');
        if (cells[c].type == ATTN_VALUE_TEXT && w->columns[c].notation != ATTN_NOTATION_LABEL)
            attn_csv_text_append(out, cells[c].text, cells[c].size);
        else
            attn_table_append_styled(out, csv, &w->columns[c], &cells[c]);
    }
    attn_buffer_append_char(out, '\n');
}

/* A float32; a missing cell for what is no number. */
static struct attn_cell number_cell(double value)
{
    return isfinite(value) ? attn_cell_real((double)(float)value) : attn_cell_missing();
}

/* Returns where the matrix of HEAD of BLOCK is. */
static struct attn_location location_of(const struct attn_record_outcome *outcome, int block,
                                        int head)
{
    return attn_location_of_block(attn_selection_dims(outcome->labels->selection),
                                  ATTN_SITE_PATTERN, block, head);
}

/* A line per selected head, with its measures. */
static void append_heads(struct csv_writer *w, const struct attn_record_outcome *outcome,
                         const struct attn_buffer *key)
{
    const struct attn_records_form *form = w->base.form;
    const size_t n_matrix = form->n_layer * form->n_stack * form->n_head;
    const int n_measure = attn_measures_count(form->measures);

    for (size_t i = 0; outcome->measures && i < n_matrix; i++) {
        const int block = (int)(i / form->n_head), head = (int)(i % form->n_head);
        const struct attn_location at = location_of(outcome, block, head);
        struct attn_cell cells[MOST_COLUMNS];
        size_t n = 0;

        if (!attn_selection_has_head(outcome->labels->selection, &at))
            continue;
        if (form->n_stack > 1)
            cells[n++] = attn_cell_string(attn_model_stack_name(at.stack));
        cells[n++] = attn_cell_integer(at.layer);
        cells[n++] = attn_cell_integer(head);
        cells[n++] = attn_cell_integer((int64_t)outcome->n_token);
        for (int m = 0; m < n_measure; m++)
            cells[n++] = number_cell((double)outcome->measures[(size_t)m * n_matrix + i]);
        append_row(w, key, cells);
    }
}

/* A line per continuation. */
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
        append_row(w, key, cells);
    }
}

/* A line per word: the sum over its tokens. The one with the first token, before which nothing
 * came, has none. */
static enum attn_status append_words(struct csv_writer *w,
                                     const struct attn_record_outcome *outcome,
                                     const struct attn_buffer *key, struct attn_error *err)
{
    const struct attn_labels *labels = outcome->labels;
    struct attn_buffer word = {0};
    bool *begins; /* a word, at each token */
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
        append_row(w, key,
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

/* Lists the columns of a head: its stack, of two, its layer and number. */
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

enum {
    DIGITS = 20,                                                   /* of a size_t */
    LONGEST_NUMBERS = 2 * (DIGITS + 1) + ATTN_NUMBER_TEXT_SIZE + 1 /* query, key, weight, end */
};

/* Writes N as decimal digits; returns their end. printf would take as long as all else. */
static char *put_integer(char *to, size_t n)
{
    char digits[DIGITS];
    size_t first = DIGITS;

    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    memcpy(to, digits + first, DIGITS - first);
    return to + (DIGITS - first);
}

/* The lines of the head, which begin with START. */
static void append_head(struct attn_record_writer *writer,
                        const struct attn_record_outcome *outcome, const struct attn_location *at,
                        const struct attn_buffer *start)
{
    const size_t longest = start->size + LONGEST_NUMBERS;

    for (size_t query = 0; query < outcome->n_token; query++) {
        size_t n;
        const struct attn_edge *edges = attn_edges_find(outcome->edges, at, query, &n);

        for (size_t i = 0; i < n; i++) {
            char *to = attn_buffer_reserve(&writer->text, longest);

            if (!to)
                return;
            memcpy(to, start->data, start->size);
            to = put_integer(to + start->size, query);
            *to++ = ',';
            to = put_integer(to, (size_t)edges[i].key);
            *to++ = ',';
            to += attn_number_text(edges[i].weight, writer->form->precision, to);
            *to++ = '\n';
            writer->text.size = (size_t)(to - writer->text.data);
        }
    }
}

static enum attn_status write_edges(struct attn_record_writer *writer,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err)
{
    struct attn_buffer id = {0}, start = {0};
    enum attn_status status;

    if (outcome->failure || !outcome->edges)
        return ATTN_OK;
    attn_record_key_append(writer, &id, outcome);
    for (int layer = 0; layer < (int)(writer->form->n_layer * writer->form->n_stack); layer++)
        for (int head = 0; head < (int)writer->form->n_head; head++) {
            const struct attn_location at = location_of(outcome, layer, head);
            const char *stack;

            start.size = 0;
            attn_buffer_append(&start, id.data, id.size);
            stack = attn_model_stack_name(at.stack);
            attn_buffer_append_format(&start, ",%s%s%d,%d,", stack, stack[0] ? "," : "", at.layer,
                                      head);
            if (start.has_failed)
                break;
            append_head(writer, outcome, &at, &start);
        }
    status = attn_buffer_check(&id, err);
    if (status == ATTN_OK)
        status = attn_buffer_check(&start, err);
    attn_buffer_release(&id);
    attn_buffer_release(&start);
    return status;
}

const struct attn_record_format attn_record_format_edges = {
    .name = "edges",
    .size = sizeof(struct csv_writer),
    .is_text = true,
    .begin = begin_edges,
    .write = write_edges,
};

/* explain_picture.c - draws the table of a row: k, score, exponential, weight, v, and weight times
 * v of each key, with q above and z below. */
#include "explain/explain_internal.h"

#include "base/status_internal.h"
#include "figures/table_picture.h"
#include "formats/float_text.h"
#include "pictures/grid.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"
#include "tensors/format_internal.h"
#include "tensors/token_text.h"
#include "trace/model_stack.h"

enum { MOST_KEYS = 700, LABEL_COLUMNS = 14 }; /* 744 keys would fit 16,384 units */

/* Appends "3 eat", or "3" without tokens. */
static void append_name(struct attn_buffer *out, const struct attn_token_texts *texts,
                        size_t position)
{
    size_t n;
    const char *text = texts->n > 0 ? attn_token_text(texts, position, &n) : NULL;

    attn_buffer_append_format(out, "%zu", position);
    if (text) {
        attn_buffer_append_char(out, ' ');
        attn_text_append_label(out, text, n, LABEL_COLUMNS, "");
    }
}

/* Appends "fable, layer 2, head 5: one row, step by step". */
static void append_title(struct attn_buffer *out, const struct attn_explanation *row,
                         const struct attn_labels *labels)
{
    const char *stack = attn_model_stack_name(row->at.stack);

    attn_grid_append_model(&(struct attn_grid){.model = labels->model ? labels->model : "arrays"},
                           out);
    attn_buffer_append_format(out, ", %s%slayer %d, head %d: one row, step by step", stack,
                              stack[0] ? " " : "", row->at.layer, row->at.head);
}

/* Appends "query 7 it; strongest key: 1 chicken, 53.1 %". */
static enum attn_status append_note(struct attn_buffer *out, const struct attn_explanation *row,
                                    const struct attn_labels *labels, struct attn_error *err)
{
    struct attn_token_texts texts[2] = {0};
    char number[ATTN_FIXED_TEXT_SIZE];
    const enum attn_status status = attn_token_labels_init(texts, labels, err);

    attn_buffer_append_string(out, "query ");
    append_name(out, &texts[0], row->query);
    if (row->n_cell > 0) {
        const struct attn_explained_key *key = &row->keys[row->strongest];

        attn_buffer_append_string(out, "; strongest key: ");
        append_name(out, &texts[row->is_cross], key->key);
        attn_buffer_append_string(out, ", ");
        attn_buffer_append(out, number,
                           attn_float_text_fixed((float)(100 * (double)key->kept), 1, number));
        attn_buffer_append_string(out, " %");
    }
    if (row->q || row->z)
        attn_buffer_append_string(out, "; blue is below 0, orange above");
    attn_token_texts_release(texts, 2);
    return status;
}

/* Draws TABLE with a TITLE and a note. */
static enum attn_status write_picture(const struct attn_explanation *row,
                                      const struct attn_labels *labels,
                                      const struct attn_table *table,
                                      const struct attn_picture_options *options,
                                      const struct attn_output *output, struct attn_error *err)
{
    struct attn_buffer title = {0}, note = {0};
    enum attn_status status;

    append_title(&title, row, labels);
    status = append_note(&note, row, labels, err);
    if (status == ATTN_OK && attn_buffer_string(&title) && attn_buffer_string(&note)) {
        const size_t marks = attn_table_find(table, "mark");
        const struct attn_table_picture picture = {.view = {.rows = ATTN_TABLE_COLUMN(0),
                                                            .texts = ATTN_TABLE_COLUMN(1),
                                                            .marks = ATTN_TABLE_COLUMN(marks),
                                                            .values = ATTN_TABLE_COLUMN(2),
                                                            .traits = ATTN_VIEW_PARTS,
                                                            .quantity = title.data},
                                                   .note = note.data,
                                                   .run = labels};

        status = attn_table_picture_write(table, &picture, options, output, err);
    } else if (status == ATTN_OK) {
        status = attn_buffer_check(title.has_failed ? &title : &note, err);
    }
    attn_buffer_release(&title);
    attn_buffer_release(&note);
    return status;
}

bool attn_explanation_is_drawn(const struct attn_format *format)
{
    return format->tensors && format->tensors->draw;
}

enum attn_status attn_explanation_draw(const struct attn_explanation *row,
                                       const struct attn_labels *labels,
                                       const struct attn_picture_options *options,
                                       const struct attn_output *output, struct attn_error *err)
{
    struct attn_labels of_stack = attn_labels_of_stack(labels);
    struct attn_selection *stack;
    struct attn_table *table = NULL;
    enum attn_status status;

    if (row->n_cell > MOST_KEYS) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "the row has %zu keys, a figure of `explain` at most %d", row->n_cell,
                    MOST_KEYS);
        return attn_error_hint(err, "`figure tokens` shows the weights of such a row");
    }
    ATTN_TRY(attn_selection_copy_stack(labels->selection, row->at.stack, &stack, err));
    of_stack.selection = stack;
    status = attn_explanation_tabulate(row, &of_stack, &table, err);
    ATTN_THEN(status, write_picture(row, &of_stack, table, options, output, err));
    attn_table_free(table);
    attn_selection_free(stack);
    return status;
}

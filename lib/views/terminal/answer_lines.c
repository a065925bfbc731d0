#include "terminal/answer_lines.h"

#include "base/sink.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "figures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tables/text_table.h"

#include <assert.h>

enum { MOST_TOKEN = 14 }; /* columns of a token */

static enum attn_status write_question(const struct attn_table *table, struct attn_sink *sink,
                                       struct attn_error *err)
{
    const struct attn_cell target = attn_table_fact(table, "target"),
                           foil = attn_table_fact(table, "foil"),
                           token = attn_table_fact(table, "token");
    struct attn_buffer line = {0};
    enum attn_status status;

    attn_table_append_label(&line, token.text, token.size, MOST_TOKEN);
    attn_buffer_append_string(&line, token.size > 0 ? " -> " : "-> ");
    attn_table_append_label(&line, target.text, target.size, MOST_TOKEN);
    if (foil.size > 0) {
        attn_buffer_append_string(&line, " instead of ");
        attn_table_append_label(&line, foil.text, foil.size, MOST_TOKEN);
    }
    attn_buffer_append_format(&line, ": %.1f %s\n", attn_table_fact(table, "sum").real,
                              foil.size > 0 ? "logits" : "above the mean logit");
    status = attn_buffer_check(&line, err);
    if (status == ATTN_OK)
        attn_sink_write(sink, line.data, line.size);
    attn_buffer_release(&line);
    return status;
}

enum attn_status attn_answer_lines(const struct attn_table *table, size_t width,
                                   struct attn_sink *sink, struct attn_error *err)
{
    ATTN_NEED(err, table, sink);
    enum { MOST_COLUMNS = 7 };
    const size_t type = attn_table_find(table, "type");
    const struct attn_table_style style = {ATTN_TABLE_ALIGNED, -1, .width = width};
    size_t n_column = type;
    struct attn_table *shown;
    enum attn_status status;

    for (size_t i = 0; i < attn_table_n_row(table); i++) /* without types no column for them */
        if (attn_table_cell(table, i, type).type == ATTN_VALUE_TEXT)
            n_column = type + 1;
    assert(n_column <= MOST_COLUMNS);
    ATTN_TRY(write_question(table, sink, err));
    ATTN_TRY(attn_table_create("answer", attn_table_column(table, 0), n_column, &shown, err));
    status = ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < attn_table_n_row(table); i++) {
        struct attn_cell cells[MOST_COLUMNS];

        for (size_t k = 0; k < n_column; k++)
            cells[k] = attn_table_cell(table, i, k);
        status = attn_table_append(shown, cells, n_column, err);
    }
    ATTN_THEN(status, attn_table_write_styled(shown, &style, sink, err));
    attn_table_free(shown);
    return status;
}

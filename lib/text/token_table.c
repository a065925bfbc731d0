/* token_table.c - see token_table.h. */
#include "text/token_table.h"

#include "base/memory.h"
#include "base/table_internal.h"

#include <string.h>

enum attn_status attn_token_table(const struct attn_tokenizer *tokenizer,
                                  const struct attn_encoding *encoding, struct attn_table **table,
                                  struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "position", .type = ATTN_VALUE_INTEGER},
        {.name = "id", .type = ATTN_VALUE_INTEGER},
        {.name = "begin", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
        {.name = "end", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        {.name = "added", .type = ATTN_VALUE_TEXT},
    };
    enum { N = sizeof columns / sizeof *columns };
    const size_t first = encoding->n_front, last = encoding->n - encoding->n_back;
    const size_t n_column = encoding->n_front + encoding->n_back > 0 ? N : N - 1;
    struct attn_table *made = NULL;
    enum attn_status status = attn_table_create("tokens", columns, n_column, &made, err);

    for (size_t i = 0; status == ATTN_OK && i < encoding->n; i++) {
        size_t size = 0;
        const char *token = attn_tokenizer_token(tokenizer, encoding->ids[i], &size);
        const struct attn_cell row[N] = {
            attn_cell_integer((int64_t)i),
            attn_cell_integer(encoding->ids[i]),
            attn_cell_integer((int64_t)encoding->begin[i]),
            attn_cell_integer((int64_t)encoding->end[i]),
            attn_cell_text(token, size),
            attn_cell_text(i < first || i >= last ? "added" : NULL, strlen("added"))};

        status = attn_table_append(made, row, n_column, err);
    }
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

enum attn_status attn_pair_table(struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "input_ids", .type = ATTN_VALUE_LIST},
        {.name = "target_id", .type = ATTN_VALUE_INTEGER},
        {.name = "input", .type = ATTN_VALUE_TEXT},
        {.name = "target", .type = ATTN_VALUE_TEXT},
    };

    return attn_table_create("pairs", columns, sizeof columns / sizeof *columns, table, err);
}

enum attn_status attn_pair_table_append(struct attn_table *table,
                                        const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n, struct attn_error *err)
{
    int64_t *list = attn_alloc(n, sizeof *list, err);
    char *input = NULL;
    size_t input_size = 0, target_size = 0;
    const char *target = attn_tokenizer_token(tokenizer, ids[n], &target_size);
    enum attn_status status = list ? ATTN_OK : ATTN_NO_MEMORY;

    if (status == ATTN_OK)
        status = attn_tokenizer_decode(tokenizer, ids, n, &input, &input_size, err);
    if (status == ATTN_OK && !target)
        status = attn_error_set(err, ATTN_INVALID, "id %d is not in the vocabulary", (int)ids[n]);
    if (status == ATTN_OK) {
        for (size_t i = 0; i < n; i++)
            list[i] = ids[i];
        const struct attn_cell row[] = {attn_cell_list(list, n), attn_cell_integer(ids[n]),
                                        attn_cell_text(input, input_size),
                                        attn_cell_text(target, target_size)};

        status = attn_table_append(table, row, sizeof row / sizeof *row, err);
    }
    attn_text_free(input);
    attn_free(list);
    return status;
}

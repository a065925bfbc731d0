/* csv.c - see csv.h. Check notes every assertion in a file, which would be slow for every cell. */
#include "tests/support/csv.h"

#include "tests/support/assert.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the field at AT, its quotes among them. */
static size_t field_size(const char *at)
{
    size_t size = 1;

    if (*at != '"')
        return strcspn(at, ",\n");
    while (at[size] != '"' || at[size + 1] == '"') {
        if (at[size] == '\0')
            ck_abort_msg("a quote without an end at %.40s", at);
        size += at[size] == '"' ? 2 : 1;
    }
    return size + 1;
}

/* Reads the field at *AT, leaves *AT at what ends it: a comma or a newline. */
static char *read_field(const char **at)
{
    const char *from = *at, *end = from + field_size(from);
    bool is_quoted = *from == '"';
    char *field = malloc((size_t)(end - from) + 1), *to = field;

    if (field == NULL || (*end != ',' && *end != '\n'))
        ck_abort_msg("a field without an end at %.40s", from);
    for (from += is_quoted; from < end - is_quoted; from++) {
        if (!is_quoted && (*from == '"' || *from == '\r'))
            ck_abort_msg("stray '%c' at %.40s", *from, *at);
        from += is_quoted && *from == '"'; /* the second of two stays */
        *to++ = *from;
    }
    *to = '\0';
    *at = end;
    return field;
}

struct attn_csv attn_csv_parse(const char *text)
{
    struct attn_csv csv = {0};
    size_t n = 0, n_in_row = 0;

    while (*text != '\0') {
        if ((n & (n - 1)) == 0) { /* room for twice as many, or the first */
            csv.cells = realloc(csv.cells, (2 * n + (n == 0)) * sizeof *csv.cells);
            ck_assert_ptr_nonnull(csv.cells);
        }
        csv.cells[n++] = read_field(&text);
        n_in_row++;
        if (*text++ == ',')
            continue;
        if (csv.n_row++ == 0)
            csv.n_col = n_in_row;
        if (n_in_row != csv.n_col)
            ck_abort_msg("row %zu has %zu fields, the first %zu", csv.n_row, n_in_row, csv.n_col);
        n_in_row = 0;
    }
    ck_assert_uint_eq(n_in_row, 0);
    return csv;
}

void attn_csv_release(struct attn_csv *csv)
{
    for (size_t i = 0; i < csv->n_row * csv->n_col; i++)
        free(csv->cells[i]);
    free(csv->cells);
    *csv = (struct attn_csv){0};
}

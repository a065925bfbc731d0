/* link_scores.c - see align_extra.h. */
#include "align/align_extra.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "machine/rows.h"
#include "measures/links.h"

#include <string.h>

enum { MOST_WORD = 4096 };

/* Raises sizes[0] and sizes[1] above the words that LINE names on each side. */
static void widen(const char *line, size_t sizes[2])
{
    for (size_t side = 0; *line; line++) {
        size_t word = 0;

        if (strchr(" \t\r", *line))
            side = 0;
        if (*line < '0' || *line > '9')
            continue;
        for (; *line >= '0' && *line <= '9'; line++)
            word = word < MOST_WORD ? 10 * word + (size_t)(*line - '0') : word;
        line--;
        sizes[side] = word < sizes[side] ? sizes[side] : word < MOST_WORD ? word + 1 : MOST_WORD;
        side = 1;
    }
}

/* Reads line I of the links and of the gold, and adds its counts. */
static enum attn_status count_line(const struct attn_link_lines lines[2], size_t i,
                                   struct attn_link_counts *counts, struct attn_error *err)
{
    size_t sizes[2] = {1, 1}, n;
    unsigned char *cells;
    enum attn_status status = ATTN_OK;

    for (int k = 0; k < 2; k++)
        widen(lines[k].items[i], sizes);
    n = sizes[0] * sizes[1];
    ATTN_TRY(ATTN_ALLOC(cells, 2 * n, err));
    for (size_t k = 0; k < 2 && status == ATTN_OK; k++) {
        struct attn_error why = {0};

        status = attn_links_read(lines[k].items[i], sizes[0], sizes[1], lines[k].is_one_based,
                                 cells + k * n, &why);
        if (status != ATTN_OK)
            attn_error_set(err, status, "line %zu of '%s': %s", i + 1,
                           attn_quote_string(lines[k].path).text, why.message);
    }
    for (size_t k = 0; k < n && status == ATTN_OK; k++)
        cells[k] = cells[k] != 0;
    if (status == ATTN_OK)
        attn_links_count(cells, cells + n, n, counts);
    attn_free(cells);
    return status;
}

static enum attn_status count(const struct attn_link_lines lines[2],
                              struct attn_link_counts *counts, struct attn_error *err)
{
    for (size_t i = 0; i < lines[0].n && i < lines[1].n; i++)
        ATTN_TRY(count_line(lines, i, counts, err));
    if (lines[0].n == lines[1].n && lines[0].n > 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID,
        "'%s' has %zu line%s and '%s' %zu, expected one in both for each pair of texts",
        attn_quote_string(lines[0].path).text, lines[0].n, lines[0].n == 1 ? "" : "s",
        attn_quote_string(lines[1].path).text, lines[1].n);
}

static struct attn_cell share(size_t part, size_t whole)
{
    return whole > 0 ? attn_cell_real((double)part / (double)whole) : attn_cell_missing();
}

static enum attn_status append(struct attn_table *table, size_t n,
                               const struct attn_link_counts *counts, struct attn_error *err)
{
    const size_t whole = counts->links + counts->sure;
    const struct attn_cell row[] = {attn_cell_integer((int64_t)n),
                                    attn_cell_integer((int64_t)counts->links),
                                    attn_cell_integer((int64_t)counts->sure),
                                    attn_cell_integer((int64_t)counts->possible),
                                    share(counts->hits, counts->links),
                                    share(counts->hits_sure, counts->sure),
                                    share(whole - counts->hits - counts->hits_sure, whole)};

    return attn_table_append(table, row, sizeof row / sizeof *row, err);
}

enum attn_status attn_link_scores(const char *links, const char *gold, struct attn_table **table,
                                  struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "n",
         .type = ATTN_VALUE_INTEGER,
         .role = ATTN_ROLE_COUNT,
         .traits = ATTN_TRAIT_COUNT},
        ATTN_COLUMN_WITH("n_link", INTEGER, COUNT),
        ATTN_COLUMN_WITH("sure", INTEGER, COUNT),
        ATTN_COLUMN_WITH("possible", INTEGER, COUNT),
        ATTN_COLUMN_RATE("precision", 6, "precision of the links", 0),
        ATTN_COLUMN_RATE("recall", 6, "recall of the links", 0),
        ATTN_COLUMN_RATE("aer", 6, "alignment error rate", 0)};
    struct attn_link_lines lines[2] = {{0}};
    struct attn_link_counts counts = {0};
    struct attn_table *made = NULL;
    enum attn_status status = ATTN_OK;

    ATTN_NEED(err, links, gold, table);
    lines[0].path = links, lines[1].path = gold;
    for (int i = 0; i < 2 && status == ATTN_OK; i++)
        status = attn_link_lines_read(&lines[i], err);
    ATTN_THEN(status, count(lines, &counts, err));
    ATTN_THEN(status,
              attn_table_create("scores", columns, sizeof columns / sizeof *columns, &made, err));
    ATTN_THEN(status, append(made, lines[0].n, &counts, err));
    for (int i = 0; i < 2; i++)
        attn_link_lines_release(&lines[i]);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}

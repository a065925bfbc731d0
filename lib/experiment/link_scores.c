/* link_scores.c - see link_scores.h. */
#include "experiment/link_scores.h"

#include "analysis/links.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "study/rows.h"

#include <string.h>

enum { MOST_WORD = 4096 };

/* The lines of a file. */
struct line_file {
    const struct attn_link_file *given;
    struct attn_file file; /* owns */
    char *text;            /* owns; the rest of the file, null-terminated */
    char *at;              /* the next line */
    size_t n;              /* lines that were read */
};

static enum attn_status open_lines(struct line_file *lines, struct attn_error *err)
{
    ATTN_TRY(attn_file_open(lines->given->path, ATTN_READ, &lines->file, err));
    lines->at = lines->text = attn_strndup((const char *)lines->file.data, lines->file.size, err);
    return lines->text ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Returns the next line, or NULL after the last. */
static const char *next_line(struct line_file *lines)
{
    char *line = lines->at;
    const size_t size = strcspn(line, "\n");

    if (!*line)
        return NULL;
    lines->at += size + (line[size] != '\0');
    line[size] = '\0';
    lines->n++;
    return line;
}

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

/* Reads LINE of LINES into CELLS [sizes]. */
static enum attn_status read_line(const struct line_file *lines, const char *line,
                                  const size_t sizes[2], unsigned char *cells,
                                  struct attn_error *err)
{
    struct attn_error why = {0};
    const enum attn_status status =
        attn_links_read(line, sizes[0], sizes[1], lines->given->is_one_based, cells, &why);

    if (status == ATTN_OK)
        return ATTN_OK;
    return attn_error_set(err, status, "line %zu of '%s': %s", lines->n,
                          attn_quote_string(lines->given->path).text, why.message);
}

/* Adds the counts of one pair of texts. */
static enum attn_status count_pair(struct line_file files[2], const char *const lines[2],
                                   struct attn_link_counts *counts, struct attn_error *err)
{
    size_t sizes[2] = {1, 1}, n;
    unsigned char *cells[2] = {NULL};
    enum attn_status status;

    for (int i = 0; i < 2; i++)
        widen(lines[i], sizes);
    n = sizes[0] * sizes[1];
    status = ATTN_ALLOC(cells[0], 2 * n, err);
    cells[1] = cells[0] ? cells[0] + n : NULL;
    for (int i = 0; i < 2 && status == ATTN_OK; i++)
        status = read_line(&files[i], lines[i], sizes, cells[i], err);
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        cells[0][i] = cells[0][i] != 0;
    if (status == ATTN_OK)
        attn_links_count(cells[0], cells[1], n, counts);
    attn_free(cells[0]);
    return status;
}

static enum attn_status count(struct line_file files[2], struct attn_link_counts *counts,
                              struct attn_error *err)
{
    const char *lines[2];

    do {
        for (int i = 0; i < 2; i++)
            lines[i] = next_line(&files[i]);
        if (lines[0] && lines[1])
            ATTN_TRY(count_pair(files, lines, counts, err));
    } while (lines[0] && lines[1]);
    while (next_line(&files[0]) || next_line(&files[1]))
        ;
    if (files[0].n == files[1].n && files[0].n > 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' has %zu line%s and '%s' %zu, expected one in both for each pair of "
                          "texts",
                          attn_quote_string(files[0].given->path).text, files[0].n,
                          files[0].n == 1 ? "" : "s", attn_quote_string(files[1].given->path).text,
                          files[1].n);
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

enum attn_status attn_link_scores(const struct attn_link_file *links,
                                  const struct attn_link_file *gold, struct attn_table **table,
                                  struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "n",
         .type = ATTN_VALUE_INTEGER,
         .role = ATTN_ROLE_COUNT,
         .traits = ATTN_TRAIT_COUNT},
        ATTN_COLUMN_WITH("links", INTEGER, COUNT),
        ATTN_COLUMN_WITH("sure", INTEGER, COUNT),
        ATTN_COLUMN_WITH("possible", INTEGER, COUNT),
        ATTN_COLUMN_RATE("precision", 6, "precision of the links", 0),
        ATTN_COLUMN_RATE("recall", 6, "recall of the links", 0),
        ATTN_COLUMN_RATE("aer", 6, "alignment error rate", 0)};
    struct line_file files[2] = {{.given = links}, {.given = gold}};
    struct attn_link_counts counts = {0};
    struct attn_table *made = NULL;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(links, "links", err) || !attn_is_given(gold, "gold", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    for (int i = 0; i < 2 && status == ATTN_OK; i++)
        status = open_lines(&files[i], err);
    if (status == ATTN_OK)
        status = count(files, &counts, err);
    if (status == ATTN_OK)
        status = attn_table_create("scores", columns, sizeof columns / sizeof *columns, &made, err);
    if (status == ATTN_OK)
        status = append(made, files[0].n, &counts, err);
    for (int i = 0; i < 2; i++) {
        attn_file_release(&files[i].file);
        attn_free(files[i].text);
    }
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}

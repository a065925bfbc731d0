#include "measures/links.h"

#include "base/elementary.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- Methods ---------------------------------------------------------------------------------- */

/* Sets links[i, j] for each cell of X that is the largest of its row and of its column. FREE_CELLS
 * [m, n]: 1 for cells that may be linked; NULL: all may. Returns whether a link is new. */
static bool link_largest(const double *x, size_t m, size_t n, const unsigned char *free_cells,
                         unsigned char *links)
{
    bool is_new = false;

    for (size_t i = 0; i < m; i++) {
        size_t best = 0, back = 0;

        for (size_t j = 1; j < n; j++)
            best = x[i * n + j] > x[i * n + best] ? j : best;
        for (size_t k = 1; k < m; k++)
            back = x[k * n + best] > x[back * n + best] ? k : back;
        if (back == i && !links[i * n + best] && (!free_cells || free_cells[i * n + best])) {
            links[i * n + best] = 1;
            is_new = true;
        }
    }
    return is_new;
}

/* The second round of itermax (Sabet et al. 2020, section 2.2; two rounds): link_largest with s =
 * (x + 1) / 2 times min(1, 0.9 fx + 0.9 fy), where fx and fy are 1 if the row and the column have
 * no link yet, else 0. */
static enum attn_status link_free(const double *x, size_t m, size_t n, unsigned char *links,
                                  struct attn_error *err)
{
    double *s = attn_alloc(m, n * sizeof *s, err);
    unsigned char *used = attn_alloc(m + n, 1, err), *free_cells = attn_alloc(m, n, err);
    size_t n_row = 0, n_col = 0; /* number of rows and columns with links */

    for (size_t i = 0; used && i < m * n; i++)
        if (links[i])
            used[i / n] = used[m + i % n] = 1;
    for (size_t i = 0; used && i < m + n; i++)
        *(i < m ? &n_row : &n_col) += used[i];
    for (size_t i = 0; s && used && free_cells && i < m * n; i++) {
        const int n_free = !used[i / n] + !used[m + i % n];

        free_cells[i] = n_free > 0;
        s[i] = (x[i] + 1) / 2 * (n_free == 0 ? 0 : n_free == 1 ? 0.9 : 1);
    }
    if (s && used && free_cells && n_row < m && n_col < n)
        link_largest(s, m, n, free_cells, links);
    attn_free(s);
    attn_free(free_cells);
    attn_free(used);
    return s && used && free_cells ? ATTN_OK : ATTN_NO_MEMORY;
}

/* A column, in a matching of all rows to columns. Rows are the shorter side; column 0 stands for
 * none. */
struct column {
    double price, slack;
    size_t row;    /* the row that it is matched with, counted from 1; 0: none */
    size_t before; /* the previous column in the chain of exchanges */
    bool is_seen;
};

struct matching {
    const double *x;
    size_t n_column, row_stride, column_stride;
    double *row_price;      /* [rows + 1] owns */
    struct column *columns; /* [n_column + 1] owns */
};

/* Lowers the slack of the columns that were not seen, if the row matched with COLUMN can reach them
 * at less cost. Returns the column with the least slack. */
static size_t find_least(const struct matching *match, size_t column)
{
    const size_t row = match->columns[column].row;
    size_t least = 0;

    for (size_t j = 1; j <= match->n_column; j++) {
        struct column *other = &match->columns[j];
        const double x = match->x[(row - 1) * match->row_stride + (j - 1) * match->column_stride];
        const double cost = -x - match->row_price[row] - other->price;

        if (other->is_seen)
            continue;
        if (cost < other->slack) {
            other->slack = cost;
            other->before = column;
        }
        if (least == 0 || other->slack < match->columns[least].slack)
            least = j;
    }
    return least;
}

/* Matches ROW, counted from 1, by the cheapest chain of exchanges (Kuhn 1955, with the prices of
 * Jonker and Volgenant 1987). */
static void match_row(struct matching *match, size_t row)
{
    struct column *columns = match->columns;
    size_t column = 0;

    for (size_t j = 0; j <= match->n_column; j++) {
        columns[j].slack = (double)INFINITY;
        columns[j].is_seen = false;
    }
    for (columns[0].row = row; columns[column].row != 0;) {
        size_t least;
        double change;

        columns[column].is_seen = true;
        least = find_least(match, column);
        change = columns[least].slack;
        for (size_t j = 0; j <= match->n_column; j++) {
            if (columns[j].is_seen) {
                match->row_price[columns[j].row] += change;
                columns[j].price -= change;
            } else {
                columns[j].slack -= change;
            }
        }
        column = least;
    }
    for (size_t before; column != 0; column = before) {
        before = columns[column].before;
        columns[column].row = columns[before].row;
    }
}

static enum attn_status link_matching(const double *x, size_t m, size_t n, unsigned char *links,
                                      struct attn_error *err)
{
    const size_t n_row = m < n ? m : n, n_column = m < n ? n : m;
    struct matching match = {.x = x,
                             .n_column = n_column,
                             .row_stride = m < n ? n : 1,
                             .column_stride = m < n ? 1 : n,
                             .row_price = attn_alloc(n_row + 1, sizeof *match.row_price, err),
                             .columns = attn_alloc(n_column + 1, sizeof *match.columns, err)};
    const bool has_memory = match.row_price && match.columns;

    for (size_t row = 1; has_memory && row <= n_row; row++)
        match_row(&match, row);
    for (size_t j = 1; has_memory && j <= n_column; j++)
        if (match.columns[j].row > 0)
            links[(match.columns[j].row - 1) * match.row_stride + (j - 1) * match.column_stride] =
                1;
    attn_free(match.row_price);
    attn_free(match.columns);
    return has_memory ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Computes the softmax of N numbers X that lie STRIDE apart, and replaces each number of OUT by its
 * softmax if that is smaller. */
static void keep_smaller_share(const double *x, size_t n, size_t stride, double *out)
{
    double largest = x[0], sum = 0;

    for (size_t i = 1; i < n; i++)
        largest = x[i * stride] > largest ? x[i * stride] : largest;
    for (size_t i = 0; i < n; i++)
        sum += attn_exp(x[i * stride] - largest);
    for (size_t i = 0; i < n; i++) {
        const double share = attn_exp(x[i * stride] - largest) / sum;

        out[i * stride] = share < out[i * stride] ? share : out[i * stride];
    }
}

static enum attn_status link_probable(double threshold, double *x, size_t m, size_t n,
                                      unsigned char *links, struct attn_error *err)
{
    double *shares = attn_alloc(m, n * sizeof *shares, err);

    if (!shares)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < m * n; i++)
        shares[i] = 1;
    for (size_t i = 0; i < m; i++)
        keep_smaller_share(x + i * n, n, 1, shares + i * n);
    for (size_t j = 0; j < n; j++)
        keep_smaller_share(x + j, m, n, shares + j);
    for (size_t i = 0; i < m * n; i++)
        links[i] = shares[i] > threshold;
    memcpy(x, shares, m * n * sizeof *x);
    attn_free(shares);
    return ATTN_OK;
}

enum attn_status attn_links_find(const struct attn_link_rule *rule, double *x, size_t m, size_t n,
                                 unsigned char *links, struct attn_error *err)
{
    switch (rule->method) {
    case ATTN_LINK_MATCH:
        return link_matching(x, m, n, links, err);
    case ATTN_LINK_SOFTMAX:
        return link_probable(rule->threshold, x, m, n, links, err);
    case ATTN_LINK_ARGMAX:
    case ATTN_LINK_ITERMAX:
        break;
    }
    link_largest(x, m, n, NULL, links);
    return rule->method == ATTN_LINK_ARGMAX || m <= 2 || n <= 2 ? ATTN_OK
                                                                : link_free(x, m, n, links, err);
}

/* --- Links made by people --------------------------------------------------------------------- */

/* Reads the number of a word at *at, which must be one of N words, and moves *at past it. Returns
 * whether it is valid. */
static bool read_word(const char **at, size_t n, bool is_one_based, size_t *word)
{
    const size_t size = strspn(*at, "0123456789");
    uint64_t number;

    if (size == 0 || !attn_parse_uint(*at, size, &number) || number < is_one_based ||
        number - is_one_based >= n)
        return false;
    *at += size;
    *word = (size_t)(number - is_one_based);
    return true;
}

enum attn_status attn_links_read(const char *text, size_t m, size_t n, bool is_one_based,
                                 unsigned char *gold, struct attn_error *err)
{
    static const char blanks[] = " \t\r\n";
    const char *at = text + strspn(text, blanks);

    while (*at) {
        const char *begin = at;
        size_t i, j;
        char kind;

        kind = read_word(&at, m, is_one_based, &i) ? *at++ : '\0';
        if (!kind || !strchr("-p?", kind) || !read_word(&at, n, is_one_based, &j) ||
            (*at && !strchr(blanks, *at)))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' is no link of its words, expected I-J, IpJ or I?J with I "
                                  "from %d to %zu and J from %d to %zu",
                                  attn_quote(begin, strcspn(begin, blanks)).text, is_one_based,
                                  m - !is_one_based, is_one_based, n - !is_one_based);
        if (gold[i * n + j] != ATTN_LINK_SURE)
            gold[i * n + j] = kind == '-' ? ATTN_LINK_SURE : ATTN_LINK_POSSIBLE;
        at += strspn(at, blanks);
    }
    return ATTN_OK;
}

void attn_links_count(const unsigned char *links, const unsigned char *gold, size_t n,
                      struct attn_link_counts *counts)
{
    for (size_t i = 0; i < n; i++) {
        counts->links += links[i];
        counts->sure += gold[i] == ATTN_LINK_SURE;
        counts->possible += gold[i] != 0;
        counts->hits_sure += links[i] && gold[i] == ATTN_LINK_SURE;
        counts->hits += links[i] && gold[i];
    }
}

enum attn_status attn_link_lines_read(struct attn_link_lines *lines, struct attn_error *err)
{
    const size_t size = strlen(lines->path);
    struct attn_file file = {0};
    enum attn_status status;
    char *path;

    lines->is_one_based = size > 2 && strcmp(lines->path + size - 2, ":1") == 0;
    path = attn_strndup(lines->path, size - (lines->is_one_based ? 2 : 0), err);
    status = path ? attn_file_open(path, ATTN_READ, &file, err) : ATTN_NO_MEMORY;
    attn_free(path);
    ATTN_TRY(status);
    status = ATTN_NEW(lines->text, attn_strndup((const char *)file.data, file.size, err));
    if (status == ATTN_OK && strlen(lines->text) < file.size)
        status = attn_error_set(err, ATTN_INVALID, "'%s' has a byte 0, expected lines of text",
                                attn_quote_string(lines->path).text);
    for (const char *c = lines->text; status == ATTN_OK && *c; c++)
        lines->n += *c == '\n' || !c[1];
    ATTN_THEN(status, ATTN_ALLOC(lines->items, lines->n + 1, err));
    for (size_t i = 0; status == ATTN_OK && i < lines->n; i++) {
        lines->items[i] = i == 0 ? lines->text : strchr(lines->items[i - 1], '\0') + 1;
        lines->items[i][strcspn(lines->items[i], "\n")] = '\0';
    }
    attn_file_release(&file);
    return status;
}

void attn_link_lines_release(struct attn_link_lines *lines)
{
    attn_free(lines->text);
    attn_free(lines->items);
}

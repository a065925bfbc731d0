/* archive_diff.c - see archive_diff.h. Holds at most two arrays in memory at a time. */
#include "experiment/archive_diff.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "formats/npz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* The canonical name of a member of an archive. */
struct site_name {
    char text[NAME_SIZE];
};

struct archive_diff {
    struct attn_npz *archives[2]; /* own */
    int64_t final_state;          /* number of the hidden state that is ln_final; -1: none */
    struct attn_archive_args args;
    struct attn_table *table; /* owns */
    struct attn_archive_sum sum;
    size_t n_tensor; /* compared arrays with elements that are not labels */
};

/* An array whose leading dimensions of size 1 are dropped. */
struct array {
    struct attn_npy_file *npy; /* owns */
    float *values;             /* [n] owns */
    int rank;
    const size_t *shape;
    size_t n;
};

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns true if NAME is PREFIX followed by a dot or underscore and a number. */
static bool is_numbered(const char *name, const char *prefix, int64_t *number)
{
    const size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && (name[n] == '.' || name[n] == '_') &&
           attn_parse_int(name + n + 1, strlen(name + n + 1), 0, INT32_MAX, number);
}

/* Returns the number of the block in NAME, or -1. */
static int64_t block_of(const char *name)
{
    static const char prefix[] = "blocks.";
    const size_t n = sizeof prefix - 1;
    int64_t block = -1;

    if (strncmp(name, prefix, n) == 0)
        attn_parse_int(name + n, strcspn(name + n, "."), 0, INT32_MAX, &block);
    else
        is_numbered(name, "attentions", &block);
    return block;
}

/* Returns the number of the hidden state that is ln_final, or -1. Hugging Face has a hidden state
 * before each block; the last one is the output of the final norm. As files may hold only some of
 * them, the last state of both files counts as ln_final only if neither file has a block with its
 * number. */
static int64_t find_final_state(struct attn_npz *const archives[2])
{
    int64_t state = -1, block = -1;

    for (int a = 0; a < 2; a++)
        for (size_t i = 0; i < attn_npz_n_member(archives[a]); i++) {
            const char *name = attn_npz_name(archives[a], i);
            int64_t number;

            if (is_numbered(name, "hidden_states", &number) && number > state)
                state = number;
            if (block_of(name) > block)
                block = block_of(name);
        }
    return state > block ? state : -1;
}

/* Returns true if NAME is an array that labels rows or heads, and not a tensor of the model. */
static bool is_label(const char *name)
{
    const char *last = strncmp(name, "blocks.", 7) == 0 ? strrchr(name, '.') + 1 : name;

    return strcmp(last, "ids") == 0 || strcmp(last, "input_ids") == 0 ||
           strcmp(last, "queries") == 0 || strcmp(last, "heads") == 0;
}

/* Returns the canonical name of member I of archive A. */
static struct site_name name_of(const struct archive_diff *diff, int a, size_t i)
{
    const char *name = attn_npz_name(diff->archives[a], i);
    struct site_name site;
    int64_t number;

    if (is_numbered(name, "attentions", &number))
        snprintf(site.text, NAME_SIZE, "blocks.%lld.attn.hook_pattern", (long long)number);
    else if (!is_numbered(name, "hidden_states", &number))
        snprintf(site.text, NAME_SIZE, "%.*s", NAME_SIZE - 1, name);
    else if (number == diff->final_state)
        snprintf(site.text, NAME_SIZE, "ln_final.hook_normalized");
    else
        snprintf(site.text, NAME_SIZE, "blocks.%lld.hook_resid_pre", (long long)number);
    return site;
}

/* --- Arrays ----------------------------------------------------------------------------------- */

/* Opens member I of NPZ. ARRAY stays without a file if the member has no numbers. */
static enum attn_status open_array(const struct attn_npz *npz, size_t i, struct array *array,
                                   struct attn_error *err)
{
    struct attn_error found = {0};
    const enum attn_status status = attn_npz_read(npz, i, &array->npy, &found);

    if (status == ATTN_UNSUPPORTED)
        return ATTN_OK;
    if (status != ATTN_OK) {
        attn_error_copy(err, &found);
        return status;
    }
    array->rank = attn_npy_rank(array->npy);
    array->shape = attn_npy_shape(array->npy);
    array->n = attn_npy_n_element(array->npy);
    for (; array->rank > 0 && array->shape[0] == 1; array->rank--)
        array->shape++;
    return ATTN_OK;
}

static void close_array(struct array *array)
{
    attn_npy_free(array->npy);
    attn_free(array->values);
}

/* Returns X; minus infinity for numbers that mark a masked score. */
static double unmask(float x)
{
    return x <= -1e30F ? -(double)INFINITY : (double)x;
}

static double difference(float of_a, float of_b)
{
    const double a = unmask(of_a), b = unmask(of_b);

    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? (double)INFINITY : fabs(a - b);
}

/* Returns true if A, of the first file, is within the tolerances of B. */
static bool is_within(const struct archive_diff *diff, float a, float b)
{
    const double d = difference(a, b);

    return d == 0 ||
           (isfinite(d) && d <= diff->args.tolerance + diff->args.relative * fabs((double)b));
}

/* --- The table -------------------------------------------------------------------------------- */

/* Returns true if A and B are gradients of matrices [..., T, T] that differ only in cells hidden by
 * a causal mask, where one of them is 0. */
static bool differs_where_masked(const struct archive_diff *diff, const char *site,
                                 const struct array *a, const struct array *b)
{
    static const char ending[] = "_grad";
    const size_t size = strlen(site), n_end = sizeof ending - 1;
    const size_t n_key = a->rank > 1 ? a->shape[a->rank - 1] : 0;

    if (size < n_end || strcmp(site + size - n_end, ending) != 0 || n_key == 0 ||
        a->shape[a->rank - 2] != n_key)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const bool is_masked = i % n_key > i / n_key % n_key;

        if (!is_within(diff, a->values[i], b->values[i]) &&
            !(is_masked && (a->values[i] == 0 || b->values[i] == 0)))
            return false;
    }
    return true;
}

static enum attn_status append(struct archive_diff *diff, const char *site, const struct array *a,
                               const struct array *b, struct attn_error *err)
{
    double largest = 0;
    bool are_within = true;
    size_t at = 0;
    int64_t place[ATTN_MAX_RANK];
    struct attn_cell row[5];

    for (size_t i = 0; i < a->n; i++) {
        const double d = difference(a->values[i], b->values[i]);

        at = d > largest ? i : at;
        largest = d > largest ? d : largest;
        are_within = are_within && is_within(diff, a->values[i], b->values[i]);
    }
    for (int axis = a->rank; axis-- > 0; at /= a->shape[axis])
        place[axis] = (int64_t)(at % a->shape[axis]);
    row[0] = attn_cell_text(site, strlen(site));
    row[1] = attn_cell_integer((int64_t)a->n);
    row[2] = attn_cell_real(largest);
    row[3] = attn_cell_list(place, largest > 0 ? (size_t)a->rank : 0);
    row[4] = attn_cell_boolean(are_within);
    diff->sum.n_compared++;
    diff->n_tensor += a->n > 0 && !is_label(site);
    diff->sum.n_outside += !are_within;
    diff->sum.n_masked += !are_within && differs_where_masked(diff, site, a, b);
    return attn_table_append(diff->table, row, 5, err);
}

/* Compares A and B, which both have numbers. */
static enum attn_status compare(struct archive_diff *diff, const char *site, struct array *a,
                                struct array *b, struct attn_error *err)
{
    char of_a[ATTN_SHAPE_TEXT_SIZE], of_b[ATTN_SHAPE_TEXT_SIZE];

    if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' is %s in one file and %s in the other",
                              attn_quote_string(site).text,
                              attn_shape_text(attn_npy_rank(a->npy), attn_npy_shape(a->npy), of_a),
                              attn_shape_text(attn_npy_rank(b->npy), attn_npy_shape(b->npy), of_b));
    a->values = attn_alloc_uninitialized(a->n, sizeof *a->values, err);
    b->values = attn_alloc_uninitialized(b->n, sizeof *b->values, err);
    if (!a->values || !b->values)
        return ATTN_NO_MEMORY;
    attn_npy_read_floats(a->npy, a->values);
    attn_npy_read_floats(b->npy, b->values);
    return append(diff, site, a, b, err);
}

/* Returns the first member of archive A with the name SITE; the number of members if there is
 * none. */
static size_t find_member(const struct archive_diff *diff, int a, const char *site)
{
    size_t i = 0;

    while (i < attn_npz_n_member(diff->archives[a]) && strcmp(name_of(diff, a, i).text, site) != 0)
        i++;
    return i;
}

/* Compares member I of the first archive with the member of the same name in the second. */
static enum attn_status compare_member(struct archive_diff *diff, size_t i, struct attn_error *err)
{
    const struct site_name site = name_of(diff, 0, i);
    const size_t j = find_member(diff, 1, site.text);
    struct array a = {.npy = NULL}, b = {.npy = NULL};
    enum attn_status status = open_array(diff->archives[0], i, &a, err);

    if (status == ATTN_OK && a.npy && j < attn_npz_n_member(diff->archives[1])) {
        status = open_array(diff->archives[1], j, &b, err);
        if (status == ATTN_OK && b.npy)
            status = compare(diff, site.text, &a, &b, err);
    } else if (a.npy) {
        diff->sum.n_alone++;
    }
    close_array(&a);
    close_array(&b);
    return status;
}

/* Counts the arrays of numbers in the second archive that were not compared: arrays that the first
 * archive lacks, and further arrays of the same name. */
static enum attn_status count_alone(struct archive_diff *diff, struct attn_error *err)
{
    for (size_t j = 0; j < attn_npz_n_member(diff->archives[1]); j++) {
        const struct site_name site = name_of(diff, 1, j);
        struct array b = {.npy = NULL};
        enum attn_status status;

        if (find_member(diff, 0, site.text) < attn_npz_n_member(diff->archives[0]) &&
            find_member(diff, 1, site.text) == j)
            continue;
        status = open_array(diff->archives[1], j, &b, err);
        diff->sum.n_alone += b.npy != NULL;
        close_array(&b);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

static enum attn_status compare_archives(struct archive_diff *diff, const char *a, const char *b,
                                         struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "site", .type = ATTN_VALUE_TEXT},
        {.name = "elements", .type = ATTN_VALUE_INTEGER},
        {.name = "largest",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIGURES,
         .digits = 6},
        {.name = "at", .type = ATTN_VALUE_LIST},
        {.name = "within", .type = ATTN_VALUE_BOOLEAN},
    };

    ATTN_TRY(attn_npz_open(a, &diff->archives[0], err));
    ATTN_TRY(attn_npz_open(b, &diff->archives[1], err));
    ATTN_TRY(
        attn_table_create("diff", columns, sizeof columns / sizeof *columns, &diff->table, err));
    diff->final_state = find_final_state(diff->archives);
    for (size_t i = 0; i < attn_npz_n_member(diff->archives[0]); i++)
        ATTN_TRY(compare_member(diff, i, err));
    ATTN_TRY(count_alone(diff, err));
    if (diff->n_tensor > 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "no tensor is in both '%s' and '%s'",
                   attn_quote_string(a).text, attn_quote_string(b).text);
    attn_error_hint(err, "arrays are paired by name; ids, queries and heads alone are no tensors");
    return ATTN_INVALID;
}

enum attn_status attn_diff_archives(const char *a, const char *b,
                                    const struct attn_archive_args *args, struct attn_table **table,
                                    struct attn_archive_sum *sum, struct attn_error *err)
{
    struct archive_diff diff = {.args = ATTN_ARCHIVE_ARGS_DEFAULT};
    enum attn_status status;

    if (!attn_is_given(a, "a", err) || !attn_is_given(b, "b", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_results_check(sum, "sum", err));
    ATTN_TRY(attn_options_read(args, &diff.args, err));
    status = compare_archives(&diff, a, b, err);
    if (status == ATTN_OK) {
        *table = diff.table;
        attn_results_write(&diff.sum, sizeof diff.sum, sum);
    } else {
        attn_table_free(diff.table);
    }
    attn_npz_free(diff.archives[0]);
    attn_npz_free(diff.archives[1]);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/*
 * selection.c - selections as tables of flags, and the syntax that fills them.
 *
 * A number list is read into a table of one flag an index; head lists into a table [n_layer,
 * n_head], since a head may be given with its layer. Everything is checked before anything is
 * changed.
 */
#include "trace/selection.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

struct attn_selection {
    struct attn_dims dims;
    uint64_t sites;
    size_t n_query;         /* flags set in `queries` */
    unsigned char *layers;  /* [n_layer] */
    unsigned char *heads;   /* [n_layer, n_head] */
    unsigned char *queries; /* [n_position] */
};

/* What a list counts, for messages. */
struct axis {
    const char *noun; /* "layer" */
    size_t n;         /* valid indices 0 .. n-1 */
};

enum attn_status attn_selection_create(const struct attn_dims *dims,
                                       struct attn_selection **selection, struct attn_error *err)
{
    const uint64_t wished = ATTN_SITE_BIT(ATTN_SITE_PATTERN) | ATTN_SITE_BIT(ATTN_SITE_Z);
    struct attn_selection *s = attn_alloc(1, sizeof *s, err);
    size_t n_flag;

    if (s == NULL)
        return ATTN_NO_MEMORY;
    if (!attn_checked_mul(dims->n_layer, dims->n_head, &n_flag)) {
        attn_free(s);
        return attn_error_no_memory(err);
    }
    s->dims = *dims;
    s->sites = wished & dims->sites;
    s->n_query = dims->n_position;
    s->layers = attn_alloc(dims->n_layer, 1, err);
    s->heads = attn_alloc(n_flag, 1, err);
    s->queries = attn_alloc(dims->n_position, 1, err);
    if (s->layers == NULL || s->heads == NULL || s->queries == NULL) {
        attn_selection_free(s);
        return ATTN_NO_MEMORY;
    }
    memset(s->layers, 1, dims->n_layer);
    memset(s->heads, 1, n_flag);
    memset(s->queries, 1, dims->n_position);
    *selection = s;
    return ATTN_OK;
}

void attn_selection_free(struct attn_selection *selection)
{
    if (selection == NULL)
        return;
    attn_free(selection->layers);
    attn_free(selection->heads);
    attn_free(selection->queries);
    attn_free(selection);
}

static enum attn_status report_item(const struct axis *axis, const char *item, size_t size,
                                    struct attn_error *err)
{
    enum attn_status status =
        attn_error_set(err, ATTN_INVALID, "bad %s selection '%s', expected numbers from 0 to %zu",
                       axis->noun, attn_quote(item, size).text, axis->n - 1);

    attn_error_hint(err,
                    "items are N, N-M, N-M+STEP, -1 for the last, or all, separated by commas");
    return status;
}

static bool parse_index(const char *text, size_t size, size_t n, size_t *index)
{
    int64_t value;

    if (n == 0 || !attn_parse_int(text, size, 0, (int64_t)n - 1, &value))
        return false;
    *index = (size_t)value;
    return true;
}

/* Sets the flags of one ITEM = N | -N | N-M | N-M+STEP | all. */
static bool parse_item(const char *item, size_t size, size_t n, unsigned char *flags)
{
    const char *dash, *plus;
    size_t first, last, step = 1;
    int64_t from_end;

    if (size == 3 && memcmp(item, "all", 3) == 0) {
        memset(flags, 1, n);
        return true;
    }
    if (size > 0 && item[0] == '-') {
        if (!attn_parse_int(item, size, -(int64_t)n, -1, &from_end))
            return false;
        flags[n - (size_t)-from_end] = 1;
        return true;
    }
    dash = memchr(item, '-', size);
    if (dash == NULL) {
        if (!parse_index(item, size, n, &first))
            return false;
        flags[first] = 1;
        return true;
    }
    plus = memchr(dash, '+', size - (size_t)(dash - item));
    if (plus != NULL) {
        int64_t value;

        if (!attn_parse_int(plus + 1, size - (size_t)(plus + 1 - item), 1, INT64_MAX, &value))
            return false;
        step = (size_t)value;
    } else {
        plus = item + size;
    }
    if (!parse_index(item, (size_t)(dash - item), n, &first) ||
        !parse_index(dash + 1, (size_t)(plus - dash - 1), n, &last) || first > last)
        return false;
    for (size_t i = first; i <= last; i += step < n ? step : n)
        flags[i] = 1;
    return true;
}

/* Reads a whole list into flags [axis->n], which start as zeros. */
static enum attn_status parse_list(const struct axis *axis, const char *spec, unsigned char *flags,
                                   struct attn_error *err)
{
    for (const char *item = spec;; item++) {
        size_t size = strcspn(item, ",");

        if (!parse_item(item, size, axis->n, flags))
            return report_item(axis, item, size, err);
        item += size;
        if (*item == '\0')
            return ATTN_OK;
    }
}

static size_t count(const unsigned char *flags, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += flags[i];
    return sum;
}

/* Names the first of SITES, none of which is there. */
static enum attn_status report_site(const struct attn_selection *selection, uint64_t sites,
                                    struct attn_error *err)
{
    char known[400];
    size_t size = 0;
    int first = 0;

    while (first + 1 < ATTN_N_SITE && (sites & ATTN_SITE_BIT(first)) == 0)
        first++;
    for (int i = 0; i < ATTN_N_SITE; i++)
        if (selection->dims.sites & ATTN_SITE_BIT(i))
            size += (size_t)snprintf(known + size, sizeof known - size, "%s%s",
                                     size > 0 ? ", " : "", attn_site_name((enum attn_site)i));
    return attn_error_set(err, ATTN_INVALID, "there is no site '%s' here, expected some of %.*s",
                          attn_site_name((enum attn_site)first), (int)size, known);
}

enum attn_status attn_selection_set_sites(struct attn_selection *selection, uint64_t sites,
                                          struct attn_error *err)
{
    /* A glob may name what is lacking as long as something is left; see attn_sites_parse. */
    if ((sites & selection->dims.sites) == 0)
        return report_site(selection, sites, err);
    selection->sites = sites & selection->dims.sites;
    return ATTN_OK;
}

enum attn_status attn_selection_set_layers(struct attn_selection *selection, const char *spec,
                                           struct attn_error *err)
{
    const struct axis axis = {"layer", selection->dims.n_layer};
    unsigned char *flags = attn_alloc(axis.n, 1, err);
    enum attn_status status;

    if (flags == NULL)
        return ATTN_NO_MEMORY;
    status = parse_list(&axis, spec, flags, err);
    if (status == ATTN_OK)
        memcpy(selection->layers, flags, axis.n);
    attn_free(flags);
    return status;
}

enum attn_status attn_selection_set_queries(struct attn_selection *selection, const char *spec,
                                            struct attn_error *err)
{
    const struct axis axis = {"query", selection->dims.n_position};
    unsigned char *flags = attn_alloc(axis.n, 1, err);
    enum attn_status status;

    if (flags == NULL)
        return ATTN_NO_MEMORY;
    status = parse_list(&axis, spec, flags, err);
    if (status == ATTN_OK) {
        memcpy(selection->queries, flags, axis.n);
        selection->n_query = count(flags, axis.n);
    }
    attn_free(flags);
    return status;
}

/* Splits "5.1", "L5H1", "9.*" into its layer and head part; false when ITEM names no layer. */
static bool split_head(const char *item, size_t size, const char **middle, size_t *skip)
{
    const char *dot = memchr(item, '.', size);

    if (dot != NULL) {
        *middle = dot;
        *skip = 0;
        return true;
    }
    if (size > 0 && item[0] == 'L') {
        *middle = memchr(item, 'H', size);
        *skip = 1;
        return *middle != NULL;
    }
    return false;
}

/* Flags [n] for one side of "L.h": an item of a list, or *. */
static enum attn_status parse_side(const struct axis *axis, const char *text, size_t size,
                                   unsigned char *flags, struct attn_error *err)
{
    memset(flags, 0, axis->n);
    if (size == 1 && text[0] == '*')
        memset(flags, 1, axis->n);
    else if (!parse_item(text, size, axis->n, flags))
        return report_item(axis, text, size, err);
    return ATTN_OK;
}

struct head_tables {
    unsigned char *layers; /* [n_layer] */
    unsigned char *heads;  /* [n_head] */
    unsigned char *both;   /* [n_layer, n_head], the result */
};

static enum attn_status parse_head_item(const struct attn_dims *dims, const char *item, size_t size,
                                        struct head_tables *tables, struct attn_error *err)
{
    const struct axis layer_axis = {"layer", dims->n_layer}, head_axis = {"head", dims->n_head};
    const char *middle, *head = item;
    size_t skip, head_size = size;
    enum attn_status status;

    memset(tables->layers, 1, dims->n_layer);
    if (split_head(item, size, &middle, &skip)) {
        status = parse_side(&layer_axis, item + skip, (size_t)(middle - item) - skip,
                            tables->layers, err);
        if (status != ATTN_OK)
            return status;
        head = middle + 1;
        head_size = size - (size_t)(head - item);
    }
    status = parse_side(&head_axis, head, head_size, tables->heads, err);
    if (status != ATTN_OK)
        return status;
    for (size_t layer = 0; layer < dims->n_layer; layer++)
        for (size_t h = 0; h < dims->n_head; h++)
            tables->both[layer * dims->n_head + h] |= tables->layers[layer] & tables->heads[h];
    return ATTN_OK;
}

enum attn_status attn_selection_set_heads(struct attn_selection *selection, const char *spec,
                                          struct attn_error *err)
{
    const struct attn_dims *dims = &selection->dims;
    const size_t n_flag = dims->n_layer * dims->n_head;
    unsigned char *block = attn_alloc(n_flag + dims->n_layer + dims->n_head, 1, err);
    enum attn_status status = ATTN_OK;
    struct head_tables tables;

    if (block == NULL)
        return ATTN_NO_MEMORY;
    tables = (struct head_tables){block + n_flag, block + n_flag + dims->n_layer, block};
    for (const char *item = spec; status == ATTN_OK; item++) {
        size_t size = strcspn(item, ",");

        status = parse_head_item(dims, item, size, &tables, err);
        item += size;
        if (*item == '\0')
            break;
    }
    if (status == ATTN_OK)
        memcpy(selection->heads, tables.both, n_flag);
    attn_free(block);
    return status;
}

const struct attn_dims *attn_selection_dims(const struct attn_selection *selection)
{
    return &selection->dims;
}

uint64_t attn_selection_sites(const struct attn_selection *selection)
{
    return selection->sites;
}

bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site)
{
    return (selection->sites & ATTN_SITE_BIT(site)) != 0;
}

bool attn_selection_has_layer(const struct attn_selection *selection, int layer)
{
    return selection->layers[layer] != 0;
}

bool attn_selection_has_head(const struct attn_selection *selection, int layer, int head)
{
    return selection->layers[layer] != 0 &&
           selection->heads[(size_t)layer * selection->dims.n_head + (size_t)head] != 0;
}

bool attn_selection_has_query(const struct attn_selection *selection, size_t query)
{
    return selection->queries[query] != 0;
}

size_t attn_selection_n_head(const struct attn_selection *selection, int layer)
{
    const size_t n_head = selection->dims.n_head;

    if (selection->layers[layer] == 0)
        return 0;
    return count(selection->heads + (size_t)layer * n_head, n_head);
}

size_t attn_selection_n_query(const struct attn_selection *selection)
{
    return selection->n_query;
}

bool attn_selection_has_kv_head(const struct attn_selection *selection, int layer, int kv_head)
{
    const size_t group = selection->dims.n_head / selection->dims.n_kv_head;

    for (size_t i = 0; i < group; i++)
        if (attn_selection_has_head(selection, layer, (int)((size_t)kv_head * group + i)))
            return true;
    return false;
}

bool attn_selection_wants(const struct attn_selection *selection, enum attn_site site, int layer)
{
    if (!attn_selection_has_site(selection, site))
        return false;
    if (!attn_site_is_in_layer(site))
        return true;
    if (attn_site_layout(site) == ATTN_LAYOUT_VECTOR)
        return attn_selection_has_layer(selection, layer);
    return attn_selection_n_head(selection, layer) > 0;
}

bool attn_selection_is_all_heads(const struct attn_selection *selection)
{
    const struct attn_dims *dims = &selection->dims;
    const size_t n_flag = dims->n_layer * dims->n_head;

    return count(selection->layers, dims->n_layer) == dims->n_layer &&
           count(selection->heads, n_flag) == n_flag;
}

bool attn_selection_is_all_queries(const struct attn_selection *selection)
{
    return selection->n_query == selection->dims.n_position;
}

static size_t n_kv_head(const struct attn_selection *selection, int layer)
{
    size_t n = 0;

    for (size_t g = 0; g < selection->dims.n_kv_head; g++)
        n += attn_selection_has_kv_head(selection, layer, (int)g);
    return n;
}

int attn_selection_shape(const struct attn_selection *selection, enum attn_site site, int layer,
                         size_t shape[3])
{
    const struct attn_dims *dims = &selection->dims;
    const size_t width = attn_site_width(site, dims);

    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_VECTOR:
        shape[0] = selection->n_query;
        shape[1] = width;
        return 2;
    case ATTN_LAYOUT_QUERY:
        shape[0] = selection->n_query;
        shape[1] = attn_selection_n_head(selection, layer);
        break;
    case ATTN_LAYOUT_KEY:
        shape[0] = attn_site_n_key(dims, layer);
        shape[1] = n_kv_head(selection, layer);
        break;
    case ATTN_LAYOUT_MATRIX:
        shape[0] = attn_selection_n_head(selection, layer);
        shape[1] = selection->n_query;
        shape[2] = attn_site_n_key(dims, layer);
        return 3;
    case ATTN_LAYOUT_RANK:
        shape[0] = attn_selection_n_head(selection, layer);
        shape[1] = selection->n_query;
        break;
    }
    shape[2] = width;
    return 3;
}

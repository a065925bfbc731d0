/*
 * fuzz_selection.c - lists of layers, heads, queries and sites. The first bytes choose the sizes of
 * the model and which list it is.
 *
 * Counts, flags and shapes of a selection agree; a list selects what its items select one by one; a
 * list that is refused changes nothing.
 */
#include "tests/fuzz/fuzz.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LAYER = 13, MAX_HEAD = 12, MAX_QUERY = 24, MAX_SPEC = 128 };
enum list { LIST_LAYERS, LIST_HEADS, LIST_QUERIES, N_LIST };

/* All that a selection says, as flags. */
struct flags {
    bool layers[MAX_LAYER], heads[MAX_LAYER][MAX_HEAD], queries[MAX_QUERY];
};

static struct attn_dims choose_dims(const uint8_t **data, size_t *size, const bool *is_cross)
{
    const size_t n_kv_head = 1 + attn_fuzz_byte(data, size) % 4;
    const size_t group = 1 + attn_fuzz_byte(data, size) % 3;

    return (struct attn_dims){
        .n_layer = 1 + attn_fuzz_byte(data, size) % MAX_LAYER,
        .n_head = n_kv_head * group,
        .n_kv_head = n_kv_head,
        .d_model = 31,
        .d_head = 32,
        .d_value = 33,
        .d_mlp = 34,
        .n_vocab = 35,
        .n_position = 1 + attn_fuzz_byte(data, size) % MAX_QUERY,
        .n_source = 36,
        .n_rank = 37,
        .is_cross = is_cross,
        .sites = attn_sites_without(attn_sites_all(), ATTN_SITES(attn_fuzz_byte(data, size) % 32)),
    };
}

static struct flags read_flags(const struct attn_selection *selection)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct flags flags = {0};

    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        flags.layers[layer] = (attn_selection_count_heads(
                                   selection, &(struct attn_location){.layer = (int)layer}) > 0);
        for (size_t head = 0; head < dims->n_head; head++)
            flags.heads[layer][head] = attn_selection_has_head(
                selection, &(struct attn_location){.layer = (int)layer, .head = (int)head});
    }
    for (size_t query = 0; query < dims->n_position; query++)
        flags.queries[query] = attn_selection_has_query(selection, ATTN_STACK_ONLY, query);
    return flags;
}

/* Shape and wish of every site in LAYER, against heads and queries that were counted one by one. */
static void check_sites(const struct attn_selection *selection, int layer, size_t n_head,
                        size_t n_kv_head)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const size_t n_query = attn_selection_n_query(selection);

    for (int site = 0; site < ATTN_SITE_PICTURE_MAP; site++) { /* those of pictures have own rows */
        const enum attn_site_layout layout = attn_site_layout(site);
        const bool has = attn_selection_has_site(selection, site);
        const size_t n_key = attn_site_n_key(dims, layer), width = attn_site_width(site, dims);
        size_t shape[3] = {0};
        const int rank = attn_selection_shape(
            selection, &(struct attn_location){.site = site, .layer = layer}, shape);
        const bool wants = attn_selection_wants_block(selection, site, layer);

        if (!attn_site_is_in_layer(site) || n_head > 0)
            FUZZ_CHECK(wants == has);
        else
            FUZZ_CHECK(!wants || (has && !attn_site_has_heads(site)));
        if (site == ATTN_SITE_TEXT_EMBED || site == ATTN_SITE_IMAGE_EMBED ||
            site == ATTN_SITE_SENTENCE_EMBED || site == ATTN_SITE_TEXT_EMBED_GRAD ||
            site == ATTN_SITE_IMAGE_EMBED_GRAD || site == ATTN_SITE_SENTENCE_EMBED_GRAD) {
            FUZZ_CHECK(rank == 1 && shape[0] == width); /* of the whole sequence */
            continue;
        }
        FUZZ_CHECK(rank == (attn_site_has_heads(site) && layout != ATTN_LAYOUT_HEADS ? 3 : 2));
        if (layout == ATTN_LAYOUT_VECTOR)
            FUZZ_CHECK(shape[0] == n_query && shape[1] == width);
        else if (site == ATTN_SITE_CONTACTS) /* rows without the first and the last position */
            FUZZ_CHECK(rank == 2);
        else if (layout == ATTN_LAYOUT_PAIRS)
            FUZZ_CHECK(shape[0] == n_query && shape[1] == n_key);
        else if (layout == ATTN_LAYOUT_QUERY)
            FUZZ_CHECK(shape[0] == n_query && shape[1] == n_head && shape[2] == width);
        else if (layout == ATTN_LAYOUT_KEY)
            FUZZ_CHECK(shape[0] == n_key && shape[1] == n_kv_head && shape[2] == width);
        else if (layout == ATTN_LAYOUT_RANK)
            FUZZ_CHECK(shape[0] == n_head && shape[1] == n_query && shape[2] == dims->n_rank);
        else if (layout == ATTN_LAYOUT_HEADS)
            FUZZ_CHECK(shape[0] == n_head && shape[1] == n_query);
        else
            FUZZ_CHECK(shape[0] == n_head && shape[1] == n_query && shape[2] == n_key);
    }
}

static void check_counts(const struct attn_selection *selection)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct flags flags = read_flags(selection);
    size_t n_query = 0, n_all = 0;

    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        size_t n_head = 0, n_kv_head = 0;
        bool serves[MAX_HEAD] = {false};

        for (size_t head = 0; head < dims->n_head; head++) {
            n_head += flags.heads[layer][head];
            serves[head / (dims->n_head / dims->n_kv_head)] |= flags.heads[layer][head];
        }
        for (size_t g = 0; g < dims->n_kv_head; g++) {
            FUZZ_CHECK(attn_selection_has_tensor_head(
                           selection, &(struct attn_location){.layer = (int)layer,
                                                              .head = (int)g,
                                                              .site = ATTN_SITE_K}) == serves[g]);
            n_kv_head += serves[g];
        }
        FUZZ_CHECK(attn_selection_count_heads(
                       selection, &(struct attn_location){.layer = (int)layer}) == n_head);
        FUZZ_CHECK(flags.layers[layer] || n_head == 0);
        check_sites(selection, (int)layer, n_head, n_kv_head);
        n_all += n_head;
    }
    for (size_t query = 0; query < dims->n_position; query++)
        n_query += flags.queries[query];
    FUZZ_CHECK(attn_selection_n_query(selection) == n_query);
    FUZZ_CHECK(attn_selection_is_all_queries(selection, ATTN_STACK_ONLY) ==
               (n_query == dims->n_position));
    FUZZ_CHECK(attn_selection_is_all_heads(selection) == (n_all == dims->n_layer * dims->n_head));
}

static enum attn_status set(struct attn_selection *selection, enum list list, const char *spec,
                            struct attn_error *err)
{
    switch (list) {
    case LIST_LAYERS:
        return attn_selection_set_layers(selection, spec, err);
    case LIST_HEADS:
        return attn_selection_set_heads(selection, spec, err);
    default:
        return attn_selection_set_queries(selection, ATTN_STACK_ONLY, spec, err);
    }
}

static struct attn_selection *create(const struct attn_dims *dims)
{
    struct attn_selection *selection = NULL;
    struct attn_error err = {0};

    FUZZ_CHECK(attn_selection_create(dims, &selection, &err) == ATTN_OK);
    return selection;
}

/* Sets SPEC item by item, cut at its commas: false when one is refused, else what they select. */
static bool select_items(const struct attn_dims *dims, enum list list, char *spec,
                         struct flags *flags)
{
    struct attn_selection *selection = create(dims);
    bool is_ok = true;

    for (char *rest = spec, *item; is_ok && (item = strsep(&rest, ",")) != NULL;) {
        struct flags one;
        struct attn_error err = {0};

        is_ok = set(selection, list, item, &err) == ATTN_OK;
        one = read_flags(selection);
        for (size_t layer = 0; layer < MAX_LAYER; layer++) {
            flags->layers[layer] |= one.layers[layer];
            for (size_t head = 0; head < MAX_HEAD; head++)
                flags->heads[layer][head] |= one.heads[layer][head];
        }
        for (size_t query = 0; query < MAX_QUERY; query++)
            flags->queries[query] |= one.queries[query];
    }
    attn_selection_free(selection);
    return is_ok;
}

static void check_list(const struct attn_dims *dims, enum list list, char *spec)
{
    struct attn_selection *selection = create(dims);
    const struct flags before = read_flags(selection);
    struct flags after, joined = {0};
    struct attn_error err = {0};
    const enum attn_status status = set(selection, list, spec, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    check_counts(selection);
    after = read_flags(selection);
    FUZZ_CHECK(select_items(dims, list, spec, &joined) == (status == ATTN_OK));
    FUZZ_CHECK(memcmp(&after, status == ATTN_OK ? &joined : &before, sizeof after) == 0);
    attn_selection_free(selection);
}

static void check_site_list(const struct attn_dims *dims, char *spec)
{
    struct attn_selection *selection = create(dims);
    struct attn_site_set sites = {0}, joined = {0}, own;
    struct attn_error err = {0}, set_err = {0};
    const enum attn_status status = attn_sites_parse(spec, &sites, &err);
    bool is_ok = true;

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK((status == ATTN_OK) == !attn_sites_are_empty(sites) &&
               attn_sites_are_empty(attn_sites_without(sites, attn_sites_all())));
    own = attn_sites_common(sites, dims->sites);
    if (status == ATTN_OK) {
        const enum attn_status set_status = attn_selection_set_sites(selection, sites, &set_err);

        attn_fuzz_check_error(set_status, &set_err, FUZZ_BIT(ATTN_INVALID));
        FUZZ_CHECK((set_status == ATTN_OK) == !attn_sites_are_empty(own));
        FUZZ_CHECK(set_status != ATTN_OK ||
                   attn_sites_are_equal(attn_selection_sites(selection), own));
    }
    check_counts(selection);
    for (char *rest = spec, *item; is_ok && (item = strsep(&rest, ",")) != NULL;) {
        struct attn_site_set one = {0};
        struct attn_error one_err = {0};

        is_ok = attn_sites_parse(item, &one, &one_err) == ATTN_OK;
        attn_sites_extend(&joined, one);
    }
    FUZZ_CHECK(is_ok == (status == ATTN_OK) && (!is_ok || attn_sites_are_equal(joined, sites)));
    attn_selection_free(selection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bool is_cross[MAX_LAYER] = {false, true, false, false, true};
    const struct attn_dims dims = choose_dims(&data, &size, is_cross);
    const unsigned list = attn_fuzz_byte(&data, &size) % (N_LIST + 1);
    char *spec =
        attn_fuzz_string(data, size < MAX_SPEC ? size : MAX_SPEC); /* longer is only slower */

    if (list == N_LIST)
        check_site_list(&dims, spec);
    else
        check_list(&dims, (enum list)list, spec);
    free(spec);
    return 0;
}

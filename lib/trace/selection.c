/*
 * selection.c - selections as tables of flags, the calls that set them, and lists as users write
 * them.
 *
 * A list is read item by item; each item becomes a range of indices, whose flags are set. Heads are
 * a table [n_layer, n_head], because a head may be given with its layer. The whole list is checked
 * before the selection is changed.
 */
#include "trace/trace_internal.h"

#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "trace/blocks_internal.h"
#include "trace/places_internal.h"

#include <string.h>

struct attn_selection {
    struct attn_dims dims;
    struct attn_site_set sites[ATTN_STACK_CROSS + 1]; /* the chosen sites of each stack; those of
                                                         the encoder are in `encoder` */
    /* Owns; the selection of the encoder's layers; NULL: one stack. */
    struct attn_selection *encoder;
    size_t n_query;        /* number of flags set in `queries` */
    unsigned char *layers; /* [n_layer] 1 for each chosen layer */
    /* [n_layer] 1 for each layer whose sites after attention are chosen; differs from `layers` only
     * for pairs of blocks, where the MLP belongs to the decoder. */
    unsigned char *after;
    unsigned char *heads;    /* [n_layer, n_head] 1 for each chosen head */
    unsigned char *queries;  /* [n_position] 1 for each chosen query */
    bool has_chosen_heads;   /* heads were named: a further one is added to them */
    bool has_chosen_queries; /* queries were named: a further one is added to them */
    bool takes_rows;
};

static const struct attn_site_set none;

/* Returns the stack of SELECTION's own layers; attention to a source is ATTN_STACK_CROSS besides.
 */
static enum attn_model_stack own_stack(const struct attn_selection *selection)
{
    return selection->dims.has_pairs       ? ATTN_STACK_DECODER
           : selection->dims.is_of_decoder ? ATTN_STACK_ENCODER
                                           : ATTN_STACK_ONLY;
}

/* Returns the chosen sites of all stacks except the encoder's. */
static struct attn_site_set all_sites(const struct attn_selection *selection)
{
    return attn_sites_join(selection->sites[own_stack(selection)],
                           selection->sites[ATTN_STACK_CROSS]);
}

/* Chooses those of SITES that the model has, in all stacks except the encoder. */
static void set_own_sites(struct attn_selection *selection, struct attn_site_set sites)
{
    sites = attn_sites_common(sites, selection->dims.sites);
    selection->sites[own_stack(selection)] = sites;
    selection->sites[ATTN_STACK_CROSS] = selection->dims.has_pairs ? sites : none;
}

int attn_selection_slot(const struct attn_selection *selection, const struct attn_location *at)
{
    const struct attn_dims *encoder = selection->dims.encoder;

    if (!encoder || at->stack != ATTN_STACK_ENCODER)
        return attn_location_block(at);
    return (int)selection->dims.n_layer +
           (at->layer == ATTN_NO_LAYER ? (int)encoder->n_layer : at->layer);
}

const struct attn_selection *attn_selection_part(const struct attn_selection *selection,
                                                 const struct attn_location *at, int *block)
{
    const bool is_of_part =
        selection && at && selection->encoder && at->stack == ATTN_STACK_ENCODER;
    int layer;

    if (!selection || !at || (unsigned)at->site >= ATTN_N_SITE)
        return NULL;
    selection = is_of_part ? selection->encoder : selection;
    *block = attn_location_block(at);
    if (!attn_site_is_in_layer(at->site))
        return selection;
    if (at->layer < 0 || (size_t)*block >= selection->dims.n_layer)
        return NULL;
    return is_of_part ||
                   (attn_model_stack_of(&selection->dims, at->site, *block, &layer) == at->stack &&
                    layer == at->layer)
               ? selection
               : NULL;
}

/* As attn_selection_part, but for the heads of AT, whatever the site of AT is. */
static const struct attn_selection *part_of_heads(const struct attn_selection *selection,
                                                  const struct attn_location *at, int *block)
{
    struct attn_location heads;

    if (!at)
        return NULL;
    heads = *at;
    heads.site = ATTN_SITE_PATTERN;
    return attn_selection_part(selection, &heads, block);
}

/* Whether SITE is chosen in the stack that SITE of block LAYER belongs to. */
static bool has_stack_site(const struct attn_selection *selection, enum attn_site site, int layer)
{
    int number;

    return attn_sites_have(
        selection->sites[attn_model_stack_of(&selection->dims, site, layer, &number)], site);
}

/* The indices first, first + step, first + 2 step and so on below `end`. */
struct range {
    size_t first, end, step;
};

/* What a list counts, for messages. */
struct axis {
    const char *noun; /* such as "layers" */
    size_t n;         /* valid indices 0 .. n-1 */
};

enum attn_status attn_selection_create(const struct attn_dims *dims,
                                       struct attn_selection **selection, struct attn_error *err)
{
    const struct attn_site_set wished = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_Z);
    struct attn_selection *s;
    enum attn_status status;
    size_t n_flag;

    if (!attn_is_given(dims, "dims", err) || !attn_is_given(selection, "selection", err) ||
        !attn_rest_is_known(dims->later, sizeof dims->later / sizeof *dims->later, "dims", err))
        return ATTN_INVALID;
    if (!attn_checked_mul(dims->n_layer, dims->n_head, &n_flag)) {
        attn_error_no_memory(err);
        return ATTN_NO_MEMORY;
    }
    ATTN_TRY(ATTN_ALLOC(s, 1, err));
    s->dims = *dims;
    set_own_sites(s, wished);
    s->n_query = dims->n_position;
    s->layers = attn_alloc(dims->n_layer, 1, err);
    s->after = attn_alloc(dims->n_layer, 1, err);
    s->heads = attn_alloc(n_flag, 1, err);
    s->queries = attn_alloc(dims->n_position, 1, err);
    if (!s->layers || !s->after || !s->heads || !s->queries) {
        attn_selection_free(s);
        return ATTN_NO_MEMORY;
    }
    memset(s->layers, 1, dims->n_layer);
    memset(s->after, 1, dims->n_layer);
    memset(s->heads, 1, n_flag);
    memset(s->queries, 1, dims->n_position);
    status = dims->encoder ? attn_selection_create(dims->encoder, &s->encoder, err) : ATTN_OK;
    if (s->encoder) /* the sizes of the caller may end earlier */
        s->dims.encoder = &s->encoder->dims;
    ATTN_RETURN_MADE(status, selection, s, attn_selection_free);
}

/* Copies the chosen sites, layers and heads of FROM to TO, and if HAS_QUERIES the queries. */
static void copy_choice(struct attn_selection *to, const struct attn_selection *from,
                        bool has_queries)
{
    const struct attn_dims *dims = &from->dims;

    memcpy(to->layers, from->layers, dims->n_layer);
    memcpy(to->after, from->after, dims->n_layer);
    memcpy(to->heads, from->heads, dims->n_layer * dims->n_head);
    memcpy(to->sites, from->sites, sizeof to->sites);
    to->has_chosen_heads = from->has_chosen_heads;
    if (has_queries) {
        memcpy(to->queries, from->queries, dims->n_position);
        to->n_query = from->n_query;
        to->has_chosen_queries = from->has_chosen_queries;
    }
    if (to->encoder)
        copy_choice(to->encoder, from->encoder, has_queries);
}

enum attn_status attn_selection_copy(const struct attn_selection *selection,
                                     struct attn_selection **copy, struct attn_error *err)
{
    if (!attn_is_given(selection, "selection", err) || !attn_is_given(copy, "copy", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_selection_create(&selection->dims, copy, err));
    copy_choice(*copy, selection, true);
    return ATTN_OK;
}

enum attn_status attn_selection_copy_heads(const struct attn_selection *selection,
                                           const struct attn_dims *dims,
                                           struct attn_selection **copy, struct attn_error *err)
{
    ATTN_TRY(attn_selection_create(dims, copy, err));
    copy_choice(*copy, selection, false);
    return ATTN_OK;
}

static enum attn_status add_stream(struct attn_selection *selection, struct attn_site_set made,
                                   const struct attn_location *last, struct attn_error *err)
{
    const struct attn_site_set ends =
        ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST, attn_site_of_output(&selection->dims),
                   attn_site_of_layer_output(&selection->dims, 0));

    ATTN_TRY(attn_selection_set_sites(
        selection, attn_sites_join(attn_sites_without(all_sites(selection), made), ends), err));
    ATTN_TRY(attn_selection_set_queries(selection, "all", err));
    if (last)
        attn_selection_choose_layers(selection, &(struct attn_location){0}, last);
    return ATTN_OK;
}

enum attn_status attn_selection_see_stream(const struct attn_selection *selection,
                                           struct attn_site_set made,
                                           const struct attn_location *last,
                                           struct attn_selection **seen, struct attn_error *err)
{
    struct attn_selection *copy;

    ATTN_TRY(attn_selection_copy(selection, &copy, err));
    ATTN_RETURN_MADE(add_stream(copy, made, last, err), seen, copy, attn_selection_free);
}

void attn_selection_free(struct attn_selection *selection)
{
    if (!selection)
        return;
    attn_selection_free(selection->encoder);
    attn_free(selection->layers);
    attn_free(selection->after);
    attn_free(selection->heads);
    attn_free(selection->queries);
    attn_free(selection);
}

static bool parse_index(const char *text, size_t size, size_t n, size_t *index)
{
    int64_t value;

    if (n == 0 || !attn_parse_int(text, size, 0, (int64_t)n - 1, &value))
        return false;
    *index = (size_t)value;
    return true;
}

static enum attn_status report_item(const struct axis *axis, const char *item, size_t size,
                                    struct attn_error *err)
{
    const size_t n = strcspn(item, "-"), end = strcspn(item, "+,");
    size_t first, last;
    const bool is_backwards = n < end && parse_index(item, n, axis->n, &first) &&
                              parse_index(item + n + 1, end - n - 1, axis->n, &last) &&
                              first > last;

    attn_error_set(err, ATTN_INVALID, "bad item '%s' of the %s, expected numbers from 0 to %zu%s",
                   attn_quote(item, size).text, axis->noun, axis->n - 1,
                   is_backwards ? ", the smaller one first" : "");
    attn_error_hint(err,
                    "items are N, N-M, N-M+STEP, -1 for the last, or all, separated by commas");
    return ATTN_INVALID;
}

/* Reports that ITEM of a list of heads, or one side of its point, is not valid. */
static enum attn_status report_heads(const struct attn_dims *dims, const char *item, size_t size,
                                     struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "bad item '%s', expected h or L.h, layers from 0 to %zu and heads from 0 to %zu",
                   attn_quote(item, size).text, dims->n_layer - 1, dims->n_head - 1);
    attn_error_hint(err, "each side is N, N-M, N-M+STEP, -1 for the last, * or all; items are "
                         "separated by commas");
    return ATTN_INVALID;
}

/* Reads "N-M" or "N-M+STEP" into RANGE. DASH points to its '-'. Returns whether it is valid. */
static bool parse_span(const char *item, size_t size, const char *dash, size_t n,
                       struct range *range)
{
    const char *plus = memchr(dash, '+', size - (size_t)(dash - item));
    size_t first, last;
    int64_t step = 1;

    if (!plus)
        plus = item + size;
    else if (!attn_parse_int(plus + 1, size - (size_t)(plus + 1 - item), 1, INT64_MAX, &step))
        return false;
    if (!parse_index(item, (size_t)(dash - item), n, &first) ||
        !parse_index(dash + 1, (size_t)(plus - dash - 1), n, &last) || first > last)
        return false;
    *range = (struct range){first, last + 1, (size_t)step < n ? (size_t)step : n};
    return true;
}

/* Reads ITEM = N | -N | N-M | N-M+STEP | all, with indices below N, into RANGE. Returns whether it
 * is valid. */
static bool parse_item(const char *item, size_t size, size_t n, struct range *range)
{
    const char *dash = memchr(item, '-', size);
    size_t index;
    int64_t from_end;

    if (size == 3 && memcmp(item, "all", 3) == 0) {
        *range = (struct range){0, n, 1};
        return true;
    }
    if (dash == item) {
        if (!attn_parse_int(item, size, -(int64_t)n, -1, &from_end))
            return false;
        index = n - (size_t)-from_end;
    } else if (dash) {
        return parse_span(item, size, dash, n, range);
    } else if (!parse_index(item, size, n, &index)) {
        return false;
    }
    *range = (struct range){index, index + 1, 1};
    return true;
}

static void set_flags(unsigned char *flags, struct range range)
{
    for (size_t i = range.first; i < range.end; i += range.step)
        flags[i] = 1;
}

static size_t count(const unsigned char *flags, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += flags[i];
    return sum;
}

/* Reports that SELECTION has no stack or no layer as in AT. */
static enum attn_status refuse_layer(const struct attn_selection *selection,
                                     const struct attn_location *at, struct attn_error *err)
{
    const struct attn_dims *encoder = selection->dims.encoder;
    const size_t n_layer = attn_dims_n_whole_layer(&selection->dims);
    const bool has_stacks = selection->dims.has_pairs, is_one = selection->dims.is_of_decoder;

    if ((has_stacks || is_one) == (at->stack == ATTN_STACK_ONLY))
        return attn_error_set(err, ATTN_INVALID, "there is no stack '%s', expected %s",
                              attn_model_stack_name(at->stack),
                              has_stacks ? "'encoder', 'decoder' or 'cross'"
                              : is_one   ? "'encoder'"
                                         : "none: there is one");
    return attn_error_set(
        err, ATTN_INVALID, "there is no layer %d, expected 0 to %zu", at->layer,
        (at->stack == ATTN_STACK_ENCODER && encoder ? encoder->n_layer : n_layer) - 1);
}

/* Reports that the model has none of SITES, and names the first one. */
static enum attn_status report_site(const struct attn_selection *selection,
                                    struct attn_site_set sites, struct attn_error *err)
{
    char known[400] = "";
    size_t size = 0;
    int first = 0;

    while (first + 1 < ATTN_N_SITE && !attn_sites_have(sites, first))
        first++;
    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_sites_have(selection->dims.sites, i))
            attn_fixed_text_append(known, sizeof known, &size, "%s%s", size > 0 ? ", " : "",
                                   attn_site_name((enum attn_site)i));
    return attn_error_set(err, ATTN_INVALID, "there is no site '%s' here, expected some of %s",
                          attn_site_name((enum attn_site)first), known);
}

enum attn_status attn_selection_set_sites(struct attn_selection *selection,
                                          struct attn_site_set sites, struct attn_error *err)
{
    if (!attn_is_given(selection, "selection", err))
        return ATTN_INVALID;
    /* A glob such as resid_* may also match sites that the model lacks, as long as it matches one
     * that it has; see attn_sites_parse. */
    if (!attn_sites_meet(sites, selection->dims.sites) &&
        !(selection->encoder && attn_sites_meet(sites, selection->encoder->dims.sites)))
        return report_site(selection, sites, err);
    for (struct attn_selection *part = selection; part; part = part->encoder)
        set_own_sites(part, sites);
    return ATTN_OK;
}

void attn_selection_clear_sites(struct attn_selection *selection)
{
    for (struct attn_selection *part = selection; part; part = part->encoder)
        set_own_sites(part, none);
}

void attn_selection_add_gradients(struct attn_selection *selection)
{
    for (size_t i = 0; i <= ATTN_STACK_CROSS; i++)
        attn_sites_extend(
            &selection->sites[i],
            attn_sites_common(attn_sites_gradients_of(selection->sites[i]), selection->dims.sites));
    if (selection->encoder)
        attn_selection_add_gradients(selection->encoder);
}

enum attn_status attn_selection_add_sites(struct attn_selection *selection,
                                          enum attn_model_stack stack, struct attn_site_set sites,
                                          struct attn_error *err)
{
    const bool is_all = stack == ATTN_STACK_ONLY;
    const struct attn_site_set own = attn_sites_common(sites, selection->dims.sites);
    /* The input of cross-attention is resid_mid, or resid_mid normalized, so "cross:" has no
     * resid_pre. */
    const struct attn_site_set of_cross =
        attn_sites_without(own, ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_PRE_GRAD));
    const struct attn_site_set its =
        selection->encoder ? attn_sites_common(sites, selection->encoder->dims.sites) : none;

    if (!is_all && !selection->dims.has_pairs)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s:' names one of two stacks, and this model has one",
                              attn_model_stack_name(stack));
    if ((!(is_all || stack == ATTN_STACK_DECODER) || attn_sites_are_empty(own)) &&
        (stack != ATTN_STACK_CROSS || attn_sites_are_empty(of_cross)) &&
        (!(is_all || stack == ATTN_STACK_ENCODER) || attn_sites_are_empty(its)))
        return report_site(selection, sites, err);
    if (is_all || stack == ATTN_STACK_DECODER)
        attn_sites_extend(&selection->sites[own_stack(selection)], own);
    if (selection->dims.has_pairs && (is_all || stack == ATTN_STACK_CROSS))
        attn_sites_extend(&selection->sites[ATTN_STACK_CROSS], of_cross);
    if (selection->encoder && (is_all || stack == ATTN_STACK_ENCODER))
        attn_sites_extend(&selection->encoder->sites[own_stack(selection->encoder)], its);
    return ATTN_OK;
}

enum attn_status attn_selection_add_queries(struct attn_selection *selection, size_t first,
                                            size_t n, struct attn_error *err)
{
    size_t n_position;

    if (!attn_is_given(selection, "selection", err))
        return ATTN_INVALID;
    n_position = selection->dims.n_position;
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID, "no query is to be kept, expected 1 or more");
    if (first >= n_position || n > n_position - first)
        return attn_error_set(
            err, ATTN_INVALID,
            "there are no %zu queries from '%zu' on, expected numbers from 0 to %zu", n, first,
            n_position - 1);
    if (!selection->has_chosen_queries) {
        memset(selection->queries, 0, n_position);
        selection->n_query = 0;
    }
    for (size_t query = first; query < first + n; query++) {
        selection->n_query += selection->queries[query] == 0;
        selection->queries[query] = 1;
    }
    selection->has_chosen_queries = true;
    return ATTN_OK;
}

/* Finds where ITEM, such as "5.1", "L5H1" or "9.*", separates layer and head. *middle is the '.' or
 * 'H', *skip the number of characters before the layer. False: the item names no layer. */
static bool split_head(const char *item, size_t size, const char **middle, size_t *skip)
{
    const char *dot = memchr(item, '.', size);

    if (dot) {
        *middle = dot;
        *skip = 0;
        return true;
    }
    if (size > 0 && item[0] == 'L') {
        *middle = memchr(item, 'H', size);
        *skip = 1;
        return *middle;
    }
    return false;
}

/* Reads one side of "L.h" into RANGE: *, or an item as in parse_item. Whether it is valid. */
static bool parse_side(const char *text, size_t size, size_t n, struct range *range)
{
    if (size != 1 || text[0] != '*')
        return parse_item(text, size, n, range);
    *range = (struct range){0, n, 1};
    return true;
}

/* Sets the flags of HEADS in each of LAYERS, in a table [n_layer, n_head]. */
static void set_heads(unsigned char *flags, size_t n_head, struct range layers, struct range heads)
{
    for (size_t layer = layers.first; layer < layers.end; layer += layers.step)
        set_flags(flags + layer * n_head, heads);
}

/* Reads one item of a list of heads and sets its flags in FLAGS [n_layer, n_head]. */
static enum attn_status parse_head_item(const struct attn_dims *dims, const char *item, size_t size,
                                        unsigned char *flags, struct attn_error *err)
{
    struct range layers = {0, dims->n_layer, 1}, heads;
    const char *middle, *head = item;
    size_t skip, head_size = size;

    if (split_head(item, size, &middle, &skip)) {
        if (!parse_side(item + skip, (size_t)(middle - item) - skip, dims->n_layer, &layers))
            return report_heads(dims, item, size, err);
        head = middle + 1;
        head_size = size - (size_t)(head - item);
    }
    if (!parse_side(head, head_size, dims->n_head, &heads))
        return report_heads(dims, item, size, err);
    set_heads(flags, dims->n_head, layers, heads);
    return ATTN_OK;
}

/* Reads the list SPEC and sets its flags in FLAGS, which are zeros before. AXIS says what the list
 * counts; NULL: it is a list of heads. */
static enum attn_status parse_list(const struct attn_dims *dims, const struct axis *axis,
                                   const char *spec, unsigned char *flags, struct attn_error *err)
{
    struct range range;

    for (const char *item = spec;; item++) {
        const size_t size = strcspn(item, ",");

        if (!axis)
            ATTN_TRY(parse_head_item(dims, item, size, flags, err));
        else if (parse_item(item, size, axis->n, &range))
            set_flags(flags, range);
        else
            return report_item(axis, item, size, err);
        item += size;
        if (*item == '\0')
            return ATTN_OK;
    }
}

/* Reads the list SPEC, and replaces FLAGS [n] by it if the whole list is valid. */
static enum attn_status replace_flags(const struct attn_selection *selection,
                                      const struct axis *axis, const char *spec,
                                      unsigned char *flags, size_t n, struct attn_error *err)
{
    unsigned char *read = attn_alloc(n, 1, err);
    enum attn_status status;

    if (!read)
        return ATTN_NO_MEMORY;
    status = parse_list(&selection->dims, axis, spec, read, err);
    if (status == ATTN_OK)
        memcpy(flags, read, n);
    attn_free(read);
    return status;
}

/* --- Lists of a model with two stacks --------------------------------------------------------- */

/* Sets the flags of ITEM in STACK: of heads if IS_HEADS, else of layers. ATTN_INVALID if the stack
 * has no such layer or head. */
static enum attn_status set_in_stack(struct attn_selection *selection, bool is_heads,
                                     enum attn_model_stack stack, const char *item, size_t size,
                                     struct attn_error *err)
{
    const bool is_encoder = stack == ATTN_STACK_ENCODER;
    struct attn_selection *s = is_encoder ? selection->encoder : selection;
    const size_t step = is_encoder ? 1 : 2, first = stack == ATTN_STACK_CROSS;
    const size_t n_layer = s ? s->dims.n_layer / step : 0;
    struct attn_dims dims = s ? s->dims : (struct attn_dims){0};
    const size_t width = is_heads ? dims.n_head : 1;
    const struct axis axis = {"layers", n_layer};
    unsigned char *flags = attn_alloc(n_layer, width, err), *to;
    struct range range;
    enum attn_status status = ATTN_OK;

    if (!flags)
        return ATTN_NO_MEMORY;
    dims.n_layer = n_layer;
    if (n_layer == 0)
        status = attn_error_set(err, ATTN_INVALID, "the encoder is not among the tensors here");
    else if (is_heads)
        status = parse_head_item(&dims, item, size, flags, err);
    else if (parse_item(item, size, n_layer, &range))
        set_flags(flags, range);
    else
        status = report_item(&axis, item, size, err);
    for (size_t layer = 0; status == ATTN_OK && layer < n_layer; layer++)
        for (size_t i = 0; i < width; i++) {
            to = is_heads ? s->heads : s->layers;
            to[(layer * step + first) * width + i] |= flags[layer * width + i];
            if (!is_heads && first == 0)
                s->after[layer * step + step - 1] |= flags[layer];
        }
    attn_free(flags);
    return status;
}

/* Clears all heads or layers, and sets those of the list SPEC: an item counts in the stack that it
 * names, or in all stacks that have it. */
static enum attn_status read_stacks(struct attn_selection *selection, bool is_heads,
                                    const char *spec, struct attn_error *err)
{
    struct attn_error ignored = {0};

    for (struct attn_selection *s = selection; s; s = s->encoder) {
        memset(s->heads, 0, is_heads ? s->dims.n_layer * s->dims.n_head : 0);
        memset(s->layers, 0, is_heads ? 0 : s->dims.n_layer);
        memset(s->after, 0, is_heads ? 0 : s->dims.n_layer);
    }
    for (const char *item = spec;; item++) {
        size_t n_stack, size;
        const enum attn_model_stack stack = attn_model_stack_find(item, &n_stack);
        bool is_found = false;

        item += n_stack;
        size = strcspn(item, ",");
        for (int i = ATTN_STACK_ENCODER; i <= ATTN_STACK_CROSS && stack == ATTN_STACK_ONLY; i++)
            is_found |= set_in_stack(selection, is_heads, (enum attn_model_stack)i, item, size,
                                     &ignored) == ATTN_OK;
        if (!is_found)
            ATTN_TRY(set_in_stack(selection, is_heads,
                                  stack == ATTN_STACK_ONLY ? ATTN_STACK_DECODER : stack, item, size,
                                  err));
        item += size;
        if (*item == '\0')
            return ATTN_OK;
    }
}

/* The same, but a list that is not valid changes nothing. */
static enum attn_status set_stacks(struct attn_selection *selection, bool is_heads,
                                   const char *spec, struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status;

    ATTN_TRY(attn_selection_copy(selection, &made, err));
    status = read_stacks(made, is_heads, spec, err);
    for (struct attn_selection *s = selection, *m = made; status == ATTN_OK && s;
         s = s->encoder, m = m->encoder) {
        memcpy(s->heads, m->heads, s->dims.n_layer * s->dims.n_head);
        memcpy(s->layers, m->layers, s->dims.n_layer);
        memcpy(s->after, m->after, s->dims.n_layer);
    }
    attn_selection_free(made);
    return status;
}

enum attn_status attn_selection_set_layers(struct attn_selection *selection, const char *spec,
                                           struct attn_error *err)
{
    if (!attn_is_given(selection, "selection", err) || !attn_is_given(spec, "spec", err))
        return ATTN_INVALID;
    if (selection->dims.has_pairs)
        return set_stacks(selection, false, spec, err);
    ATTN_TRY(replace_flags(selection, &(struct axis){"layers", selection->dims.n_layer}, spec,
                           selection->layers, selection->dims.n_layer, err));
    memcpy(selection->after, selection->layers, selection->dims.n_layer);
    return ATTN_OK;
}

void attn_selection_choose_layers(struct attn_selection *selection,
                                  const struct attn_location *first,
                                  const struct attn_location *last)
{
    const int begin = attn_location_block(first), end = attn_location_block(last);

    for (int block = 0; block < (int)selection->dims.n_layer; block++)
        selection->layers[block] = selection->after[block] = block >= begin && block <= end;
}

enum attn_status attn_selection_set_queries(struct attn_selection *selection, const char *spec,
                                            struct attn_error *err)
{
    if (!attn_is_given(selection, "selection", err) || !attn_is_given(spec, "spec", err))
        return ATTN_INVALID;
    ATTN_TRY(replace_flags(selection, &(struct axis){"positions", selection->dims.n_position}, spec,
                           selection->queries, selection->dims.n_position, err));
    selection->n_query = count(selection->queries, selection->dims.n_position);
    selection->has_chosen_queries = true;
    return ATTN_OK;
}

enum attn_status attn_selection_set_heads(struct attn_selection *selection, const char *spec,
                                          struct attn_error *err)
{
    if (!attn_is_given(selection, "selection", err) || !attn_is_given(spec, "spec", err))
        return ATTN_INVALID;
    if (selection->dims.has_pairs) {
        selection->has_chosen_heads = true;
        return set_stacks(selection, true, spec, err);
    }
    ATTN_TRY(replace_flags(selection, NULL, spec, selection->heads,
                           selection->dims.n_layer * selection->dims.n_head, err));
    selection->has_chosen_heads = true;
    return ATTN_OK;
}

enum attn_status attn_select_heads(const char *spec, const struct attn_dims *dims,
                                   struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;

    ATTN_TRY(attn_selection_create(dims, &made, err));
    ATTN_RETURN_MADE(spec ? attn_selection_set_heads(made, spec, err) : ATTN_OK, selection, made,
                     attn_selection_free);
}

/* Finds the range that INDEX means: all N if it equals ALL, else INDEX alone. False if it is not
 * below N. */
static bool find_index(int index, int all, size_t n, struct range *range)
{
    *range = (struct range){0, n, 1};
    if (index == all)
        return true;
    if (index < 0 || (size_t)index >= n)
        return false;
    range->first = (size_t)index;
    range->end = range->first + 1;
    return true;
}

enum attn_status attn_selection_add_block(struct attn_selection *selection, int block, int head,
                                          struct attn_error *err)
{
    const struct attn_dims *dims;
    struct range layers, heads;

    if (!attn_is_given(selection, "selection", err))
        return ATTN_INVALID;
    dims = &selection->dims;
    if (!find_index(block, ATTN_ALL_LAYERS, dims->n_layer, &layers) ||
        !find_index(head, ATTN_ALL_HEADS, dims->n_head, &heads))
        return attn_error_set(err, ATTN_INVALID,
                              "there is no head '%d.%d', expected layers from 0 to %zu and heads "
                              "from 0 to %zu",
                              block, head, dims->n_layer - 1, dims->n_head - 1);
    if (!selection->has_chosen_heads)
        memset(selection->heads, 0, dims->n_layer * dims->n_head);
    set_heads(selection->heads, dims->n_head, layers, heads);
    selection->has_chosen_heads = true;
    return ATTN_OK;
}

enum attn_status attn_selection_add_head(struct attn_selection *selection,
                                         const struct attn_location *at, struct attn_error *err)
{
    const struct attn_selection *part;
    int block;

    if (!attn_is_given(selection, "selection", err) || !attn_is_given(at, "at", err))
        return ATTN_INVALID;
    if (at->layer == ATTN_ALL_LAYERS && at->stack == ATTN_STACK_ONLY)
        return attn_selection_add_block(selection, ATTN_ALL_LAYERS, at->head, err);
    part = part_of_heads(selection, at, &block);
    if (!part)
        return refuse_layer(selection, at, err);
    return attn_selection_add_block(part == selection ? selection : selection->encoder, block,
                                    at->head, err);
}

const struct attn_dims *attn_selection_dims(const struct attn_selection *selection)
{
    return selection ? &selection->dims : NULL;
}

void attn_selection_take_rows(struct attn_selection *selection)
{
    selection->takes_rows = true;
}

bool attn_selection_takes_rows(const struct attn_selection *selection)
{
    return selection->takes_rows;
}

struct attn_site_set attn_selection_sites(const struct attn_selection *selection)
{
    return selection->encoder ? attn_sites_join(all_sites(selection), all_sites(selection->encoder))
                              : all_sites(selection);
}

bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site)
{
    return attn_sites_have(attn_selection_sites(selection), site);
}

size_t attn_selection_n_slot(const struct attn_selection *selection)
{
    return selection->dims.n_layer +
           (selection->encoder ? selection->encoder->dims.n_layer + 1 : 0);
}

enum attn_status attn_selection_copy_stack(const struct attn_selection *selection, bool is_encoder,
                                           struct attn_selection **copy, struct attn_error *err)
{
    ATTN_TRY(attn_selection_copy(is_encoder ? selection->encoder : selection, copy, err));
    attn_selection_free((*copy)->encoder);
    (*copy)->encoder = NULL;
    (*copy)->dims.encoder = NULL;
    return ATTN_OK;
}

const struct attn_selection *attn_selection_encoder(const struct attn_selection *selection)
{
    return selection ? selection->encoder : NULL;
}

struct attn_selection *attn_selection_encoder_part(struct attn_selection *selection)
{
    return selection->encoder;
}

bool attn_selection_is_of_encoder(const struct attn_selection *selection)
{
    return selection->encoder && attn_sites_are_empty(all_sites(selection));
}

bool attn_selection_has_layer(const struct attn_selection *selection, int layer)
{
    return layer >= 0 && (size_t)layer < selection->dims.n_layer && selection->layers[layer] != 0;
}

bool attn_selection_has_block_head(const struct attn_selection *selection, int layer, int head)
{
    return selection && attn_selection_has_layer(selection, layer) && head >= 0 &&
           (size_t)head < selection->dims.n_head &&
           selection->heads[(size_t)layer * selection->dims.n_head + (size_t)head] != 0;
}

bool attn_selection_has_head(const struct attn_selection *selection, const struct attn_location *at)
{
    int block;
    const struct attn_selection *part = part_of_heads(selection, at, &block);

    return part && attn_selection_has_block_head(part, block, at->head);
}

bool attn_selection_has_query(const struct attn_selection *selection, size_t query)
{
    return selection && query < selection->dims.n_position && selection->queries[query] != 0;
}

size_t attn_selection_n_head(const struct attn_selection *selection, int layer)
{
    const size_t n_head = selection->dims.n_head;

    if (!attn_selection_has_layer(selection, layer))
        return 0;
    return count(selection->heads + (size_t)layer * n_head, n_head);
}

size_t attn_selection_n_query(const struct attn_selection *selection)
{
    return selection->n_query;
}

size_t attn_selection_n_rowless(const struct attn_selection *selection, enum attn_site site)
{
    const size_t first = attn_site_first_row(site, &selection->dims);
    size_t n = 0;

    for (size_t query = 0; query < first; query++)
        n += attn_selection_has_query(selection, query);
    return n;
}

size_t attn_selection_n_row(const struct attn_selection *selection, enum attn_site site)
{
    if (attn_site_is_pooled(site, &selection->dims))
        return 1;
    const size_t first = attn_site_first_row(site, &selection->dims);
    const size_t end = attn_site_end_row(site, &selection->dims);

    return selection->n_query - attn_selection_n_rowless(selection, site) -
           (first <= end && end < selection->dims.n_position &&
            attn_selection_has_query(selection, end));
}

bool attn_selection_has_kv_head(const struct attn_selection *selection, int layer, int kv_head)
{
    size_t group;

    if (!selection || kv_head < 0 || (size_t)kv_head >= selection->dims.n_kv_head)
        return false;
    group = selection->dims.n_head / selection->dims.n_kv_head;
    for (size_t i = 0; i < group; i++)
        if (attn_selection_has_block_head(selection, layer, (int)((size_t)kv_head * group + i)))
            return true;
    return false;
}

bool attn_selection_wants_block(const struct attn_selection *selection, enum attn_site site,
                                int layer)
{
    int number;

    if (!selection || (unsigned)site >= ATTN_N_SITE || !has_stack_site(selection, site, layer))
        return false;
    if (attn_site_is_lacking(&selection->dims, site, layer))
        return false;
    if (!attn_site_is_in_layer(site)) /* wanted, unless it has no row of a chosen query */
        return selection->n_query == 0 || attn_selection_n_row(selection, site) > 0;
    if (layer < 0)
        return false;
    if (attn_model_stack_of(&selection->dims, site, layer, &number) == ATTN_STACK_DECODER &&
        layer % 2 == 1)
        return (size_t)layer < selection->dims.n_layer && selection->after[layer] != 0;
    if (!attn_site_has_heads(site))
        return attn_selection_has_layer(selection, layer);
    return attn_selection_n_head(selection, layer) > 0;
}

bool attn_selection_wants(const struct attn_selection *selection, const struct attn_location *at)
{
    int block;
    const struct attn_selection *part = attn_selection_part(selection, at, &block);

    return part && attn_selection_wants_block(part, at->site, block);
}

void attn_selection_drop_sites(struct attn_selection *selection)
{
    struct attn_site_set kept[ATTN_STACK_CROSS + 1] = {0};
    int number;

    for (enum attn_site site = 0; site < ATTN_N_SITE; site++)
        for (int layer = ATTN_NO_LAYER; layer < (int)selection->dims.n_layer; layer++)
            if (attn_site_is_in_layer(site) == (layer != ATTN_NO_LAYER) &&
                attn_selection_wants_block(selection, site, layer))
                attn_sites_add(&kept[attn_model_stack_of(&selection->dims, site, layer, &number)],
                               site);
    memcpy(selection->sites, kept, sizeof kept);
    if (selection->encoder)
        attn_selection_drop_sites(selection->encoder);
}

bool attn_selection_is_all_heads(const struct attn_selection *selection)
{
    const struct attn_dims *dims = &selection->dims;
    const size_t n_flag = dims->n_layer * dims->n_head;

    return (!selection->encoder || attn_selection_is_all_heads(selection->encoder)) &&
           count(selection->layers, dims->n_layer) == dims->n_layer &&
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

int attn_selection_block_shape(const struct attn_selection *selection, enum attn_site site,
                               int block, size_t shape[3])
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    size_t width;

    shape[0] = shape[1] = shape[2] = 0;
    if (!dims || (unsigned)site >= ATTN_N_SITE ||
        (attn_site_is_in_layer(site) && (block < 0 || (size_t)block >= dims->n_layer)))
        return 0;
    width = attn_site_width(site, dims);
    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_VECTOR:
        if (attn_site_shape_text(site)[1] == '\0') {
            shape[0] = width;
            return 1;
        }
        shape[0] = attn_selection_n_row(selection, site);
        shape[1] = width;
        return 2;
    case ATTN_LAYOUT_PAIRS:
        shape[0] = attn_selection_n_row(selection, site);
        shape[1] = attn_site_n_column(site, dims, block);
        return 2;
    case ATTN_LAYOUT_QUERY:
        shape[0] = selection->n_query;
        shape[1] = attn_selection_n_head(selection, block);
        break;
    case ATTN_LAYOUT_KEY:
        shape[0] = attn_site_n_key(dims, block);
        shape[1] = n_kv_head(selection, block);
        break;
    case ATTN_LAYOUT_MATRIX:
        shape[0] = attn_selection_n_head(selection, block);
        shape[1] = selection->n_query;
        shape[2] = attn_site_n_key(dims, block);
        return 3;
    case ATTN_LAYOUT_HEADS:
    case ATTN_LAYOUT_RANK:
        shape[0] = attn_selection_n_head(selection, block);
        shape[1] = selection->n_query;
        if (attn_site_layout(site) == ATTN_LAYOUT_HEADS)
            return 2;
        break;
    }
    shape[2] = width;
    return 3;
}

int attn_selection_shape(const struct attn_selection *selection, const struct attn_location *at,
                         size_t shape[3])
{
    int block;
    const struct attn_selection *part = attn_selection_part(selection, at, &block);

    if (part)
        return attn_selection_block_shape(part, at->site, block, shape);
    shape[0] = shape[1] = shape[2] = 0;
    return 0;
}

bool attn_selection_has_tensor_head(const struct attn_selection *selection,
                                    const struct attn_location *at)
{
    int block;
    const struct attn_selection *part = attn_selection_part(selection, at, &block);

    if (!part || !attn_site_is_in_layer(at->site))
        return false;
    return attn_site_layout(at->site) == ATTN_LAYOUT_KEY
               ? attn_selection_has_kv_head(part, block, at->head)
               : attn_selection_has_block_head(part, block, at->head);
}

bool attn_selection_has_place(const struct attn_selection *selection,
                              const struct attn_location *at)
{
    int block;

    return attn_selection_part(selection, at, &block) &&
           (attn_site_is_in_layer(at->site) || at->layer == ATTN_NO_LAYER);
}

size_t attn_selection_count_heads(const struct attn_selection *selection,
                                  const struct attn_location *at)
{
    int block;
    const struct attn_selection *part = part_of_heads(selection, at, &block);

    return part ? attn_selection_n_head(part, block) : 0;
}

bool attn_selection_next_head(const struct attn_selection *selection, struct attn_location *at)
{
    while (attn_dims_next_head(&selection->dims, at))
        if (attn_selection_has_tensor_head(selection, at))
            return true;
    return false;
}

/* --- Going through tensors -------------------------------------------------------------------- */

/* Finds place number I of a stack with DIMS: first embed, then the sites of each layer, then the
 * other sites outside the layers. False if the site that I stands for has no tensor at this place.
 */
static bool find_place(const struct attn_dims *dims, size_t i, struct attn_location *at)
{
    const enum attn_site site = attn_site_order[i % ATTN_N_SITE];
    const size_t step = i / ATTN_N_SITE;
    const bool is_layer = step > 0 && step <= dims->n_layer;
    const int block = is_layer ? (int)step - 1 : ATTN_NO_LAYER;

    *at = attn_location_of_block(dims, site, block, ATTN_ALL_HEADS);
    return attn_site_is_in_layer(site) == is_layer && (site == ATTN_SITE_EMBED) == (step == 0) &&
           attn_location_block(at) == block; /* the MLP of a pair of blocks is in the second one */
}

bool attn_selection_next(const struct attn_selection *selection, struct attn_selection_walk *walk)
{
    const struct attn_selection *encoder = selection ? selection->encoder : NULL;
    const size_t n_first = encoder ? (encoder->dims.n_layer + 2) * ATTN_N_SITE : 0;
    const size_t n = selection ? n_first + (selection->dims.n_layer + 2) * ATTN_N_SITE : 0;

    while (walk->next < n) {
        const bool is_first = walk->next < n_first;
        const size_t i = walk->next++ - (is_first ? 0 : n_first);
        bool is_place = find_place(is_first ? &encoder->dims : &selection->dims, i, &walk->at);

        if (is_first)
            walk->at.stack = ATTN_STACK_ENCODER;
        /* Some layers lack some sites. */
        if (is_place && attn_selection_wants(selection, &walk->at))
            return true;
    }
    return false;
}

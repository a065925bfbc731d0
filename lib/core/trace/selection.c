/*
 * selection.c - selections as tables of flags, the calls that set them, and lists as users write
 * them.
 *
 * A list is read item by item; each item becomes a range of indices, whose flags are set. Heads are
 * a table [n_layer, n_flag], because a head may be given with its layer. The whole list is checked
 * before the selection is changed.
 */
#include "trace/trace_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "trace/blocks_internal.h"
#include "trace/places_extra.h"

#include <assert.h>
#include <string.h>

/* The sizes of one stack, and which of its layers, heads and queries are chosen. */
struct stack {
    struct attn_dims dims;
    size_t n_query;        /* number of flags set in `queries` */
    unsigned char *layers; /* owns; [n_layer] 1 for each chosen layer. The other flags follow */
    /* [n_layer] 1 for each layer whose sites after attention are chosen; differs from `layers` only
     * for pairs of blocks, where the MLP belongs to the decoder. */
    unsigned char *after;
    unsigned char *heads;    /* [n_layer, n_flag] 1 for each chosen head */
    size_t n_flag;           /* the heads of the layer that has most (attn_dims_most_heads) */
    unsigned char *queries;  /* [n_position] 1 for each chosen query */
    bool has_chosen_heads;   /* heads were named: a further one is added to them */
    bool has_chosen_queries; /* queries were named: a further one is added to them */
};

struct attn_selection {
    struct stack stacks[2];                           /* the last one; its encoder, if any */
    struct attn_site_set sites[ATTN_STACK_CROSS + 1]; /* the chosen sites of each stack */
    bool takes_rows;
};

static const struct attn_site_set none;

static size_t n_stack(const struct attn_selection *selection)
{
    return selection->stacks[0].dims.encoder ? 2 : 1;
}

/* Returns the index of STACK among the stacks of SELECTION. */
static size_t index_of(const struct attn_selection *selection, enum attn_model_stack stack)
{
    return attn_stack_is_encoder(stack) && selection->stacks[0].dims.encoder;
}

/* Returns the chosen sites of STACK, in the place that the encoder and the tower share. */
static struct attn_site_set *sites_of(struct attn_selection *selection, enum attn_model_stack stack)
{
    return &selection->sites[attn_stack_is_encoder(stack) ? ATTN_STACK_ENCODER : stack];
}

/* Chooses those of SITES that the model has, in all stacks. */
static void set_own_sites(struct attn_selection *selection, struct attn_site_set sites)
{
    const struct attn_dims *dims = &selection->stacks[0].dims;
    const struct attn_site_set own = attn_sites_common(sites, dims->sites);

    if (dims->encoder) /* a list names the sites of a tower one by one */
        selection->sites[ATTN_STACK_ENCODER] =
            dims->has_pairs ? attn_sites_common(sites, dims->encoder->sites) : none;
    *sites_of(selection, attn_dims_own_stack(dims)) = own;
    selection->sites[ATTN_STACK_CROSS] = dims->has_pairs ? own : none;
}

int attn_selection_slot(const struct attn_selection *selection, const struct attn_location *at)
{
    const struct attn_dims *encoder = selection->stacks[0].dims.encoder;

    if (!encoder || !attn_stack_is_encoder(at->stack))
        return attn_location_block(at);
    return (int)selection->stacks[0].dims.n_layer +
           (at->layer == ATTN_NO_LAYER ? (int)encoder->n_layer : at->layer);
}

/* Returns the stack of AT; *block becomes the number of its block there. NULL if SELECTION is NULL
 * or has no such stack or layer. */
static const struct stack *find_stack(const struct attn_selection *selection,
                                      const struct attn_location *at, int *block)
{
    const struct stack *stack;
    int layer;

    if (!selection || !at || (unsigned)at->site >= ATTN_N_SITE)
        return NULL;
    stack = &selection->stacks[index_of(selection, at->stack)];
    *block = attn_location_block(at);
    if (!attn_site_is_in_layer(at->site))
        return stack;
    if (at->layer < 0 || (size_t)*block >= stack->dims.n_layer ||
        attn_model_stack_of(&stack->dims, at->site, *block, &layer) != at->stack ||
        layer != at->layer)
        return NULL;
    return stack;
}

/* As find_stack, but for the heads of AT, whatever the site of AT is. */
static const struct stack *find_heads(const struct attn_selection *selection,
                                      const struct attn_location *at, int *block)
{
    struct attn_location heads;

    if (!at)
        return NULL;
    heads = *at;
    heads.site = ATTN_SITE_PATTERN;
    return find_stack(selection, &heads, block);
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

/* Makes STACK with the sizes DIMS, where all is chosen. */
static enum attn_status make_stack(struct stack *stack, const struct attn_dims *dims,
                                   struct attn_error *err)
{
    size_t n_head, n;

    if (!ATTN_IS_KNOWN(dims->later, "dims", err))
        return ATTN_INVALID;
    stack->n_flag = attn_dims_most_heads(dims);
    if (!attn_checked_mul(dims->n_layer, stack->n_flag, &n_head) ||
        !attn_checked_add(n_head, dims->n_position, &n) ||
        !attn_checked_add(n, dims->n_layer, &n) || !attn_checked_add(n, dims->n_layer, &n))
        return attn_error_no_memory(err);
    stack->dims = *dims;
    stack->n_query = dims->n_position;
    ATTN_TRY(ATTN_NEW(stack->layers, attn_alloc(n, 1, err)));
    memset(stack->layers, 1, n);
    stack->after = stack->layers + dims->n_layer;
    stack->heads = stack->after + dims->n_layer;
    stack->queries = stack->heads + n_head;
    return ATTN_OK;
}

static enum attn_status make_stacks(struct attn_selection *selection, const struct attn_dims *dims,
                                    struct attn_error *err)
{
    struct stack *encoder = &selection->stacks[1];

    ATTN_TRY(make_stack(&selection->stacks[0], dims, err));
    if (dims->encoder) { /* the sizes of the caller may end earlier */
        ATTN_TRY(make_stack(encoder, dims->encoder, err));
        encoder->dims.is_of_decoder = true;
        selection->stacks[0].dims.encoder = &encoder->dims;
    }
    if (!attn_sites_have(dims->sites, ATTN_SITE_PATTERN) && dims->mixer) {
        set_own_sites(selection, ATTN_SITES(ATTN_SITE_MIXING_NORM));
        return ATTN_OK;
    }
    set_own_sites(selection, ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_Z, ATTN_SITE_POOL_PATTERN,
                                        ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES));
    return ATTN_OK;
}

enum attn_status attn_selection_create(const struct attn_dims *dims,
                                       struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *s;

    ATTN_NEED(err, dims, selection);
    ATTN_TRY(ATTN_ALLOC(s, 1, err));
    ATTN_RETURN_MADE(make_stacks(s, dims, err), selection, s, attn_selection_free);
}

/* Copies the chosen layers and heads of FROM to TO, and if HAS_QUERIES the queries. */
static void copy_choice(struct stack *to, const struct stack *from, bool has_queries)
{
    memcpy(to->layers, from->layers, (size_t)(from->queries - from->layers));
    to->has_chosen_heads = from->has_chosen_heads;
    if (has_queries) {
        memcpy(to->queries, from->queries, from->dims.n_position);
        to->n_query = from->n_query;
        to->has_chosen_queries = from->has_chosen_queries;
    }
}

/* The same for both stacks, with their sites. */
static void copy_choices(struct attn_selection *to, const struct attn_selection *from,
                         bool has_queries)
{
    memcpy(to->sites, from->sites, sizeof to->sites);
    for (size_t i = 0; i < n_stack(to); i++)
        copy_choice(&to->stacks[i], &from->stacks[i], has_queries);
}

enum attn_status attn_selection_copy(const struct attn_selection *selection,
                                     struct attn_selection **copy, struct attn_error *err)
{
    ATTN_NEED(err, selection, copy);
    ATTN_TRY(attn_selection_create(&selection->stacks[0].dims, copy, err));
    copy_choices(*copy, selection, true);
    return ATTN_OK;
}

enum attn_status attn_selection_copy_heads(const struct attn_selection *selection,
                                           const struct attn_dims *dims,
                                           struct attn_selection **copy, struct attn_error *err)
{
    ATTN_TRY(attn_selection_create(dims, copy, err));
    copy_choices(*copy, selection, false);
    return ATTN_OK;
}

enum attn_status attn_selection_copy_stack(const struct attn_selection *selection,
                                           enum attn_model_stack stack,
                                           struct attn_selection **copy, struct attn_error *err)
{
    const struct stack *from = &selection->stacks[index_of(selection, stack)];
    struct attn_dims dims = from->dims;

    dims.encoder = NULL;
    ATTN_TRY(attn_selection_create(&dims, copy, err));
    copy_choice((*copy)->stacks, from, true);
    memcpy((*copy)->sites, selection->sites, sizeof selection->sites);
    for (size_t i = 0; i <= ATTN_STACK_CROSS; i++)
        if ((i == ATTN_STACK_ENCODER) != attn_stack_is_encoder(attn_dims_own_stack(&dims)))
            (*copy)->sites[i] = none;
    return ATTN_OK;
}

static enum attn_status add_stream(struct attn_selection *selection, struct attn_site_set made,
                                   const struct attn_location *last, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_site_set ends =
        ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST, attn_site_of_output(dims),
                   attn_site_of_layer_output(dims, 0));

    ATTN_TRY(attn_selection_set_sites(
        selection,
        attn_sites_join(
            attn_sites_without(attn_selection_sites_of(selection, ATTN_STACK_ONLY), made), ends),
        err));
    ATTN_TRY(attn_selection_set_queries(selection, ATTN_STACK_ONLY, "all", err));
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
    attn_free(selection->stacks[0].layers);
    attn_free(selection->stacks[1].layers);
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
    return attn_error_hint(
        err, "items are N, N-M, N-M+STEP, -1 for the last, or all, separated by commas");
}

/* Reports that ITEM of a list of heads, or one side of its point, is not valid. */
static enum attn_status report_heads(const struct attn_dims *dims, const char *item, size_t size,
                                     struct attn_error *err)
{
    const struct attn_quote quote = attn_quote(item, size);

    if (attn_dims_mixes_beside(dims))
        attn_error_set(err, ATTN_INVALID,
                       "bad item '%s', expected h or L.h, layers from 0 to %zu and heads from 0 to "
                       "%zu, or of mixing from m0 to m%zu",
                       quote.text, dims->n_layer - 1, dims->n_head - 1, dims->mixer->n_head - 1);
    else
        attn_error_set(
            err, ATTN_INVALID,
            "bad item '%s', expected h or L.h, layers from 0 to %zu and heads from 0 to %zu",
            quote.text, dims->n_layer - 1, attn_dims_most_heads(dims) - 1);
    return attn_error_hint(err,
                           "each side is N, N-M, N-M+STEP, -1 for the last, * or all; items are "
                           "separated by commas");
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
    const struct attn_dims *dims = &selection->stacks[0].dims, *encoder = dims->encoder;
    const size_t n_layer = attn_dims_n_whole_layer(dims);
    const bool has_stacks = dims->has_pairs, is_one = dims->is_of_decoder;
    const bool is_of_tower = encoder && !has_stacks && at->stack == ATTN_STACK_TOWER;

    if ((has_stacks || is_one) == (at->stack == ATTN_STACK_ONLY) && !is_of_tower)
        return attn_error_set(err, ATTN_INVALID, "there is no stack '%s', expected %s",
                              attn_model_stack_name(at->stack),
                              has_stacks ? "'encoder', 'decoder' or 'cross'"
                              : is_one   ? "'encoder'"
                                         : "none: there is one");
    return attn_error_set(
        err, ATTN_INVALID, "there is no layer %d, expected 0 to %zu", at->layer,
        (attn_stack_is_encoder(at->stack) && encoder ? encoder->n_layer : n_layer) - 1);
}

/* Reports that the stack of DIMS has none of SITES, and names the first one. */
static enum attn_status report_site(const struct attn_dims *dims, struct attn_site_set sites,
                                    struct attn_error *err)
{
    char known[400] = "";
    size_t size = 0;
    int first = 0;

    while (first + 1 < ATTN_N_SITE && !attn_sites_have(sites, first))
        first++;
    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_sites_have(dims->sites, i))
            attn_fixed_text_append(known, sizeof known, &size, "%s%s", size > 0 ? ", " : "",
                                   attn_site_name((enum attn_site)i));
    return attn_error_set(err, ATTN_INVALID, "there is no site '%s' here, expected some of %s",
                          attn_site_name((enum attn_site)first), known);
}

enum attn_status attn_selection_set_sites(struct attn_selection *selection,
                                          struct attn_site_set sites, struct attn_error *err)
{
    ATTN_NEED(err, selection);
    /* A glob such as resid_* may also match sites that the model lacks, as long as it matches one
     * that it has; see attn_sites_parse. */
    if (!attn_sites_meet(sites, selection->stacks[0].dims.sites) &&
        !attn_sites_meet(sites, selection->stacks[1].dims.sites))
        return report_site(&selection->stacks[0].dims, sites, err);
    set_own_sites(selection, sites);
    return ATTN_OK;
}

void attn_selection_clear_sites(struct attn_selection *selection)
{
    set_own_sites(selection, none);
}

void attn_selection_add_gradients(struct attn_selection *selection)
{
    for (enum attn_model_stack i = 0; i <= ATTN_STACK_CROSS; i++)
        attn_sites_extend(&selection->sites[i],
                          attn_sites_common(attn_sites_gradients_of(selection->sites[i]),
                                            selection->stacks[index_of(selection, i)].dims.sites));
}

enum attn_status attn_selection_add_sites(struct attn_selection *selection,
                                          enum attn_model_stack stack, struct attn_site_set sites,
                                          struct attn_error *err)
{
    const bool is_only = stack == ATTN_STACK_ONLY, is_encoder = attn_stack_is_encoder(stack);
    const struct attn_dims *dims = &selection->stacks[0].dims;
    const struct attn_site_set own = attn_sites_common(sites, dims->sites);
    /* The input of cross-attention is resid_mid, or resid_mid normalized, so "cross:" has no
     * resid_pre. */
    const struct attn_site_set of_cross =
        attn_sites_without(own, ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_PRE_GRAD));
    const struct attn_site_set its =
        dims->encoder ? attn_sites_common(sites, dims->encoder->sites) : none;

    const bool is_all = is_only && dims->has_pairs;

    if (!is_only && (is_encoder ? !dims->encoder || attn_dims_own_stack(dims->encoder) != stack
                                : !dims->has_pairs))
        return attn_error_set(err, ATTN_INVALID,
                              dims->has_pairs ? "'%s:' names no stack of this model"
                                              : "'%s:' names one of two stacks, and this model has "
                                                "one",
                              attn_model_stack_name(stack));
    if ((!(is_only || stack == ATTN_STACK_DECODER) || attn_sites_are_empty(own)) &&
        (stack != ATTN_STACK_CROSS || attn_sites_are_empty(of_cross)) &&
        (!(is_all || is_encoder) || attn_sites_are_empty(its)))
        return report_site(is_encoder ? dims->encoder : dims, sites, err);
    if (is_only || stack == ATTN_STACK_DECODER)
        attn_sites_extend(sites_of(selection, attn_dims_own_stack(dims)), own);
    if (dims->has_pairs && (is_all || stack == ATTN_STACK_CROSS))
        attn_sites_extend(&selection->sites[ATTN_STACK_CROSS], of_cross);
    if (dims->encoder && (is_all || is_encoder))
        attn_sites_extend(&selection->sites[ATTN_STACK_ENCODER], its);
    return ATTN_OK;
}

enum attn_status attn_selection_add_queries(struct attn_selection *selection,
                                            enum attn_model_stack stack, size_t first, size_t n,
                                            struct attn_error *err)
{
    struct stack *s;

    ATTN_NEED(err, selection);
    s = &selection->stacks[index_of(selection, stack)];
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID, "no query is to be kept, expected 1 or more");
    if (first >= s->dims.n_position || n > s->dims.n_position - first)
        return attn_error_set(
            err, ATTN_INVALID,
            "there are no %zu queries from '%zu' on, expected numbers from 0 to %zu", n, first,
            s->dims.n_position - 1);
    if (!s->has_chosen_queries) {
        memset(s->queries, 0, s->dims.n_position);
        s->n_query = 0;
    }
    for (size_t query = first; query < first + n; query++) {
        s->n_query += s->queries[query] == 0;
        s->queries[query] = 1;
    }
    s->has_chosen_queries = true;
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

/* Reads the heads of LAYER that TEXT names into RANGE: "m2" is a head of mixing, "2" one of
 * attention, or of mixing in layers without attention. Whether the layer has them. */
static bool parse_heads(const struct attn_dims *dims, size_t layer, const char *text, size_t size,
                        struct range *range)
{
    const bool is_beside = attn_dims_mixes_beside(dims);
    const size_t n = attn_dims_n_head_of(dims, layer), n_attention = is_beside ? dims->n_head : n;
    const size_t first = is_beside ? dims->n_head : 0;
    const bool is_all = size == 1 && text[0] == '*';

    if (size == 0 || text[0] != 'm')
        return parse_side(text, size, is_all ? n : n_attention, range);
    if (!dims->mixer || (!is_beside && !dims->mixer->is_in[layer]) ||
        !parse_side(text + 1, size - 1, n - first, range))
        return false;
    range->first += first;
    range->end += first;
    return true;
}

/* Reads one item of a list of heads: into LAYERS, and into *HEAD where it names heads, which one of
 * these layers must have. */
static enum attn_status parse_head_item(const struct attn_dims *dims, const char *item, size_t size,
                                        struct range *layers, const char **head,
                                        struct attn_error *err)
{
    const char *middle;
    struct range heads;
    size_t skip;

    *head = item;
    *layers = (struct range){0, dims->n_layer, 1};
    if (split_head(item, size, &middle, &skip)) {
        if (!parse_side(item + skip, (size_t)(middle - item) - skip, dims->n_layer, layers))
            return report_heads(dims, item, size, err);
        *head = middle + 1;
    }
    for (size_t layer = layers->first; layer < layers->end; layer += layers->step)
        if (parse_heads(dims, layer, *head, size - (size_t)(*head - item), &heads))
            return ATTN_OK;
    return report_heads(dims, item, size, err);
}

/* Sets the flags of ITEM in STACK: of heads if IS_HEADS, else of layers. ATTN_INVALID if the stack
 * has no such layer or head. */
static enum attn_status set_in_stack(struct attn_selection *selection, bool is_heads,
                                     enum attn_model_stack stack, const char *item, size_t size,
                                     struct attn_error *err)
{
    const bool is_encoder = attn_stack_is_encoder(stack);
    const struct stack *s = &selection->stacks[is_encoder]; /* zeros: there is no encoder */
    const size_t step = s->dims.has_pairs ? 2 : 1, first = stack == ATTN_STACK_CROSS;
    struct attn_dims dims = s->dims;
    struct range layers, heads;
    const char *head = item;

    dims.n_layer /= step;
    if (is_encoder && dims.n_layer == 0)
        return attn_error_set(err, ATTN_INVALID, "the encoder is not among the tensors here");
    if (is_heads)
        ATTN_TRY(parse_head_item(&dims, item, size, &layers, &head, err));
    else if (!parse_item(item, size, dims.n_layer, &layers))
        return report_item(&(struct axis){"layers", dims.n_layer}, item, size, err);
    for (size_t layer = layers.first; layer < layers.end; layer += layers.step) {
        if (is_heads && parse_heads(&dims, layer, head, size - (size_t)(head - item), &heads))
            set_flags(s->heads + (layer * step + first) * s->n_flag, heads);
        if (!is_heads)
            s->layers[layer * step + first] = 1;
        if (!is_heads && first == 0)
            s->after[layer * step + step - 1] = 1;
    }
    return ATTN_OK;
}

/* Chooses no head in any stack. */
static void clear_heads(struct attn_selection *selection)
{
    for (size_t i = 0; i < n_stack(selection); i++) {
        struct stack *s = &selection->stacks[i];

        s->has_chosen_heads = true;
        memset(s->heads, 0, s->dims.n_layer * s->n_flag);
    }
}

/* Clears all heads or layers, and sets those of the list SPEC: an item counts in the stack that it
 * names, or in all stacks that have it. */
static enum attn_status read_list(struct attn_selection *selection, bool is_heads, const char *spec,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = &selection->stacks[0].dims;
    const int last = dims->has_pairs ? ATTN_STACK_CROSS : ATTN_STACK_DECODER;
    struct attn_error ignored = {0};

    if (is_heads)
        clear_heads(selection);
    for (size_t i = 0; i < n_stack(selection) && !is_heads; i++) {
        struct stack *s = &selection->stacks[i];

        memset(s->layers, 0, (size_t)(s->heads - s->layers));
    }
    for (struct attn_list_item item = {.rest = spec}; attn_list_next(&item);) {
        size_t skip = 0;
        enum attn_model_stack stack = ATTN_STACK_DECODER;
        bool is_found = false;

        if (n_stack(selection) == 2 || dims->has_pairs)
            stack = attn_model_stack_find(item.text, &skip);
        item.text += skip;
        item.size -= skip;
        for (int i = ATTN_STACK_ENCODER; i <= last && stack == ATTN_STACK_ONLY; i++)
            is_found |= set_in_stack(selection, is_heads, (enum attn_model_stack)i, item.text,
                                     item.size, &ignored) == ATTN_OK;
        if (!is_found)
            ATTN_TRY(set_in_stack(selection, is_heads,
                                  stack == ATTN_STACK_ONLY ? ATTN_STACK_DECODER : stack, item.text,
                                  item.size, err));
    }
    return ATTN_OK;
}

/* The same, but a list that is not valid changes nothing. */
static enum attn_status set_list(struct attn_selection *selection, bool is_heads, const char *spec,
                                 struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status;

    ATTN_NEED(err, selection, spec);
    ATTN_TRY(attn_selection_copy(selection, &made, err));
    status = read_list(made, is_heads, spec, err);
    if (status == ATTN_OK)
        copy_choices(selection, made, false);
    attn_selection_free(made);
    return status;
}

enum attn_status attn_selection_set_layers(struct attn_selection *selection, const char *spec,
                                           struct attn_error *err)
{
    return set_list(selection, false, spec, err);
}

enum attn_status attn_selection_set_heads(struct attn_selection *selection, const char *spec,
                                          struct attn_error *err)
{
    return set_list(selection, true, spec, err);
}

void attn_selection_choose_layers(struct attn_selection *selection,
                                  const struct attn_location *first,
                                  const struct attn_location *last)
{
    const int begin = attn_location_block(first), end = attn_location_block(last);
    const struct stack *s = selection->stacks;

    for (int block = 0; block < (int)s->dims.n_layer; block++)
        s->layers[block] = s->after[block] = block >= begin && block <= end;
}

enum attn_status attn_selection_set_queries(struct attn_selection *selection,
                                            enum attn_model_stack stack, const char *spec,
                                            struct attn_error *err)
{
    const struct attn_number_list list = {.text = spec};

    ATTN_NEED(err, selection, spec);
    return attn_selection_choose_queries(selection, stack, &list, err);
}

enum attn_status attn_number_list_flag(const struct attn_number_list *list, const char *noun,
                                       size_t n, unsigned char *flags, struct attn_error *err)
{
    const char *spec = list->n == 0 ? list->text : NULL;
    struct range range;

    if (!attn_is_given(spec || list->items, noun, err))
        return ATTN_INVALID;
    for (struct attn_list_item item = {.rest = spec}; attn_list_next(&item);) {
        if (!parse_item(item.text, item.size, n, &range))
            return report_item(&(struct axis){noun, n}, item.text, item.size, err);
        set_flags(flags, range);
    }
    for (size_t i = 0; i < list->n; i++) {
        const int64_t from_end = list->items[i] < 0 ? (int64_t)n : 0;
        const size_t index = (size_t)(list->items[i] + from_end);

        if (index >= n)
            return attn_error_set(err, ATTN_INVALID,
                                  "bad item '%lld' of the %s, expected numbers from 0 to %zu",
                                  (long long)list->items[i], noun, n - 1);
        flags[index] = 1;
    }
    return ATTN_OK;
}

enum attn_status attn_selection_choose_queries(struct attn_selection *selection,
                                               enum attn_model_stack stack,
                                               const struct attn_number_list *list,
                                               struct attn_error *err)
{
    struct stack *s = &selection->stacks[index_of(selection, stack)];
    enum attn_status status;
    unsigned char *read;

    ATTN_TRY(ATTN_ALLOC(read, s->dims.n_position, err));
    status = attn_number_list_flag(list, "positions", s->dims.n_position, read, err);
    if (status == ATTN_OK) {
        memcpy(s->queries, read, s->dims.n_position);
        s->n_query = count(read, s->dims.n_position);
        s->has_chosen_queries = true;
    }
    attn_free(read);
    return status;
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

enum attn_status attn_selection_add_head(struct attn_selection *selection,
                                         const struct attn_location *at, struct attn_error *err)
{
    struct range layers, heads;
    struct stack *s;
    int block = ATTN_ALL_LAYERS;

    if (!attn_is_given(selection, "selection", err) || !attn_is_given(at, "at", err) ||
        !attn_is_choice(at->stack, ATTN_STACK_TOWER + 1, "stack", err))
        return ATTN_INVALID;
    if ((at->layer != ATTN_ALL_LAYERS || at->stack != ATTN_STACK_ONLY) &&
        !find_heads(selection, at, &block))
        return refuse_layer(selection, at, err);
    s = &selection->stacks[index_of(selection, at->stack)];
    if (!find_index(block, ATTN_ALL_LAYERS, s->dims.n_layer, &layers) ||
        !find_index(at->head, ATTN_ALL_HEADS,
                    block == ATTN_ALL_LAYERS ? s->n_flag
                                             : attn_dims_n_head_of(&s->dims, (size_t)block),
                    &heads))
        return attn_error_set(err, ATTN_INVALID,
                              "there is no head '%d.%d', expected layers from 0 to %zu and heads "
                              "from 0 to %zu",
                              at->layer, at->head, attn_dims_n_whole_layer(&s->dims) - 1,
                              s->n_flag - 1);
    if (!s->has_chosen_heads)
        memset(s->heads, 0, s->dims.n_layer * s->n_flag);
    for (size_t layer = layers.first; layer < layers.end; layer++)
        set_flags(s->heads + layer * s->n_flag, heads);
    s->has_chosen_heads = true;
    return ATTN_OK;
}

struct attn_quote attn_number_list_quote(const struct attn_number_list *list)
{
    struct attn_quote quote = attn_quote_string(list->n == 0 ? list->text : "");
    size_t used = 0;

    for (size_t i = 0; i < list->n; i++)
        attn_fixed_text_append(quote.text, sizeof quote.text, &used, "%s%lld", i > 0 ? "," : "",
                               (long long)list->items[i]);
    return quote;
}

struct attn_quote attn_head_list_quote(const struct attn_head_list *list)
{
    struct attn_quote quote = attn_quote_string(list->n == 0 ? list->text : "");
    size_t used = 0;

    for (size_t i = 0; i < list->n; i++)
        attn_fixed_text_append(quote.text, sizeof quote.text, &used, "%s%s", i > 0 ? "," : "",
                               attn_location_name(&list->items[i]).text);
    return quote;
}

enum attn_status attn_selection_choose_heads(struct attn_selection *selection,
                                             const struct attn_head_list *list,
                                             struct attn_error *err)
{
    if (!attn_is_given(list->n == 0 || list->items, "heads", err))
        return ATTN_INVALID;
    if (list->n > 0)
        clear_heads(selection);
    for (size_t i = 0; i < list->n; i++)
        ATTN_TRY(attn_selection_add_head(selection, &list->items[i], err));
    return list->n == 0 && list->text ? attn_selection_set_heads(selection, list->text, err)
                                      : ATTN_OK;
}

enum attn_status attn_select_heads(const struct attn_head_list *list, const struct attn_dims *dims,
                                   struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;

    ATTN_TRY(attn_selection_create(dims, &made, err));
    ATTN_RETURN_MADE(attn_selection_choose_heads(made, list, err), selection, made,
                     attn_selection_free);
}

const struct attn_dims *attn_selection_dims(const struct attn_selection *selection)
{
    return selection ? &selection->stacks[0].dims : NULL;
}

void attn_selection_take_rows(struct attn_selection *selection)
{
    selection->takes_rows = true;
}

bool attn_selection_takes_rows(const struct attn_selection *selection)
{
    return selection->takes_rows;
}

struct attn_site_set attn_selection_sites_of(const struct attn_selection *selection,
                                             enum attn_model_stack stack)
{
    const enum attn_model_stack own = attn_dims_own_stack(&selection->stacks[0].dims);

    if (attn_stack_is_encoder(stack))
        return selection->sites[ATTN_STACK_ENCODER];
    return attn_sites_join(selection->sites[attn_stack_is_encoder(own) ? ATTN_STACK_ENCODER : own],
                           selection->sites[ATTN_STACK_CROSS]);
}

struct attn_site_set attn_selection_sites(const struct attn_selection *selection)
{
    return attn_sites_join(attn_selection_sites_of(selection, ATTN_STACK_ONLY),
                           selection->sites[ATTN_STACK_ENCODER]);
}

bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site)
{
    return attn_sites_have(attn_selection_sites(selection), site);
}

size_t attn_selection_n_slot(const struct attn_selection *selection)
{
    return selection->stacks[0].dims.n_layer +
           (n_stack(selection) == 2 ? selection->stacks[1].dims.n_layer + 1 : 0);
}

bool attn_selection_is_of_encoder(const struct attn_selection *selection)
{
    return n_stack(selection) == 2 &&
           attn_sites_are_empty(attn_selection_sites_of(selection, ATTN_STACK_ONLY));
}

static bool has_layer(const struct stack *stack, int layer)
{
    return layer >= 0 && (size_t)layer < stack->dims.n_layer && stack->layers[layer] != 0;
}

/* Sets *layer to that of the flags of heads. A site outside the layers has those of the last one,
 * whether that layer is chosen or not. */
static bool find_flags(const struct stack *stack, int *layer)
{
    if (*layer != ATTN_NO_LAYER)
        return has_layer(stack, *layer);
    *layer = (int)stack->dims.n_layer - 1;
    return *layer >= 0;
}

static bool has_head(const struct stack *stack, int layer, int head)
{
    return find_flags(stack, &layer) && head >= 0 &&
           (size_t)head < attn_dims_n_head_of(&stack->dims, (size_t)layer) &&
           stack->heads[(size_t)layer * stack->n_flag + (size_t)head] != 0;
}

static bool has_kv_head(const struct stack *stack, int layer, int kv_head)
{
    const size_t n_kv_head = attn_dims_in(&stack->dims, layer).n_kv_head;
    size_t group;

    if (kv_head < 0 || (size_t)kv_head >= n_kv_head)
        return false;
    group = stack->dims.n_head / n_kv_head;
    for (size_t i = 0; i < group; i++)
        if (has_head(stack, layer, (int)((size_t)kv_head * group + i)))
            return true;
    return false;
}

static size_t count_heads(const struct stack *stack, int layer)
{
    if (!find_flags(stack, &layer))
        return 0;
    return count(stack->heads + (size_t)layer * stack->n_flag,
                 attn_dims_n_head_of(&stack->dims, (size_t)layer));
}

/* Returns the flag of head 0 of SITE: heads of mixing come after those of attention beside them. */
static size_t first_flag(const struct stack *stack, enum attn_site site)
{
    const bool is_mixing = site == ATTN_SITE_MIXING || site == ATTN_SITE_MIXING_NORM ||
                           attn_site_n_mixing_head(site, &stack->dims) > 0;

    return is_mixing && attn_dims_mixes_beside(&stack->dims) ? stack->dims.n_head : 0;
}

static bool has_head_of(const struct stack *stack, const struct attn_location *at, int block)
{
    return at->head >= 0 && has_head(stack, block, at->head + (int)first_flag(stack, at->site));
}

/* The same for the heads of SITE: mixing_norm of a convolution has one, of all channels. */
static size_t count_heads_of(const struct stack *stack, enum attn_site site, int layer)
{
    const size_t first = first_flag(stack, site);
    const bool is_beside = attn_dims_mixes_beside(&stack->dims);
    const size_t n = is_beside && has_layer(stack, layer)
                         ? count(stack->heads + (size_t)layer * stack->n_flag + first,
                                 first > 0 ? stack->dims.mixer->n_head : stack->dims.n_head)
                         : count_heads(stack, layer);

    return site == ATTN_SITE_MIXING_NORM && n > attn_site_n_head(site, &stack->dims) ? 1 : n;
}

bool attn_selection_has_head(const struct attn_selection *selection, const struct attn_location *at)
{
    int block;
    const struct stack *stack = find_heads(selection, at, &block);

    return stack && has_head_of(stack, at, block);
}

bool attn_selection_has_query(const struct attn_selection *selection, enum attn_model_stack stack,
                              size_t query)
{
    const struct stack *s = selection ? &selection->stacks[index_of(selection, stack)] : NULL;

    return s && query < s->dims.n_position && s->queries[query] != 0;
}

size_t attn_selection_n_query(const struct attn_selection *selection)
{
    return selection->stacks[0].n_query;
}

/* The number of chosen queries before the first row of SITE. */
static size_t count_rowless(const struct stack *stack, enum attn_site site)
{
    const size_t first = attn_site_first_row(site, &stack->dims), n = stack->dims.n_position;

    return count(stack->queries, first < n ? first : n);
}

size_t attn_selection_n_rowless(const struct attn_selection *selection,
                                const struct attn_location *at)
{
    return count_rowless(&selection->stacks[index_of(selection, at->stack)], at->site);
}

/* The number of chosen queries that have a row of SITE, whose rows are queries. */
static size_t count_rows(const struct stack *stack, enum attn_site site)
{
    const size_t first = attn_site_first_row(site, &stack->dims);
    const size_t end = attn_site_end_row(site, &stack->dims);

    if (attn_site_is_pooled(site, &stack->dims))
        return 1;
    if (attn_site_n_own_row(site, &stack->dims) > 0)
        return attn_site_n_own_row(site, &stack->dims);
    return stack->n_query - count_rowless(stack, site) -
           (first <= end && end < stack->dims.n_position && stack->queries[end] != 0);
}

/* Whether SITE of block LAYER of STACK is wanted. */
static bool wants(const struct attn_selection *selection, const struct stack *stack,
                  enum attn_site site, int layer)
{
    int number;
    const enum attn_model_stack name = attn_model_stack_of(&stack->dims, site, layer, &number);

    if (!attn_sites_have(selection->sites[attn_stack_is_encoder(name) ? ATTN_STACK_ENCODER : name],
                         site) ||
        attn_site_is_lacking(&stack->dims, site, layer))
        return false;
    if (!attn_site_is_in_layer(site)) /* wanted, unless it has no row of a chosen query */
        return (stack->n_query == 0 || count_rows(stack, site) > 0) &&
               (!attn_site_has_heads(site) || count_heads_of(stack, site, ATTN_NO_LAYER) > 0);
    if (layer < 0)
        return false;
    if (name == ATTN_STACK_DECODER && layer % 2 == 1)
        return (size_t)layer < stack->dims.n_layer && stack->after[layer] != 0;
    if (!attn_site_has_heads(site))
        return has_layer(stack, layer);
    return count_heads_of(stack, site, layer) > 0;
}

bool attn_selection_wants_block(const struct attn_selection *selection, enum attn_site site,
                                int layer)
{
    return selection && (unsigned)site < ATTN_N_SITE &&
           wants(selection, selection->stacks, site, layer);
}

bool attn_selection_wants(const struct attn_selection *selection, const struct attn_location *at)
{
    int block;
    const struct stack *stack = find_stack(selection, at, &block);

    return stack && wants(selection, stack, at->site, block);
}

void attn_selection_drop_sites(struct attn_selection *selection)
{
    struct attn_site_set kept[ATTN_STACK_CROSS + 1] = {0};
    struct attn_selection_walk walk = {0};

    assert(selection);
    while (attn_selection_next(selection, &walk))
        attn_sites_add(
            &kept[attn_stack_is_encoder(walk.at.stack) ? ATTN_STACK_ENCODER : walk.at.stack],
            walk.at.site);
    memcpy(selection->sites, kept, sizeof kept);
}

bool attn_selection_is_all_heads(const struct attn_selection *selection)
{
    bool is_all = true;

    for (size_t i = 0; i < n_stack(selection); i++) {
        const struct attn_dims *dims = &selection->stacks[i].dims;

        for (size_t layer = 0; layer < dims->n_layer; layer++)
            is_all &=
                count_heads(&selection->stacks[i], (int)layer) == attn_dims_n_head_of(dims, layer);
    }
    return is_all;
}

bool attn_selection_is_all_queries(const struct attn_selection *selection,
                                   enum attn_model_stack stack)
{
    const struct stack *s = &selection->stacks[index_of(selection, stack)];

    return s->n_query == s->dims.n_position;
}

static size_t count_kv_heads(const struct stack *stack, int layer)
{
    size_t n = 0;

    for (size_t g = 0; g < attn_dims_in(&stack->dims, layer).n_kv_head; g++)
        n += has_kv_head(stack, layer, (int)g);
    return n;
}

int attn_selection_shape(const struct attn_selection *selection, const struct attn_location *at,
                         size_t shape[3])
{
    int block;
    const struct stack *stack = find_stack(selection, at, &block);
    const struct attn_dims own = stack ? attn_dims_in(&stack->dims, block) : (struct attn_dims){0};
    const struct attn_dims *dims = stack ? &own : NULL;

    if (shape)
        shape[0] = shape[1] = shape[2] = 0;
    if (!dims || !shape)
        return 0;
    switch (attn_site_layout(at->site)) {
    case ATTN_LAYOUT_VECTOR:
        if (attn_site_shape_text(at->site)[1] == '\0') {
            shape[0] = attn_site_width(at->site, dims);
            return 1;
        }
        shape[0] = count_rows(stack, at->site);
        shape[1] = attn_site_width(at->site, dims);
        return 2;
    case ATTN_LAYOUT_PAIRS:
        shape[0] = count_rows(stack, at->site);
        shape[1] = attn_site_n_column(at->site, dims, block);
        return 2;
    case ATTN_LAYOUT_QUERY:
        shape[0] = count_rows(stack, at->site);
        shape[1] = count_heads_of(stack, at->site, block);
        break;
    case ATTN_LAYOUT_KEY:
        shape[0] = attn_site_n_key(dims, block);
        shape[1] = count_kv_heads(stack, block);
        break;
    case ATTN_LAYOUT_MATRIX:
        shape[0] = count_heads_of(stack, at->site, block);
        shape[1] = count_rows(stack, at->site);
        shape[2] = attn_site_n_key(dims, block);
        return 3;
    case ATTN_LAYOUT_HEADS:
    case ATTN_LAYOUT_RANK:
        shape[0] = count_heads_of(stack, at->site, block);
        shape[1] = attn_site_has_key_rows(at->site) ? attn_site_n_key(dims, block)
                                                    : count_rows(stack, at->site);
        if (attn_site_layout(at->site) == ATTN_LAYOUT_HEADS)
            return 2;
        break;
    }
    shape[2] = attn_site_width(at->site, dims);
    return 3;
}

bool attn_selection_has_tensor_head(const struct attn_selection *selection,
                                    const struct attn_location *at)
{
    int block;
    const struct stack *stack = find_stack(selection, at, &block);

    if (!stack || (!attn_site_is_in_layer(at->site) && !attn_site_has_heads(at->site)))
        return false;
    if (at->site == ATTN_SITE_MIXING_NORM && stack->dims.mixer->kind == ATTN_MIXER_CONV)
        return at->head == 0 && count_heads(stack, block) > 0;
    return attn_site_layout(at->site) == ATTN_LAYOUT_KEY ? has_kv_head(stack, block, at->head)
                                                         : has_head_of(stack, at, block);
}

bool attn_selection_has_place(const struct attn_selection *selection,
                              const struct attn_location *at)
{
    int block;

    return find_stack(selection, at, &block) &&
           (attn_site_is_in_layer(at->site) || at->layer == ATTN_NO_LAYER);
}

size_t attn_selection_count_heads(const struct attn_selection *selection,
                                  const struct attn_location *at)
{
    int block;
    const struct stack *stack = find_heads(selection, at, &block);

    return stack ? count_heads_of(stack, at->site, block) : 0;
}

bool attn_selection_next_head(const struct attn_selection *selection, struct attn_location *at)
{
    while (attn_dims_next_head(&selection->stacks[0].dims, at))
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
    const struct attn_dims *last = attn_selection_dims(selection);
    const struct attn_dims *encoder = last ? last->encoder : NULL;
    const size_t n_first = encoder ? (encoder->n_layer + 2) * ATTN_N_SITE : 0;
    const size_t n = last ? n_first + (last->n_layer + 2) * ATTN_N_SITE : 0;
    const struct attn_site_set chosen = last ? attn_selection_sites(selection) : none;

    while (walk && walk->next < n) {
        const bool is_first = walk->next < n_first;
        const size_t i = walk->next++ - (is_first ? 0 : n_first);

        /* Some layers lack some sites. */
        if (attn_sites_have(chosen, attn_site_order[i % ATTN_N_SITE]) &&
            find_place(is_first ? encoder : last, i, &walk->at) &&
            attn_selection_wants(selection, &walk->at))
            return true;
    }
    return false;
}

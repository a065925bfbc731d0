#include "run/layer_attention.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "formats/tensor_files_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

static size_t count_heads(const struct attn_mask_sizes *sizes)
{
    return (sizes->n_batch > 0 ? sizes->n_batch : 1) * sizes->n_head;
}

/* Whether MASK has one of the accepted shapes. *n_head is how many heads it distinguishes. */
static bool find_heads(const struct attn_mask_array *mask, const struct attn_mask_sizes *sizes,
                       size_t *n_head)
{
    const size_t *shape = mask->shape;
    const int rank = mask->rank;

    if (rank < 2 || rank > (sizes->n_batch > 0 ? 4 : 3) || shape[rank - 2] != sizes->n_query ||
        shape[rank - 1] != sizes->n_key)
        return false;
    if (rank > 2 && shape[rank - 3] != sizes->n_head)
        return false;
    if (rank > 3 && shape[0] != sizes->n_batch)
        return false;
    *n_head = rank == 2 ? 1 : rank == 3 ? sizes->n_head : count_heads(sizes);
    return true;
}

static enum attn_status refuse_shape(const struct attn_mask_array *mask,
                                     const struct attn_mask_sizes *sizes, struct attn_error *err)
{
    char found[ATTN_SHAPE_TEXT_SIZE], batched[96] = "";

    if (sizes->n_batch > 0)
        snprintf(batched, sizeof batched, " or [%zu, %zu, %zu, %zu]", sizes->n_batch, sizes->n_head,
                 sizes->n_query, sizes->n_key);
    return attn_refuse(err, ATTN_STAGE_INPUT,
                       "'%s' has the shape %s, expected a mask [%zu, %zu]%s [%zu, %zu, %zu]%s",
                       attn_quote_string(mask->name).text,
                       attn_shape_text(mask->rank, mask->shape, found), sizes->n_query,
                       sizes->n_key, sizes->n_batch > 0 ? "," : " or", sizes->n_head,
                       sizes->n_query, sizes->n_key, batched);
}

/* Reads the cells of MASK into MATRIX and *OWNED. If MASK has no batches, its cells are repeated
 * for each batch. */
static enum attn_status read_mask(const struct attn_mask_array *mask,
                                  const struct attn_mask_sizes *sizes,
                                  struct attn_mask_matrix *matrix, unsigned char **owned,
                                  struct attn_error *err)
{
    enum attn_status status;
    size_t n_head, n_copy, n_cell;

    if (!find_heads(mask, sizes, &n_head))
        return refuse_shape(mask, sizes, err);
    n_copy = n_head > 1 ? count_heads(sizes) / n_head : 1;
    n_cell = n_head * sizes->n_query * sizes->n_key;
    ATTN_TRY(ATTN_NEW(*owned, attn_alloc_uninitialized(n_copy, n_cell, err)));
    status = attn_mask_array_cells(mask, *owned, err);
    for (size_t i = 1; status == ATTN_OK && i < n_copy; i++)
        memcpy(*owned + i * n_cell, *owned, n_cell);
    *matrix = (struct attn_mask_matrix){*owned, n_head * n_copy, sizes->n_query, sizes->n_key};
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

static void change_kind(struct attn_attention *attention, const struct attn_attention *to)
{
    attention->kind = to->kind;
    attention->window = to->window;
    attention->stride = to->stride;
    attention->count = to->count;
    attention->seed = to->seed;
    attention->feature = to->feature;
    attention->is_raw = to->is_raw;
}

static void change_attention(struct attn_attention *attention,
                             const struct attn_attention_change *change)
{
    const struct attn_attention *to = &change->to;

    if (change->parts & ATTN_PART_KIND)
        change_kind(attention, to);
    if (change->parts & ATTN_PART_MASK)
        attention->mask = to->mask;
    if (change->parts & ATTN_PART_MASKING)
        attention->masking = to->masking;
    if (change->parts & ATTN_PART_SCALE)
        attention->is_scaled = to->is_scaled;
    if (change->parts & ATTN_PART_EPS)
        attention->eps = to->eps;
    if (change->parts & ATTN_PART_SIMILARITY)
        attention->similarity = to->similarity;
    if (change->parts & ATTN_PART_ALGORITHM)
        attention->algorithm = to->algorithm;
    if (change->parts & ATTN_PART_DROPOUT)
        attention->dropout = to->dropout;
    if (change->parts & ATTN_PART_DROPOUT_SEED)
        attention->dropout_seed = to->dropout_seed;
}

/* Refuses to change a scale that ATTENTION, the model's, does not have. */
static enum attn_status check_scale(const struct attn_attention *attention,
                                    const struct attn_attention_change *change,
                                    struct attn_error *err)
{
    const bool is_scaled =
        change->parts & ATTN_PART_SCALE ? change->to.is_scaled : attention->is_scaled;

    if ((change->parts & ATTN_PART_SCALE) && !attention->is_scaled && attention->factor != 1)
        attn_error_set(err, ATTN_INVALID,
                       "`scale` is for scores that are divided by sqrt(d_head), and the model "
                       "multiplies them by %g",
                       attention->factor);
    else if ((change->parts & ATTN_PART_EPS) && !is_scaled)
        attn_error_set(
            err, ATTN_INVALID,
            "`eps` is added to sqrt(d_head), and the model does not divide scores by it");
    else
        return ATTN_OK;
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status check_parts(const struct attn_attention *attention, bool is_cross,
                                    size_t n_key, struct attn_error *err)
{
    enum attn_status status = attn_attention_check(attention, is_cross, err);

    if (status != ATTN_OK && attention->kind == ATTN_ATTENTION_LOWRANK &&
        attention->mask == ATTN_MASK_CAUSAL)
        attn_error_hint(err, "`mask none` lets every query look at every key");
    ATTN_THEN(status, attn_attention_check_keys(attention, n_key, err));
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

static bool has_self(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (!config->is_cross[layer])
            return true;
    return false;
}

/* Applies the mask to the layers that it is for. Other layers see all keys. */
static enum attn_status set_mask(const struct attn_mask_array *mask,
                                 const struct attn_config *config,
                                 const struct attn_mask_sizes *sizes,
                                 struct attn_layer_attention *found, struct attn_error *err)
{
    const bool is_of_text = has_self(config);
    struct attn_mask_matrix matrix;

    ATTN_TRY(read_mask(mask, sizes, &matrix, &found->mask, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_attention *one = &found->layers[layer];

        if (config->is_cross[layer] && is_of_text)
            one->mask = ATTN_MASK_NONE;
        else
            one->matrix = matrix;
    }
    return ATTN_OK;
}

static enum attn_status check_causal(const struct attn_attention_change *change,
                                     const struct attn_config *config, struct attn_error *err)
{
    if (!change || !(change->parts & ATTN_PART_MASK) || change->to.mask != ATTN_MASK_CAUSAL ||
        has_self(config))
        return ATTN_OK;
    return attn_refuse(
        err, ATTN_STAGE_OPTIONS,
        "`mask causal` is for layers that attend to the text itself, and the model has "
        "none");
}

/* Refuses to change how masked cells are treated if none of LAYERS [n] masks any. */
static enum attn_status check_masking(const struct attn_attention_change *change,
                                      const struct attn_attention *layers, size_t n,
                                      struct attn_error *err)
{
    bool is_masked =
        !change || !(change->parts & ATTN_PART_MASKING) || change->to.masking == ATTN_MASKING_INF;

    for (size_t layer = 0; layer < n; layer++)
        is_masked = is_masked || layers[layer].mask != ATTN_MASK_NONE;
    return is_masked ? ATTN_OK
                     : attn_refuse(err, ATTN_STAGE_OPTIONS,
                                   "`masking` is for keys that a mask excludes, and each query "
                                   "looks at all keys");
}

enum attn_status attn_layer_attention_find(const struct attn_request_attention *given,
                                           const struct attn_config *config, size_t n,
                                           size_t n_source, struct attn_layer_attention *found,
                                           struct attn_error *err)
{
    const struct attn_attention_change *change = given->change;
    const struct attn_mask_sizes sizes = {0, config->n_head, n, has_self(config) ? n : n_source};

    ATTN_TRY(check_causal(change, config, err));
    ATTN_TRY(ATTN_ALLOC(found->layers, config->n_layer, err));
    memcpy(found->layers, given->layers ? given->layers : config->attention,
           config->n_layer * sizeof *found->layers);
    for (size_t layer = 0; change && layer < config->n_layer; layer++) {
        ATTN_TRY(check_scale(&found->layers[layer], change, err));
        change_attention(&found->layers[layer], change);
    }
    ATTN_TRY(check_masking(change, found->layers, config->n_layer, err));
    if (change && change->mask)
        ATTN_TRY(set_mask(change->mask, config, &sizes, found, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const bool is_cross = config->is_cross[layer];
        const size_t n_key = is_cross ? n_source : n;

        ATTN_TRY(check_parts(&found->layers[layer], is_cross, n_key, err));
        attn_attention_resolve_stride(&found->layers[layer], n_key);
    }
    return ATTN_OK;
}

static enum attn_status check_arrays(bool has_scores, const struct attn_attention *attention,
                                     const struct attn_mask_sizes *sizes, struct attn_error *err)
{
    const bool is_blockwise = attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;

    if (has_scores && (attention->kind == ATTN_ATTENTION_LINEAR ||
                       attention->kind == ATTN_ATTENTION_LOWRANK || is_blockwise))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' is made of queries and keys, not of scores",
                           is_blockwise ? "blockwise" : attn_attention_kind_name(attention->kind));
    if (attention->mask == ATTN_MASK_CAUSAL && sizes->n_query > sizes->n_key)
        return attn_refuse(
            err, ATTN_STAGE_INPUT,
            "%zu queries and %zu keys, `mask causal` wants no more queries than keys",
            sizes->n_query, sizes->n_key);
    return ATTN_OK;
}

enum attn_status attn_layer_attention_of_arrays(const struct attn_request_attention *given,
                                                bool has_scores,
                                                const struct attn_mask_sizes *sizes,
                                                struct attn_layer_attention *found,
                                                struct attn_error *err)
{
    const struct attn_attention_change *change = given->change;
    struct attn_attention *one;

    ATTN_TRY(ATTN_ALLOC(one, 1, err));
    found->layers = one;
    *one = ATTN_ATTENTION_DEFAULT;
    one->mask = ATTN_MASK_NONE;
    if (given->layers)
        *one = *given->layers;
    if (change)
        change_attention(one, change);
    ATTN_TRY(check_arrays(has_scores, one, sizes, err));
    ATTN_TRY(check_masking(change, one, 1, err));
    if (change && change->mask)
        ATTN_TRY(read_mask(change->mask, sizes, &one->matrix, &found->mask, err));
    if (change && change->keep)
        ATTN_TRY(read_mask(change->keep, sizes, &one->dropout_mask, &found->keep, err));
    ATTN_TRY(check_parts(one, false, sizes->n_key, err));
    attn_attention_resolve_stride(one, sizes->n_key);
    return ATTN_OK;
}

void attn_layer_attention_release(struct attn_layer_attention *found)
{
    attn_free(found->layers);
    attn_free(found->mask);
    attn_free(found->keep);
    *found = (struct attn_layer_attention){0};
}

/* The sites that depend on the attention, and not only on the model. */
static const enum attn_site matrix_sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
                                              ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_DROPPED,
                                              ATTN_SITE_PATTERN_LOWRANK};
enum { N_MATRIX_SITE = sizeof(matrix_sites) / sizeof(matrix_sites[0]) };

/* Returns the first of SITES that ATTENTION cannot compute; ATTN_N_SITE if it can compute all. */
static enum attn_site find_lacking(const struct attn_attention *attention,
                                   struct attn_site_set sites)
{
    for (size_t i = 0; i < N_MATRIX_SITE; i++)
        if (attn_sites_have(sites, matrix_sites[i]) &&
            attn_attention_gives(attention, matrix_sites[i]) == ATTN_GIVES_NOT)
            return matrix_sites[i];
    return ATTN_N_SITE;
}

static void note_left_out(const struct attn_attention *attention, struct attn_notes notes)
{
    const char *kind = attn_attention_kind_name(attention->kind);

    if (find_lacking(attention, ATTN_SITES(ATTN_SITE_PATTERN)) == ATTN_N_SITE)
        return;
    if (attn_attention_gives(attention, ATTN_SITE_PATTERN_LOWRANK) != ATTN_GIVES_NOT)
        attn_note(notes.on_note, notes.user, ATTN_NOTE_NO_PATTERN,
                  "'%s' has no pattern, so only z is shown; `sites pattern_lowrank,z` "
                  "shows what is in its place",
                  kind);
    else
        attn_note(notes.on_note, notes.user, ATTN_NOTE_NO_PATTERN,
                  "'%s' has no pattern, so only z is shown", kind);
}

static enum attn_status refuse_site(const struct attn_attention *attention, enum attn_site site,
                                    struct attn_error *err)
{
    const char *kind = attn_attention_kind_name(attention->kind);

    if (site == ATTN_SITE_PATTERN_DROPPED)
        return attn_error_set(err, ATTN_INVALID, "'%s' without `dropout` has no site '%s'", kind,
                              attn_site_name(site));
    attn_error_set(err, ATTN_INVALID, "'%s' has no site '%s'", kind, attn_site_name(site));
    return attn_error_hint(err, "'`attention help`' says what each kind has");
}

static enum attn_status check_sites(const struct attn_attention *attention, const char *list,
                                    struct attn_error *err)
{
    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        enum attn_site lacking;
        size_t n_stack;

        if (strcspn(item.text, "*?,") < item.size)
            continue; /* a glob selects only existing sites */
        attn_model_stack_find(item.text, &n_stack);
        lacking =
            find_lacking(attention, attn_sites_match(item.text + n_stack, item.size - n_stack));
        if (lacking != ATTN_N_SITE)
            return refuse_site(attention, lacking, err);
    }
    return ATTN_OK;
}

enum attn_status attn_layer_attention_check_sites(const struct attn_attention *attention,
                                                  const char *sites, struct attn_notes notes,
                                                  struct attn_error *err)
{
    if (!sites)
        note_left_out(attention, notes);
    return attn_error_at(check_sites(attention, sites, err), ATTN_STAGE_OPTIONS, err);
}

/* --- Pairs ----------------------------------------------------------------------------------- */

/* Returns the number of pairs in all heads of the layer of AT. */
static uint64_t count_pairs(const struct attn_attention *attention, const struct attn_dims *dims,
                            struct attn_location at)
{
    const size_t n_query = dims->n_position, n_key = attn_location_n_key(dims, &at);
    uint64_t n_pair = 0;

    at.head = 0;
    if (attention->mask != ATTN_MASK_MATRIX || attention->matrix.n_head == 1)
        return dims->n_head * attn_attention_n_pair(attention, n_query, n_key, &at);
    for (; at.head < (int)dims->n_head; at.head++)
        n_pair += attn_attention_n_pair(attention, n_query, n_key, &at);
    return n_pair;
}

/* Whether the caller chose the kind. The windows of a model itself need no note. */
static bool chooses_kind(const struct attn_request_attention *given)
{
    return given->layers || (given->change && (given->change->parts & ATTN_PART_KIND));
}

void attn_layer_attention_note_pairs(const struct attn_request_attention *given,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims, bool is_source_ordered,
                                     struct attn_notes notes)
{
    char kind[ATTN_ATTENTION_TEXT_SIZE], kept[ATTN_QUANTITY_SIZE], all[ATTN_QUANTITY_SIZE];
    uint64_t n_kept = 0, n_all = 0, n_head = 0; /* sums over all layers */
    bool is_even = true;                        /* all heads have the same number */
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    if (layers[0].kind == ATTN_ATTENTION_FULL || !chooses_kind(given) || !notes.on_note)
        return;
    while (attn_dims_next_layer(dims, &at)) {
        const struct attn_location first = attn_layer_at(dims, ATTN_SITE_PATTERN, 0);
        const bool is_cross = attn_location_is_cross(dims, &at);
        struct attn_attention one = layers[attn_location_index(&at)];

        if (is_cross && !is_source_ordered && one.mask == ATTN_MASK_CAUSAL)
            one.mask = ATTN_MASK_NONE;
        is_even =
            is_even && is_cross == attn_location_is_cross(dims, &first) && one.matrix.n_head <= 1;
        n_head += dims->n_head;
        n_kept += count_pairs(&one, dims, at);
        one.kind = ATTN_ATTENTION_FULL;
        n_all += count_pairs(&one, dims, at);
    }
    if (!is_even || n_head == 0)
        n_head = 1;
    attn_attention_text(&layers[0], kind);
    attn_note(notes.on_note, notes.user, ATTN_NOTE_PAIRS,
              "'%s' computes %s of %s pairs of a query and a key in %s", kind,
              attn_quantity_count(n_kept / n_head, kept), attn_quantity_count(n_all / n_head, all),
              is_even ? "each head" : "all heads together");
}

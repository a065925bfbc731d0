/* cost.c - see cost.h. Weights are counted as they are bound, sizes follow from the config, and the
 * memory of a session is measured by planning one. */
#include "catalog/cost.h"

#include "attention/attention_internal.h"
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "forward/session_internal.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "trace/trace_extra.h"

/* A group of weights. */
struct extent {
    uint64_t n_element, n_byte;
};

/* The sizes of the parts of a model. */
struct inventory {
    struct extent embedding, positions, attention, mlp, norms, output;
};

static void count(struct extent *extent, uint64_t n_element, enum attn_dtype dtype)
{
    extent->n_element += n_element;
    extent->n_byte += attn_dtype_n_byte(dtype, attn_size_of(n_element));
}

static void count_tensor(struct extent *extent, const struct attn_tensor *tensor)
{
    if (tensor->data)
        count(extent, attn_tensor_n_element(tensor), tensor->dtype);
}

static void count_vector(struct extent *extent, const struct attn_vector *vector)
{
    if (vector->data)
        count(extent, vector->n, vector->dtype);
}

static void count_norm(struct extent *extent, const struct attn_norm_weights *norm)
{
    count_vector(extent, &norm->w);
    count_vector(extent, &norm->b);
}

static void count_linear(struct extent *extent, const struct attn_linear *linear)
{
    if (linear->weight.data)
        count(extent, linear->weight.n_row * linear->weight.n_col, linear->weight.dtype);
    count_vector(extent, &linear->bias);
}

/* Counts the weights of MODEL. N_EXPERT: number of experts to count in layers that have some; all
 * experts have equal sizes. */
static struct inventory take_inventory(const struct attn_model *model, size_t n_expert)
{
    const struct attn_weights *weights = &model->weights;
    const struct attn_dims dims = attn_config_dims(&model->config, 1);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    struct inventory found = {.embedding = {0, 0}};

    count_tensor(&found.embedding, &weights->embed);
    count_tensor(&found.positions, &weights->positions);
    count_tensor(&found.positions, &weights->source_positions);
    count_tensor(&found.embedding, &weights->types);
    count_tensor(&found.embedding, &weights->layer_inputs);
    count_linear(&found.embedding, &weights->layer_map);
    count_norm(&found.norms, &weights->ln_layer_input);
    count_linear(&found.embedding, &weights->embed_map);
    count_linear(&found.embedding, &weights->patches);
    count_linear(&found.embedding, &weights->sound[0]);
    count_linear(&found.embedding, &weights->sound[1]);
    count_tensor(&found.attention, &weights->relative_bias);
    count_vector(&found.embedding, &weights->cls);
    count_vector(&found.embedding, &weights->registers);
    count_norm(&found.norms, &weights->ln_row);
    count_norm(&found.norms, &weights->ln_embed);
    while (attn_dims_next_layer(&dims, &at)) {
        const struct attn_block_weights *block = attn_block_at(weights, &at);

        if (attn_weights_are_shared(&model->config, attn_location_index(&at)))
            continue;
        for (size_t i = 0; i < ATTN_BLOCK_N_NORM; i++)
            count_norm(&found.norms, &block->norms[i]);
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++)
            count_linear(attn_block_linear_is_mlp(i) ? &found.mlp : &found.attention,
                         &block->linears[i]);
        count_vector(&found.attention, &block->sinks);
        count_vector(&found.attention, &block->mixer.conv);
        count_vector(&found.attention, &block->mixer.conv_bias);
        count_vector(&found.attention, &block->mixer.decay);
        count_vector(&found.attention, &block->mixer.dt_bias);
        count_vector(&found.attention, &block->mixer.skip);
        count_vector(&found.norms, &block->mixer.norm);
        count_tensor(&found.attention, &block->relative_bias);
        count_vector(&found.mlp, &block->expert_scale);
        count_vector(&found.mlp, &block->xielu[0]); /* the other two are no parameters */
        count_vector(&found.mlp, &block->xielu[1]);
        for (size_t e = 0; block->experts && e < 3 * n_expert; e++)
            count_linear(&found.mlp, &block->experts->gate + e);
    }
    count_norm(&found.norms, &weights->ln_final);
    count_norm(&found.norms, &weights->ln_head);
    if (attn_config_lacks_norm_weights(&model->config))
        found.norms = (struct extent){0}; /* these norms are all ones, which no file contains */
    count_linear(&found.output, &weights->head);
    count_linear(&found.output, &weights->projection);
    count_norm(&found.output, &weights->ln_connector);
    count_linear(&found.output, &weights->connector_merge);
    count_linear(&found.output, &weights->connector_in);
    count_linear(&found.output, &weights->connector);
    count_tensor(&found.output, &weights->logit_scale);
    if (model->config.output == ATTN_OUTPUT_OWN)
        count_linear(&found.output, &weights->unembed);
    return found;
}

/* Returns true if both stacks of MODEL share one table of tokens. */
static bool shares_embedding(const struct attn_model *model)
{
    return model->encoder->weights.embed.data == model->weights.embed.data;
}

struct attn_parameters attn_model_parameters(const struct attn_model *model)
{
    const struct attn_config *c = &model->config;
    const struct inventory found = take_inventory(model, c->n_expert);
    const struct inventory used = take_inventory(model, c->n_expert_used);
    struct attn_parameters n = {.embedding = found.embedding.n_element,
                                .positions = found.positions.n_element,
                                .attention = found.attention.n_element,
                                .mlp = found.mlp.n_element,
                                .norms = found.norms.n_element,
                                .output = found.output.n_element};

    if (model->encoder) {
        const struct attn_parameters other = attn_model_parameters(model->encoder);

        n.embedding += shares_embedding(model) ? 0 : other.embedding;
        n.positions += other.positions;
        n.attention += other.attention;
        n.mlp += other.mlp;
        n.norms += other.norms;
    }
    n.total = n.embedding + n.positions + n.attention + n.mlp + n.norms + n.output;
    n.active = n.total - found.mlp.n_element + used.mlp.n_element;
    return n;
}

uint64_t attn_encoder_parameters(const struct attn_model *model)
{
    const struct attn_parameters n = attn_model_parameters(model->encoder);

    return n.total - (shares_embedding(model) ? n.embedding : 0);
}

/* Returns the bytes of TABLE [n_row, d] that a run reads, if it reads at most N rows. */
static uint64_t row_bytes(const struct attn_tensor *table, size_t n)
{
    const size_t n_row = !table->data ? 0 : table->shape[0];
    const uint64_t n_byte = !table->data ? 0 : attn_tensor_n_byte(table);

    return n < n_row ? n_byte / n_row * n : n_byte;
}

static uint64_t find_weights(const struct attn_model *model, size_t n, size_t n_source)
{
    /* if no expert is chosen by two tokens */
    const size_t n_chosen = attn_size_mul(n, model->config.n_expert_used);
    const size_t n_expert = model->config.n_expert;
    const struct inventory found = take_inventory(model, n_chosen < n_expert ? n_chosen : n_expert);
    const bool is_whole = /* otherwise only some rows are read */
        model->config.output == ATTN_OUTPUT_TIED || model->config.image.patch_height > 0;

    return (is_whole ? found.embedding.n_byte : row_bytes(&model->weights.embed, n)) +
           row_bytes(&model->weights.positions, n) +
           row_bytes(&model->weights.source_positions, n_source) + found.attention.n_byte +
           found.mlp.n_byte + found.norms.n_byte + found.output.n_byte;
}

/* *SUM += A * B, saturated. */
static void add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    *sum = attn_saturated_add(*sum, attn_saturated_mul(a, b));
}

/* Adds the multiply-adds of MAP for N rows, unless the model lacks it. */
static void add_map(uint64_t *sum, uint64_t n, const struct attn_linear *map)
{
    if (map->weight.data)
        add_product(sum, n, attn_saturated_mul(map->weight.n_row, map->weight.n_col));
}

/* Adds the linear maps, pairs and matrix products of the layer of AT, which has N_KEY keys, of a
 * source if IS_CROSS. */
static void add_layer(const struct attn_model *model, const struct attn_location *at,
                      uint64_t n_key, bool is_cross, struct attn_cost *cost)
{
    const struct attn_config *c = &model->config;
    const struct attn_block_weights *block = attn_block_at(&model->weights, at);
    const struct attn_attention *attention = &c->attention[attn_location_index(at)];
    const struct attn_dims all = attn_config_dims(c, 1), dims = attn_location_dims(&all, at);
    const uint64_t n = cost->n_position, d_qk = c->n_head * dims.d_head,
                   d_z = c->n_head * dims.d_value;
    uint64_t n_pair, width = n; /* number of pairs of a query and a key in one head */

    for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++) {
        const struct attn_linear *linear = &block->linears[i];
        const bool is_of_key = linear == &block->k || linear == &block->v;

        add_map(attn_block_linear_is_mlp(i) ? &cost->mlp : &cost->projections,
                is_of_key ? n_key : n, linear);
    }
    if (block->experts) /* only the chosen experts */
        add_product(&cost->mlp, (c->has_plain_experts ? 2 : 3) * n * c->n_expert_used,
                    attn_config_d_routed(c) * c->d_expert);
    if (!attn_config_has_attention(c, attn_location_index(at)))
        return;
    if (attention->kind == ATTN_ATTENTION_WINDOW && attention->window < n)
        width = attention->window; /* the first `width` queries see fewer keys */
    if (attention->kind == ATTN_ATTENTION_BLOCK &&
        attn_saturated_mul(attention->count, attention->count) < n_key)
        n_key = (uint64_t)attention->count * attention->count; /* a window of a picture */
    n_pair = is_cross || attention->mask != ATTN_MASK_CAUSAL
                 ? attn_saturated_mul(n, n_key)
                 : attn_saturated_mul(width, 2 * n - width + 1) / 2;
    add_product(&cost->n_pair, n_pair, c->n_head);
    add_product(&cost->matrices, n_pair, d_qk + d_z);
}

/* Computes the multiply-adds, and the bytes of caches. */
static void find_work(const struct attn_model *model, struct attn_cost *cost)
{
    const struct attn_config *c = &model->config;
    const struct attn_weights *weights = &model->weights;
    const uint64_t n = cost->n_position, n_front = attn_image_n_front(&c->image);
    const bool is_pooled = c->pooling != ATTN_POOLING_NONE;
    const struct attn_dims dims = attn_config_dims(c, 1);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    uint64_t one;

    while (attn_dims_next_layer(&dims, &at)) {
        const bool is_cross = attn_location_is_cross(&dims, &at);
        const uint64_t n_key = is_cross ? cost->n_source : n;

        add_layer(model, &at, n_key, is_cross, cost);
        if (!attn_config_has_attention(c, attn_location_index(&at)) ||
            attn_config_shares_keys(c, attn_location_index(&at)))
            continue; /* without keys and values of their own */
        const struct attn_dims own = attn_location_dims(&dims, &at);

        one = attn_saturated_mul(n_key, (own.d_head + own.d_value) * sizeof(float));
        add_product(&cost->keys_values, one, own.n_kv_head);
        add_product(&cost->keys_values_plain, one, own.n_head);
        add_product(&cost->keys_values_multi_query, one, 1);
    }
    if (c->output != ATTN_OUTPUT_NONE)
        add_product(&cost->output, is_pooled ? 1 : n,
                    attn_saturated_mul(weights->unembed.weight.n_row, c->n_vocab));
    add_map(&cost->projections, n > n_front ? n - n_front : 0, &weights->patches);
    for (size_t i = 0; i < 2; i++) /* the first map has twice as many rows as the second */
        add_map(&cost->projections, (2 - i) * n, &weights->sound[i]);
    if (c->vision.d_feature > 0) { /* of a tower beside its decoder: all maps are of cells */
        const uint64_t n_cell = n / (c->vision.merge * c->vision.merge);

        add_map(&cost->projections, n_cell, &weights->connector);
        add_map(&cost->projections, n_cell, &weights->connector_in);
        add_map(&cost->projections, n_cell, &weights->connector_merge);
    }
    add_map(&cost->projections, n, &weights->layer_map);
    add_map(&cost->projections, n, &weights->embed_map);
    add_map(&cost->output, is_pooled ? 1 : n, &weights->head);
    add_product(&cost->output, c->d_model, c->d_projected);
}

/* Adds the work of the encoder of MODEL, which reads the source once. Call before find_work of the
 * decoder, which then overwrites the bytes of caches. */
static void add_encoder(const struct attn_model *model, struct attn_cost *cost)
{
    const size_t n = cost->n_position;

    if (!model->encoder || cost->n_source == 0)
        return;
    cost->n_position = cost->n_source;
    find_work(model->encoder, cost);
    cost->n_position = n;
    cost->weights += find_weights(model->encoder, cost->n_source, 0);
    /* the whole table is read */
    if (shares_embedding(model) && model->config.output == ATTN_OUTPUT_TIED)
        cost->weights -= row_bytes(&model->encoder->weights.embed, cost->n_source);
}

static void find_sites(const struct attn_selection *selection, struct attn_cost *cost)
{
    const struct attn_dims *dims = attn_selection_dims(selection);

    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = (enum attn_site)i;
        const bool is_in_layer = attn_site_is_in_layer(site);
        struct attn_location at = {.site = site, .layer = ATTN_NO_LAYER};

        while (attn_sites_have(dims->sites, i) &&
               (!is_in_layer || attn_dims_next_layer(dims, &at))) {
            size_t shape[3];
            const int rank = attn_selection_shape(selection, &at, shape);
            uint64_t size = (dims->mixer || dims->layers) && attn_location_is_lacking(dims, &at)
                                ? 0
                                : sizeof(float);

            for (int k = 0; k < rank; k++)
                size = attn_saturated_mul(size, shape[k]);
            cost->sites[i] = attn_saturated_add(cost->sites[i], size);
            if (!is_in_layer)
                break;
        }
    }
}

/* Never called, as the session is only measured. */
static enum attn_status ignore(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

enum attn_status attn_cost_find(const struct attn_model *model, size_t n, size_t n_source,
                                struct attn_cost *cost, struct attn_error *err)
{
    struct attn_dims dims = attn_config_dims(&model->config, n);
    struct attn_cost found = {.n_position = n,
                              .n_source = attn_config_has_cross(&model->config) ? n_source : 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_trace trace = {.on_event = ignore};
    struct attn_selection *selection = NULL;
    enum attn_status status;
    size_t n_byte = 0;

    dims.n_source = found.n_source;
    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    trace.selection = selection; /* the default sites of the command `run` */
    options.n_max = n;
    options.n_source = found.n_source;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.trace = &trace;
    status = attn_session_measure(model, &options, &n_byte, err);
    if (status == ATTN_OK) {
        found.session = n_byte;
        found.weights = find_weights(model, n, found.n_source);
        add_encoder(model, &found);
        find_work(model, &found);
        find_sites(selection, &found);
        *cost = found;
    }
    attn_selection_free(selection);
    return status;
}

/* Adds the cost of a layer with ATTENTION, whose stride is resolved. */
static void add_kind(const struct attn_config *c, const struct attn_attention *attention,
                     uint64_t n, uint64_t n_key, struct attn_kind_cost *cost)
{
    const uint64_t d_qk = c->d_head, d_v = c->d_value, width = d_qk + d_v;
    const uint64_t n_pair = attn_attention_n_pair(attention, attn_size_of(n), attn_size_of(n_key),
                                                  &(struct attn_location){0});
    uint64_t work = attn_saturated_mul(n_pair, width * c->n_head);

    /* each key is added to a state, which each query reads */
    if (attention->kind == ATTN_ATTENTION_LINEAR)
        work = attn_saturated_mul(n * c->n_head + n_key * c->n_kv_head, d_qk * (d_v + 1));
    else if (attention->kind == ATTN_ATTENTION_LOWRANK) /* keys and values are also projected */
        add_product(&work, attention->count * n_key, width * c->n_kv_head);
    add_product(&cost->n_pair, n_pair, c->n_head);
    cost->matrices = attn_saturated_add(cost->matrices, work);
}

struct attn_work attn_cost_work(const struct attn_model *model, size_t n, size_t n_source,
                                const struct attn_attention *layers)
{
    const struct attn_config *c = &model->config;
    struct attn_cost cost = {.n_position = n, .n_source = attn_config_has_cross(c) ? n_source : 0};
    struct attn_kind_cost kinds;

    add_encoder(model, &cost);
    kinds = (struct attn_kind_cost){cost.n_pair, cost.matrices};
    find_work(model, &cost);
    for (size_t layer = 0; layers && layer < c->n_layer; layer++) {
        struct attn_attention attention = layers[layer];

        if (c->is_cross[layer])
            attention.mask = ATTN_MASK_NONE;
        add_kind(c, &attention, n, c->is_cross[layer] ? cost.n_source : n, &kinds);
    }
    if (layers) {
        cost.matrices = kinds.matrices;
        cost.n_pair = kinds.n_pair;
    }
    return (struct attn_work){
        .multiply_adds = attn_saturated_add(attn_saturated_add(cost.projections, cost.matrices),
                                            attn_saturated_add(cost.mlp, cost.output)),
        .n_pair = cost.n_pair};
}

enum attn_status attn_cost_find_kind(const struct attn_model *model, const struct attn_cost *cost,
                                     const char *kind, struct attn_kind_cost *found,
                                     struct attn_error *err)
{
    const struct attn_config *c = &model->config;
    struct attn_kind_cost sum = {0}, self = {0}; /* self: cost of a layer without a source */

    for (size_t layer = 0; layer < c->n_layer; layer++) {
        const size_t n = cost->n_position, n_key = c->is_cross[layer] ? cost->n_source : n;
        struct attn_attention attention = c->attention[layer];
        struct attn_kind_cost one = {0};

        if (c->is_cross[layer])
            attention.mask = ATTN_MASK_NONE;
        ATTN_TRY(attn_attention_parse(kind, &attention, err));
        ATTN_TRY(attn_attention_check(&attention, c->is_cross[layer], err));
        ATTN_TRY(attn_attention_check_keys(&attention, n_key, err));
        attn_attention_resolve_stride(&attention, n_key);
        if (c->is_cross[layer] || self.matrices == 0)
            add_kind(c, &attention, n, n_key, &one);
        else
            one = self; /* all layers of a model have the same mask */
        if (!c->is_cross[layer])
            self = one;
        sum.n_pair = attn_saturated_add(sum.n_pair, one.n_pair);
        sum.matrices = attn_saturated_add(sum.matrices, one.matrices);
    }
    if (model->encoder && cost->n_source > 0) {
        const struct attn_cost of_source = {.n_position = cost->n_source};
        struct attn_kind_cost other;

        ATTN_TRY(attn_cost_find_kind(model->encoder, &of_source, kind, &other, err));
        sum.n_pair = attn_saturated_add(sum.n_pair, other.n_pair);
        sum.matrices = attn_saturated_add(sum.matrices, other.matrices);
    }
    *found = sum;
    return ATTN_OK;
}

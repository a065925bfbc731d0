/*
 * forward_plan.c - how far a forward pass computes, and its memory.
 *
 * Layers after the last watched tensor do not run. If that tensor is inside attention, only watched
 * heads of its layer are computed. All layers before feed the residual stream and are computed in
 * full.
 */
#include "forward/forward_internal.h"
#include "forward/logit_rows.h"

#include "trace/blocks_internal.h"

struct attn_step_place attn_plan_end(const struct attn_forward *f)
{
    struct attn_step_place end = attn_forward_place(f, ATTN_SITE_EMBED, ATTN_NO_LAYER);

    if (f->has_logits)
        return attn_forward_place(f, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    if (f->is_projected)
        end = attn_forward_place(
            f, f->model->config.is_sentence ? ATTN_SITE_SENTENCE_EMBED : ATTN_SITE_IMAGE_EMBED,
            ATTN_NO_LAYER);
    if (!f->trace)
        return end;
    for (int site = 0; site < ATTN_N_SITE; site++) {
        const size_t n = attn_site_is_in_layer((enum attn_site)site) ? f->dims.n_layer : 1;

        for (int layer = 0; layer < (int)n; layer++) {
            const struct attn_step_place place = attn_forward_place(f, (enum attn_site)site, layer);

            if (attn_selection_wants_block(f->trace->selection, place.site, layer) &&
                attn_place_compare(place, end) > 0)
                end = place;
        }
    }
    return end;
}

double attn_plan_work(const struct attn_forward *f, size_t n_row)
{
    const struct attn_dims *c = &f->dims;
    const double heads =
        (double)f->dims.n_position * (double)c->n_head * (double)(c->d_head + c->d_value);
    const double block = attn_weights_work_of_block(&f->model->weights, &f->model->config);

    return (double)n_row * (double)(f->end.layer + 1) * (block + heads);
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The largest memory needs of all linear maps of a model. */
struct linear_needs {
    size_t n_scratch; /* floats for each worker */
    size_t n_rounded; /* 16-bit numbers for a row of x */
};

static void include_linear(struct linear_needs *needs, const struct attn_forward *f,
                           const struct attn_linear *linear)
{
    if (!linear->weight.data)
        return;
    needs->n_scratch = max_size(needs->n_scratch, attn_linear_scratch(linear));
    if (f->keeps_layer)
        needs->n_scratch = max_size(needs->n_scratch, attn_linear_scratch_transposed(linear));
    needs->n_rounded = max_size(needs->n_rounded, attn_linear_rounded(linear, f->compute));
}

static struct linear_needs linear_needs(const struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    struct linear_needs needs = {0};

    for (size_t layer = 0; layer < f->dims.n_layer; layer++) {
        const struct attn_expert *expert = weights->blocks[layer].experts;

        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++)
            include_linear(&needs, f, &weights->blocks[layer].linears[i]);
        if (expert) { /* all experts have the same shape */
            include_linear(&needs, f, &expert->in);
            include_linear(&needs, f, &expert->out);
        }
    }
    for (size_t i = f->end.site == ATTN_SITE_LOGITS || f->keeps_layer ? 0 : 1;
         i < ATTN_MODEL_N_LINEAR; i++) /* skips unembed, which is the first */
        include_linear(&needs, f, &weights->linears[i]);
    for (size_t i = 0; i < f->model->sentence.n_step; i++)
        include_linear(&needs, f, &f->model->sentence.steps[i].map);
    return needs;
}

static void plan_heads(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_trace *trace = f->trace;
    const struct attn_selection *selection = trace ? trace->selection : NULL;
    struct attn_heads_sizes sizes = {.shape = f->shape,
                                     .n_head = f->dims.n_head,
                                     .n_kv_head = f->dims.n_kv_head,
                                     .n_query = f->n_feed_row,
                                     .n_key = f->shape.n_max,
                                     .n_worker = f->n_worker};
    /* SoLU needs one row, its backward pass three. */
    const size_t n_solu = f->model->config.has_solu ? 3 * f->dims.d_mlp : 0;
    struct attn_heads_needs needs = {.n_scratch = max_size(linear_needs(f).n_scratch, n_solu)};

    for (size_t layer = 0; layer < f->dims.n_layer; layer++) {
        const struct attn_location at = attn_layer_at(&f->dims, ATTN_SITE_PATTERN, layer);

        sizes.shape = attn_forward_shape(f, layer); /* narrow heads may need more than wide ones */
        attn_heads_needs_include(&needs, &sizes, &f->attention[layer],
                                 attn_forward_watched_matrices(f, (int)layer),
                                 attn_selection_count_heads(selection, &at));
    }
    attn_heads_plan(&f->heads, arena, &sizes, &needs);
}

static float *take_floats(struct attn_arena *arena, size_t n_row, size_t n_col)
{
    /* if the product overflows, it also exceeds the arena, which reports that */
    return attn_arena_take(arena, n_row, n_col * sizeof(float));
}

/* Plans buffers that share memory. q, k, v and z are not needed after the MLP begins, so its rows
 * use their memory, unless a backward pass will read all of them. Patches are not needed after the
 * layers begin. */
static void plan_shared(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_dims *c = &f->dims;
    const size_t n = f->n_feed_row, n_key = max_size(n, f->dims.n_source);
    const size_t d_q = c->n_head * c->d_head, d_k = c->n_kv_head * c->d_head;
    const size_t d_v = c->n_kv_head * c->d_value, d_z = c->n_head * c->d_value;
    const size_t n_head_float = n * (d_q + d_z) + n_key * (d_k + d_v);
    const size_t n_mlp = f->model->config.has_gated_mlp ? 2 : 1;
    const size_t n_mlp_float =
        max_size(n_mlp * n * c->d_mlp, n * f->model->config.d_layer_input); /* its gate, too */
    const size_t n_layer_float =
        f->keeps_layer ? n_head_float + n_mlp_float : max_size(n_head_float, n_mlp_float);
    const size_t n_patch_float = n * f->model->weights.patches.weight.n_row;
    float *shared = take_floats(arena, 1, max_size(n_layer_float, n_patch_float));

    if (!shared) /* the arena is only measuring */
        return;
    f->q = f->patches = shared;
    f->mlp = f->keeps_layer ? shared + n_head_float : shared;
    f->mlp_linear = f->mlp + n * c->d_mlp;
    f->k = f->q + n * d_q;
    f->v = f->k + n_key * d_k;
    f->z = f->v + n_key * d_v;
}

static void plan_experts(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_config *c = &f->model->config;
    const size_t n = c->n_expert > 0 ? f->n_feed_row : 0;
    const size_t width = max_size(attn_config_widest_mlp(c), c->n_expert);
    const size_t widest = max_size(c->d_model, c->d_latent);

    f->router = take_floats(arena, n, c->n_expert);
    f->expert_weights = take_floats(arena, n, c->n_expert);
    f->expert_indices = take_floats(arena, n, c->n_expert_used);
    f->expert_rows = attn_arena_take(arena, n, sizeof *f->expert_rows);
    f->expert_x = take_floats(arena, n, widest);
    f->expert_y = take_floats(arena, n, widest);
    f->latent = take_floats(arena, n, c->has_expert_norms ? c->d_model : 2 * c->d_latent);
    f->expert_g = take_floats(arena, n, width);
    f->expert_u = take_floats(arena, n, width);
    f->sinks = take_floats(arena, c->has_sinks ? f->n_feed_row : 0, c->n_head);
}

size_t attn_mixer_n_past(const struct attn_forward *f)
{
    const struct attn_mixer_dims *c = f->dims.mixer;
    bool is_watched = false;

    for (size_t layer = 0; layer < f->dims.n_layer && f->trace; layer++)
        for (enum attn_site site = ATTN_SITE_MIXING; site <= ATTN_SITE_MIXING_NORM; site++)
            is_watched =
                is_watched || attn_selection_wants_block(f->trace->selection, site, (int)layer);
    if (!is_watched)
        return 0;
    return c->n_head * (c->kind == ATTN_MIXER_CONV ? 2 * c->d_key : c->d_key + 3);
}

static void plan_mixer(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_mixer_dims *c = config->mixer;
    const size_t n = f->n_feed_row;
    const size_t n_slot =
        f->is_rewindable ? attn_config_n_layer_of(config, true, config->n_layer) : 1;

    f->gate = take_floats(arena, config->has_attn_gate ? n : 0, config->n_head * config->d_value);
    f->beside = take_floats(arena, attn_config_mixes_beside(config) ? n : 0, config->d_model);
    if (!c)
        return;
    const size_t n_gated = c->kind == ATTN_MIXER_CONV ? 0 : n, n_past = attn_mixer_n_past(f);

    f->mixer.in = take_floats(arena, n, attn_mixer_d_in(c));
    f->mixer.u = take_floats(arena, n, attn_mixer_d_conv(c));
    f->mixer.q = take_floats(arena, n, c->n_head * c->d_key);
    f->mixer.k = take_floats(arena, n, c->n_head * c->d_key);
    f->mixer.v = take_floats(arena, n, c->n_head * c->d_value);
    f->mixer.z = take_floats(arena, n, c->n_head * c->d_value);
    f->mixer.gate = take_floats(arena, n_gated, c->n_head * c->d_value);
    f->mixer.decay = take_floats(arena, n_gated, c->n_head);
    f->mixer.beta = take_floats(arena, n_gated, c->n_head);
    f->mixer.state = take_floats(arena, n_slot, attn_mixer_n_state(c));
    f->mixer.past = take_floats(arena, attn_size_mul(n_slot, f->dims.n_position), n_past);
    f->mixer.cells = take_floats(arena, n_past > 0 ? n : 0, max_size(f->dims.n_position, c->n_tap));
    f->mixer.rests = take_floats(arena, n_past > 0 ? (size_t)f->n_worker : 0, c->d_key);
}

/* Returns the width of the widest row of a norm or of positions in the model. */
static size_t widest_row(const struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    size_t widest = max_size(f->dims.d_model, f->model->config.d_embed);

    widest = max_size(widest, weights->ln_layer_input.w.n);
    widest = max_size(widest, f->model->sentence.most);
    if (f->model->config.source_positions == ATTN_POSITIONS_LEARNED)
        widest = max_size(widest, f->model->config.d_source);
    for (size_t layer = 0; layer < f->dims.n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_NORM; i++)
            widest = max_size(widest, weights->blocks[layer].norms[i].w.n);
    return widest;
}

/* Plans one table for each rope that differs from the ropes of earlier layers. */
static void plan_rotary(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_config *config = &f->model->config;
    const size_t n_layer = config->positions == ATTN_POSITIONS_ROTARY ? config->n_layer : 0;
    const bool needs_places = n_layer > 0 && config->rope[0].is_centred && !f->positions.numbers;
    bool depends = config->mixer || config->stream; /* rows may have to be made again */

    for (size_t i = 0; i < n_layer; i++)
        depends =
            depends || config->rope[i].long_divisors || config->rope[i].type == ATTN_ROPE_DYNAMIC;
    f->ids = depends ? attn_arena_take(arena, f->dims.n_position, sizeof *f->ids) : NULL;
    f->places =
        needs_places ? attn_arena_take(arena, 3, f->dims.n_position * sizeof *f->places) : NULL;
    f->rotaries = attn_arena_take(arena, n_layer, sizeof *f->rotaries);
    f->n_rotary = 0;
    for (size_t layer = 0; layer < n_layer; layer++) {
        const size_t n_pair = config->rope[layer].d_rotary / 2, n = f->n_feed_row;
        struct attn_rotary rotary = {.rope = &config->rope[layer], .positions = f->positions};
        size_t same = 0; /* the first layer with this rope */

        while (same < layer && !attn_rope_is_same(&config->rope[same], rotary.rope))
            same++;
        if (same < layer)
            continue;
        rotary.frequencies = take_floats(arena, rotary.rope->long_divisors ? 2 : 1, n_pair);
        rotary.cosines = take_floats(arena, n, n_pair);
        rotary.sines = take_floats(arena, n, n_pair);
        if (rotary.rope->query_growth > 0)
            rotary.query_factors = take_floats(arena, n, 1);
        if (!f->rotaries) /* the arena is only measuring */
            continue;
        attn_rope_find_frequencies(rotary.rope, 0, rotary.frequencies);
        if (rotary.rope->long_divisors)
            attn_rope_find_frequencies(rotary.rope, SIZE_MAX, rotary.frequencies + n_pair);
        f->rotaries[f->n_rotary++] = rotary;
    }
}

/* Returns the largest number of places that a sequence needs. */
static size_t count_places(const struct attn_forward *f)
{
    const size_t n = f->model->config.places.n, n_distance = 2 * f->dims.n_position - 1;

    return n < n_distance ? n : n_distance;
}

/* Plans the memory for places, for the longest sequence. */
static void plan_places(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_place_config *config = &f->model->config.places;
    const struct attn_dims *c = &f->dims;
    const size_t n = count_places(f), ld = c->n_head * c->d_head;
    const size_t n_product =
        c->n_position * attn_round_up(n, ATTN_PANEL) + n * attn_round_up(c->n_position, ATTN_PANEL);
    const size_t n_conv_row = config->n_conv > 0 ? f->n_feed_row : 0;

    f->place_rows = attn_arena_take(arena, n > 0 ? 2 * c->n_position : 0, sizeof *f->place_rows);
    f->place_table = take_floats(arena, n, c->d_model);
    f->place_keys = take_floats(arena, n, ld);
    f->place_queries = take_floats(arena, n, ld);
    f->place_products = take_floats(arena, n > 0 ? c->n_head : 0, n_product);
    f->place_cells = take_floats(arena, n > 0 ? c->n_position : 0, ATTN_QUERY_TILE);
    f->place_panels = take_floats(arena, n > 0 ? (size_t)f->n_worker : 0, c->d_head * ATTN_PANEL);
    f->conv_input = take_floats(arena, n_conv_row, c->d_model);
    f->conv_rows = take_floats(arena, n_conv_row, c->d_model * config->n_conv);
    if (n_conv_row == 0)
        f->conv_input = NULL;
}

/* Plans the inputs of layers, and the rows of keys and values that later layers attend to. */
static void plan_layers(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_config *config = &f->model->config;
    const size_t n = f->n_feed_row, width = config->d_layer_input;
    bool is_shared[ATTN_MAX_LAYER] = {false};
    size_t n_shared = 0;

    f->stream = config->stream ? take_floats(arena, config->stream->size(config, n), 1) : NULL;
    f->layer_inputs = take_floats(arena, n, config->n_layer * width);
    f->layer_rows = take_floats(arena, n, width);
    f->layer_table = take_floats(arena, (size_t)f->n_worker, config->n_layer * width);
    if (width == 0)
        f->layer_inputs = NULL;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (attn_config_shares_keys(config, layer))
            is_shared[config->layer_dims[layer].kv_layer] = true, n_shared++;
    f->shared = attn_arena_take(arena, n_shared > 0 ? config->n_layer : 0, sizeof *f->shared);
    for (size_t layer = 0; layer < config->n_layer && n_shared > 0; layer++) {
        const size_t d = config->layer_dims[layer].n_kv_head * config->layer_dims[layer].d_head;
        float *k = is_shared[layer] ? take_floats(arena, n, d) : NULL;
        float *v = is_shared[layer] ? take_floats(arena, n, d) : NULL;

        if (f->shared)
            f->shared[layer] = (struct attn_shared_rows){k, v};
    }
    if (n_shared == 0)
        f->shared = NULL;
}

/* Plans the KV cache, each head with a state of N_STATE floats. */
static void plan_caches(struct attn_forward *f, struct attn_arena *arena, size_t n_state)
{
    const struct attn_config *config = &f->model->config;

    f->kv = attn_arena_take(arena, config->n_layer, sizeof(struct attn_kv *));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_head_shape shape = attn_forward_shape(f, layer);
        const bool has_none = !attn_config_has_attention(config, layer);
        const size_t first = has_none ? layer : attn_forward_cache_layer(f, layer);
        struct attn_kv *kv = NULL;

        if (first == layer && !has_none)
            kv = attn_kv_plan(arena, &shape, attn_config_layer_dims(config, layer).n_kv_head,
                              n_state);
        if (f->kv)
            f->kv[layer] = first < layer ? f->kv[first] : kv;
    }
}

void attn_plan_memory(struct attn_forward *f, struct attn_arena *arena)
{
    const struct attn_dims *c = &f->dims;
    const bool has_final = f->has_logits || attn_forward_pools(f);
    const size_t n = f->n_feed_row,
                 n_run = (size_t)(f->end.layer + 1); /* layers that run, at most */
    const size_t d_stream =
        max_size(c->d_model, f->model->config.d_embed); /* the embedding is stored there first */
    size_t n_state = 0; /* floats of the largest state of linear attention */
    bool has_dropout = false;

    for (size_t layer = 0; layer < c->n_layer; layer++) {
        n_state = max_size(n_state, attn_heads_state_size(&f->attention[layer], &f->shape));
        has_dropout = has_dropout || f->attention[layer].dropout > 0;
    }
    f->parts = attn_arena_take(arena, f->n_sequence, sizeof *f->parts);
    f->dropouts = has_dropout ? attn_arena_take(arena, f->n_sequence, sizeof *f->dropouts) : NULL;
    f->source = take_floats(arena, f->dims.n_source, f->model->config.d_source);
    f->resid = take_floats(arena, n, d_stream);
    f->normed = take_floats(arena, n, d_stream);
    plan_shared(f, arena);
    f->out = take_floats(arena, n, max_size(d_stream, c->d_out));
    plan_experts(f, arena);
    plan_mixer(f, arena);
    plan_layers(f, arena);
    f->rounded = attn_arena_take(arena, max_size(max_size(n, count_places(f)), f->dims.n_source),
                                 linear_needs(f).n_rounded * sizeof(uint16_t));
    f->vectors = take_floats(arena, 2, widest_row(f));
    plan_rotary(f, arena);
    f->projected = take_floats(arena, f->is_projected ? f->n_sequence : 0, c->d_projected);
    f->gathered = take_floats(
        arena, f->is_projected ? f->n_sequence : 0,
        max_size(c->d_model, (f->model->sentence.n_step + 1) * f->model->sentence.most));
    if (f->is_projected && f->model->config.pool_head)
        f->pool_rows = take_floats(arena, 1, f->model->config.pool_head->size(f, n));
    f->n_logit_row =
        attn_forward_watches(f, ATTN_SITE_LOGITS) ? attn_logit_rows_at_once(c->n_vocab, n) : 0;
    f->logits = take_floats(arena, f->n_logit_row, c->n_vocab);
    f->final = take_floats(arena,
                           !has_final     ? 0
                           : c->is_pooled ? f->n_sequence
                                          : c->n_position,
                           f->model->weights.unembed.weight.n_row);
    f->last_logits = take_floats(arena, f->has_logits, c->n_vocab);
    f->weight_buffer.capacity = attn_weight_buffer_size(
        &f->weight_buffer, f->model, n_run < c->n_layer ? n_run : c->n_layer,
        f->end.site == ATTN_SITE_LOGITS || f->keeps_layer);
    f->weight_buffer.bytes = attn_arena_take(arena, f->weight_buffer.capacity, 1);
    plan_places(f, arena);
    plan_heads(f, arena);
    plan_caches(f, arena, n_state);
}

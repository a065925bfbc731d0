/*
 * model_init_draw.c - makes the weights: allocates all tensors, and draws them group by group.
 *
 * A matrix in memory is [n_block][in][width], with a block for each head or one block, or it is
 * transposed, [out][in]. Numbers are drawn in the order of PyTorch's layers: nn.Linear holds [out,
 * in], and all heads in one layer. Other numbers are drawn in the order of memory, one matrix for
 * each head.
 */
#include "drawn/model_init_internal.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double gpt2_deviation = 0.02; /* initializer_range of GPT-2 */

enum {
    PIECE = 1 << 16,       /* numbers of a table that are drawn at a time; a multiple of 16 */
    MAX_DROPPED = 1 << 28, /* most numbers that are drawn and dropped; takes some seconds */
    MAX_PERMUTED = 1 << 24 /* largest n for which float32 holds each integer exactly */
};

struct drawer {
    const struct attn_made_weights *weights;
    const struct attn_config *config;
    struct attn_random random;
    size_t n_embedding_row; /* number of rows to draw, at least n_vocab */
};

/* A matrix, or one head's part of it, and its bias. */
struct drawn_map {
    float *data;
    float *bias; /* [n_block * width]; NULL: it has none */
    size_t n_block, in, width;
    bool is_out_in;
    bool ends_branch; /* its output is added to the residual stream */
};

#define ATTN_DRAW_NONE ATTN_N_DRAW_GROUP /* norms are not drawn, buffers are not made */

/* The group that each part of the weights belongs to. */
static const enum attn_draw_group groups[] = {
#define PART_GROUP(id, group, need, is_so) [ATTN_PART_##id] = ATTN_DRAW_##group,
    ATTN_WEIGHT_PART_MAP(PART_GROUP)
#undef PART_GROUP
};

static const char *const group_names[] = {
#define GROUP_NAME(name, text) text,
    ATTN_DRAW_GROUP_MAP(GROUP_NAME)
#undef GROUP_NAME
};

static bool is_vector(const struct attn_made_weight *weight)
{
    return weight->spec->rule->kind == ATTN_WEIGHT_VECTOR || weight->spec->rank == 1;
}

static enum attn_status allocate_tensors(struct attn_made_weights *weights, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(weights->items, weights->n, err));
    for (size_t i = 0; i < weights->n; i++) {
        struct attn_made_weight *weight = &weights->items[i];

        weight->spec = &weights->specs[i];
        weight->n = 1;
        for (int k = 0; k < weight->spec->rank; k++)
            if (!attn_checked_mul(weight->n, weight->spec->shape[k], &weight->n))
                return attn_error_no_memory(err);
        ATTN_TRY(ATTN_ALLOC(weight->data, weight->n, err));
    }
    return ATTN_OK;
}

void attn_made_weights_release(struct attn_made_weights *weights)
{
    for (size_t i = 0; i < weights->n && weights->items; i++)
        attn_free(weights->items[i].data);
    attn_free(weights->items);
    attn_free(weights->specs);
    *weights = (struct attn_made_weights){0};
}

static struct drawn_map map_of(const struct attn_made_weight *weight, float *bias)
{
    const struct attn_weight_rule *rule = weight->spec->rule;
    const size_t *shape = weight->spec->shape;
    const size_t last = shape[weight->spec->rank - 1];
    struct drawn_map map = {.data = weight->data, .bias = bias, .n_block = 1};

    map.is_out_in = rule->kind == ATTN_WEIGHT_OUT_IN || rule->kind == ATTN_WEIGHT_QKV_HEADS;
    if (rule->kind == ATTN_WEIGHT_HEADS) {
        map.n_block = shape[0];
        map.in = shape[1];
        map.width = last;
    } else {
        map.in = map.is_out_in ? last : weight->n / last;
        map.width = weight->n / map.in;
    }
    map.ends_branch = rule->part == ATTN_PART_OUT_PROJ ||
                      (rule->part == ATTN_PART_MLP &&
                       rule->offset == offsetof(struct attn_block_weights, mlp_out.weight));
    return map;
}

/* Draws a matrix as nn.Linear does, [out, in] and then the bias, and stores the weights in the
 * order of memory. */
static enum attn_status draw_linear(struct drawer *drawer, const struct drawn_map *map,
                                    struct attn_error *err)
{
    const size_t in = map->in, width = map->width, out = map->n_block * width;
    float *drawn;

    if (map->is_out_in) {
        attn_random_fill_linear(&drawer->random, map->data, map->bias, out, in);
        return ATTN_OK;
    }
    ATTN_TRY(ATTN_NEW(drawn, attn_alloc_uninitialized(out * in, sizeof *drawn, err)));
    attn_random_fill_linear(&drawer->random, drawn, map->bias, out, in);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            map->data[(o / width * in + i) * width + o % width] = drawn[o * in + i];
    attn_free(drawn);
    return ATTN_OK;
}

static enum attn_status draw_permutation(struct drawer *drawer, float *data, size_t n,
                                         struct attn_error *err)
{
    size_t *order;

    if (n > MAX_PERMUTED)
        return attn_error_set(err, ATTN_INVALID,
                              "randperm draws %zu numbers, expected at most %d, which float32 "
                              "tells apart",
                              n, MAX_PERMUTED);
    ATTN_TRY(ATTN_NEW(order, attn_alloc_uninitialized(n, sizeof *order, err)));
    attn_random_permutation(&drawer->random, order, n);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)order[i];
    attn_free(order);
    return ATTN_OK;
}

static enum attn_status draw_block(struct drawer *drawer, const struct attn_draw *draw, float *data,
                                   size_t n, bool ends_branch, struct attn_error *err)
{
    double deviation = draw->deviation;

    if (draw->distribution == ATTN_DISTRIBUTION_RANDPERM)
        return draw_permutation(drawer, data, n, err);
    if (draw->distribution == ATTN_DISTRIBUTION_RAND) {
        attn_random_fill_uniform(&drawer->random, data, n, 0, 1);
        return ATTN_OK;
    }
    if (draw->distribution == ATTN_DISTRIBUTION_GPT2)
        deviation = ends_branch ? gpt2_deviation / sqrt(2 * (double)drawer->config->n_layer)
                                : gpt2_deviation;
    attn_random_fill_normal(&drawer->random, data, n, (float)draw->mean, (float)deviation);
    return ATTN_OK;
}

static enum attn_status draw_map(struct drawer *drawer, const struct attn_draw *draw,
                                 const struct drawn_map *map, struct attn_error *err)
{
    const size_t n = map->in * map->width;

    if (draw->distribution == ATTN_DISTRIBUTION_LINEAR)
        return draw_linear(drawer, map, err);
    for (size_t i = 0; i < map->n_block; i++)
        ATTN_TRY(draw_block(drawer, draw, map->data + i * n, n, map->ends_branch, err));
    return ATTN_OK;
}

/* Draws the table of embeddings. More rows may be drawn than are kept, because the numbers of a
 * table depend on its length. Whole blocks of 16 numbers are drawn piece by piece into the same
 * memory. Only the last piece may have another size, because its end is drawn again
 * (base/random.h). A permutation is drawn as one piece. */
static enum attn_status draw_embedding(struct drawer *drawer, const struct attn_draw *draw,
                                       const struct attn_made_weight *weight,
                                       struct attn_error *err)
{
    const size_t n = drawer->n_embedding_row * drawer->config->d_model;
    const bool is_whole = draw->distribution == ATTN_DISTRIBUTION_RANDPERM;
    const size_t room = is_whole || n < 2 * (size_t)PIECE ? n : 2 * (size_t)PIECE;
    float *drawn;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_NEW(drawn, attn_alloc_uninitialized(room, sizeof *drawn, err)));
    for (size_t at = 0, size; at < n && status == ATTN_OK; at += size) {
        size = n - at > room ? PIECE : n - at;
        status = draw_block(drawer, draw, drawn, size, false, err);
        if (status == ATTN_OK && at < weight->n)
            memcpy(weight->data + at, drawn,
                   (size < weight->n - at ? size : weight->n - at) * sizeof *drawn);
    }
    attn_free(drawn);
    return status;
}

/* Returns the bias of weight I, which is the next item of the list; NULL: it has none. */
static float *bias_of(const struct attn_made_weights *weights, size_t i)
{
    const struct attn_made_weight *next = &weights->items[i] + 1;

    return i + 1 < weights->n && is_vector(next) &&
                   groups[next->spec->rule->part] == groups[weights->items[i].spec->rule->part]
               ? next->data
               : NULL;
}

/* Draws W_Q, W_K and W_V, which begin at weight FIRST, head by head. */
static enum attn_status draw_heads(struct drawer *drawer, const struct attn_draw *draw,
                                   size_t first, struct attn_error *err)
{
    struct drawn_map maps[3];
    size_t n = 0;

    for (size_t i = first; n < 3; i++)
        if (!is_vector(&drawer->weights->items[i]))
            maps[n++] = map_of(&drawer->weights->items[i], bias_of(drawer->weights, i));
    for (size_t head = 0; head < drawer->config->n_head; head++)
        for (size_t i = 0; i < 3; i++) {
            struct drawn_map part = maps[i];

            if (head >= part.n_block)
                continue; /* there may be fewer heads of keys and values */
            part.n_block = 1;
            part.data += head * part.in * part.width;
            part.bias = part.bias ? part.bias + head * part.width : NULL;
            ATTN_TRY(draw_map(drawer, draw, &part, err));
        }
    return ATTN_OK;
}

static enum attn_status draw_group(struct drawer *drawer, const struct attn_draw *draw,
                                   struct attn_error *err)
{
    const bool is_by_head = draw->group == ATTN_DRAW_HEADS;
    const enum attn_draw_group group = is_by_head ? ATTN_DRAW_QKV : draw->group;

    if (draw->has_seed)
        attn_random_seed(&drawer->random, draw->seed);
    for (size_t i = 0; i < drawer->weights->n; i++) {
        const struct attn_made_weight *weight = &drawer->weights->items[i];

        if (groups[weight->spec->rule->part] != group || is_vector(weight))
            continue;
        if (group == ATTN_DRAW_EMBED) {
            ATTN_TRY(draw_embedding(drawer, draw, weight, err));
        } else if (!is_by_head) {
            const struct drawn_map map = map_of(weight, bias_of(drawer->weights, i));

            ATTN_TRY(draw_map(drawer, draw, &map, err));
        } else if (weight->spec->rule->offset == offsetof(struct attn_block_weights, q.weight)) {
            ATTN_TRY(draw_heads(drawer, draw, i, err));
        }
    }
    return ATTN_OK;
}

static enum attn_status check_draw(const struct drawer *drawer, const struct attn_draw *draw,
                                   bool is_drawn[ATTN_N_DRAW_GROUP], struct attn_error *err)
{
    const enum attn_draw_group group = draw->group == ATTN_DRAW_HEADS ? ATTN_DRAW_QKV : draw->group;
    const char *name = group_names[draw->group];
    const bool is_table = group == ATTN_DRAW_EMBED || group == ATTN_DRAW_POS;
    bool has_group = false, has_heads = false; /* W_Q, W_K and W_V have a matrix for each head */

    for (size_t i = 0; i < drawer->weights->n; i++) {
        const struct attn_weight_rule *rule = drawer->weights->items[i].spec->rule;

        has_group |= groups[rule->part] == group;
        has_heads |= rule->kind == ATTN_WEIGHT_HEADS;
    }
    if (!has_group)
        return attn_error_set(err, ATTN_INVALID, "'%s' is drawn, but the model has no such weights",
                              name);
    if (is_drawn[group])
        return attn_error_set(err, ATTN_INVALID, "the weights of '%s' are drawn twice", name);
    if (is_table && draw->distribution == ATTN_DISTRIBUTION_LINEAR)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' is a table without inputs, and linear needs their number, "
                              "expected another distribution",
                              name);
    if (draw->group == ATTN_DRAW_HEADS && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "model_type '%s' has q, k and v of all heads in one matrix, expected "
                              "'qkv' instead of 'heads'",
                              drawer->config->model_type);
    is_drawn[group] = true;
    return ATTN_OK;
}

/* Draws the groups that OPTIONS name, then the others. */
static enum attn_status draw_all(struct drawer *drawer, const struct attn_init_options *options,
                                 struct attn_error *err)
{
    /* True, because qkv draws the same weights. */
    bool is_drawn[ATTN_N_DRAW_GROUP] = {[ATTN_DRAW_HEADS] = true};

    for (size_t i = 0; i < options->n_draw; i++)
        ATTN_TRY(check_draw(drawer, &options->draws[i], is_drawn, err));
    for (size_t i = 0; i < options->n_draw; i++)
        ATTN_TRY(draw_group(drawer, &options->draws[i], err));
    for (int group = 0; group < ATTN_N_DRAW_GROUP; group++) {
        const struct attn_draw draw = {.group = (enum attn_draw_group)group,
                                       .distribution = ATTN_DISTRIBUTION_GPT2};

        if (!is_drawn[group])
            ATTN_TRY(draw_group(drawer, &draw, err));
    }
    return ATTN_OK;
}

enum attn_status attn_made_weights_draw(struct attn_made_weights *weights,
                                        const struct attn_config *config, bool with_biases,
                                        const struct attn_init_options *options,
                                        struct attn_error *err)
{
    const size_t n_kept = config->n_token, largest = n_kept + MAX_DROPPED / config->d_model;
    const size_t n_row = options->n_embedding_row > 0 ? options->n_embedding_row : n_kept;
    struct drawer drawer = {.weights = weights, .config = config, .n_embedding_row = n_row};

    ATTN_TRY(attn_weights_describe(config, with_biases, &weights->specs, &weights->n, err));
    ATTN_TRY(allocate_tensors(weights, err));
    for (size_t i = 0; i < weights->n && !attn_norm_adds_one(config->norm); i++) {
        const struct attn_made_weight *weight = &weights->items[i];

        /* Weights of norms, as ln1.w and ln_1.weight, become 1; biases such as ln1.b stay 0. */
        if (groups[weight->spec->rule->part] == ATTN_DRAW_NONE &&
            strrchr(weight->spec->name, '.')[1] == 'w')
            for (size_t j = 0; j < weight->n; j++)
                weight->data[j] = 1;
    }
    if (n_row < n_kept)
        return attn_error_set(
            err, ATTN_INVALID,
            "embedding rows to draw are %zu, expected %zu or more, one for each token", n_row,
            n_kept);
    if (n_row > largest)
        return attn_error_set(err, ATTN_INVALID,
                              "embedding rows to draw are %zu, expected at most %zu, of which %zu "
                              "are kept",
                              n_row, largest, n_kept);
    attn_random_seed(&drawer.random, options->seed);
    return draw_all(&drawer, options, err);
}

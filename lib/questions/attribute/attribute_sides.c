/*
 * attribute_sides.c - what each writer of the stream adds to the queries and to the keys of a score
 * (attribute_sides.h).
 *
 * A map A [D, E] leads from the stream to a query or a key: the weights of the norm, the mean taken
 * off, the map of the head. Writers as wide as the stream are multiplied by A. For a head the
 * product of W_O and A is computed once, unless there are few positions.
 */
#include "attribute/attribute_sides.h"

#include "base/pool_internal.h"
#include "forward/rotary.h"
#include "gradient/backward.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "run/run_pass.h"
#include "trace/capture.h"
#include "trials/readout.h"

#include <math.h>
#include <string.h>

const char attn_pair_attn_norm_bias[] = "attn_norm_bias",
           attn_pair_mlp_norm_bias[] = "mlp_norm_bias";

/* Returns the recorded rows of SITE in the layer of AT; NULL if it has none. */
static const float *kept(const struct attn_pair_split *split, enum attn_site site,
                         const struct attn_location *at)
{
    struct attn_location own;

    return attn_location_find(split->stack.dims, at, site, &own)
               ? attn_capture_tensor(split->frame.capture, &own)
               : NULL;
}

/* Returns the recorded embeddings; NULL if there are none. */
static const float *kept_embeddings(const struct attn_pair_split *split)
{
    return kept(split, ATTN_SITE_EMBED, &(struct attn_location){.layer = ATTN_NO_LAYER});
}

/* --- Maps and scales -------------------------------------------------------------------------- */

/* Computes C [m, n] = A [m, k] B [k, n]. */
static void multiply(const double *a, const double *b, size_t m, size_t k, size_t n, double *c)
{
    memset(c, 0, m * n * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < k; j++) {
            const double x = a[i * k + j], *row = b + j * n;

            for (size_t e = 0; e < n; e++)
                c[i * n + e] += x * row[e];
        }
}

/* Reads the map of SIDE's head, W [D, E], into side->stream. ROW [D] is scratch. */
static void read_map(const struct attn_pair_split *split, struct attn_pair_side *side, double *row)
{
    const size_t d = split->stack.config->d_model, width = split->stack.config->d_head;

    for (size_t e = 0; e < width; e++) {
        const size_t column = side->head * width + e;

        if (side->map->weight.data)
            attn_matrix_column(&side->map->weight, column, row);
        for (size_t i = 0; i < d; i++) /* without a map heads read separate parts of the stream */
            side->stream[i * width + e] = side->map->weight.data ? row[i] : i == column;
    }
}

/* Copies row R of SIDE of a site with N_HEAD heads [n_head, n_row, E] to X [n_head, E]. */
static void copy_heads(const struct attn_pair_split *split, const struct attn_pair_side *side,
                       enum attn_site site, size_t r, size_t n_head, double *x)
{
    const size_t width = split->stack.config->d_head;
    const float *found = kept(split, site, &split->at);

    for (size_t i = 0; i < n_head * width; i++)
        x[i] = (double)found[(i / width * side->n_row + side->rows[r]) * width + i % width];
}

/* Rotates X [E], a query or a key at position ROW. */
static void rotate(const struct attn_pair_split *split, size_t row, double *x)
{
    const struct attn_rope *rope = split->rotary.rope;
    const size_t n = rope ? rope->d_rotary / 2 : 0;

    for (size_t i = 0; i < n; i++) {
        double *a = &x[rope->turns_neighbours ? 2 * i : i];
        double *b = &x[rope->turns_neighbours ? 2 * i + 1 : i + n];
        const double c = (double)split->rotary.cosines[row * n + i],
                     s = (double)split->rotary.sines[row * n + i], first = *a;

        *a = first * c - *b * s;
        *b = *b * c + first * s;
    }
}

static double length_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum > 0 ? sqrt(sum) : 1;
}

/* Sets the scales of SIDE: of the norm before the layer, and of the norm of the head. X [n_head, E]
 * is scratch. */
static void find_scales(const struct attn_pair_split *split, struct attn_pair_side *side,
                        size_t n_head, double *x)
{
    const struct attn_config *config = split->stack.config;
    const size_t width = config->d_head, d = config->d_model;
    const bool is_joint = config->qk_norm == ATTN_QK_NORM_ALL_HEADS;
    const bool has_norm = split->weights->ln1.w.data && !side->is_of_source;
    const float *stream = kept(split, ATTN_SITE_RESID_PRE, &split->at);
    double *head = x + side->head * width;

    for (size_t r = 0; r < side->n; r++) {
        for (size_t i = 0; i < d && has_norm; i++)
            side->wide[i] = (double)stream[side->rows[r] * d + i];
        side->scale[r] =
            has_norm ? attn_readout_scale(config, &split->weights->ln1, side->wide, d) : 1;
        copy_heads(split, side, side->site, r, n_head, x);
        if (config->qk_norm_is_late)
            rotate(split, side->rows[r], head);
        side->head_scale[r] = side->norm->w.data
                                  ? attn_readout_scale(config, side->norm, is_joint ? x : head,
                                                       is_joint ? n_head * width : width)
                                  : 1;
        side->length[r] = 1;
        if (split->stack.layers[split->layer].similarity == ATTN_SIMILARITY_DOT)
            continue;
        copy_heads(split, side, side->rotated, r, n_head, x);
        side->length[r] = length_of(head, width);
    }
}

/* Adds V [D] times MAP [D, E] to X [E]. */
static void add_mapped(const struct attn_pair_split *split, const double *v, const double *map,
                       double *x)
{
    const size_t d = split->stack.config->d_model, width = split->stack.config->d_head;

    for (size_t i = 0; i < d; i++)
        for (size_t e = 0; e < width; e++)
            x[e] += v[i] * map[i * width + e];
}

/* Reads the map of SIDE's head with the norm before the layer, and the vectors of its norms. ROW is
 * scratch. */
static void read_maps(const struct attn_pair_split *split, struct attn_pair_side *side, double *row)
{
    const struct attn_config *config = split->stack.config;
    const struct attn_norm_weights *before = &split->weights->ln1;
    const size_t width = config->d_head, first = side->head * width, d = config->d_model;
    const size_t of_norm = config->qk_norm == ATTN_QK_NORM_PER_HEAD ? 0 : first;

    for (size_t e = 0; e < width; e++)
        side->weight[e] = 1;
    if (side->norm->w.data)
        attn_readout_factors(config, side->norm, of_norm, width, side->weight);
    attn_vector_elements(&side->norm->b, of_norm, width, side->bias);
    attn_vector_elements(&side->map->bias, first, width, side->bias + width);
    if (side->is_of_source)
        return;
    read_map(split, side, row);
    attn_vector_elements(&before->b, 0, d, row);
    add_mapped(split, row, side->stream, side->bias + 2 * width);
    if (before->w.data)
        attn_readout_before_norm(config, before, 1, width, row, side->stream);
}

/* Returns true if the first part is all that the first layer reads, rather than the embedding
 * alone: after a norm or a map, and in encoders of sound, which have no embedding. */
static bool begins_late(const struct attn_pair_split *split)
{
    return attn_backward_reads_embeddings(split->stack.model) || !kept_embeddings(split);
}

static void list_writers(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const struct attn_config *config = split->stack.config;
    const bool is_sum = config->norm_place == ATTN_NORM_SUM;
    const struct attn_location outside = {
        .layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS, .site = ATTN_SITE_Z};
    struct attn_location at = outside;
    struct attn_pair_writer *to = side->writers;

    *to++ = (struct attn_pair_writer){side->is_of_source ? "source" : "embed", outside};
    if (!side->is_of_source && config->positions == ATTN_POSITIONS_LEARNED && !begins_late(split))
        *to++ = (struct attn_pair_writer){"pos", outside};
    while (!side->is_of_source && attn_dims_next_layer(split->stack.dims, &at) &&
           attn_location_index(&at) < split->layer) {
        const struct attn_block_weights *w = attn_block_at(&split->stack.model->weights, &at);

        for (at.head = 0; at.head < (int)config->n_head; at.head++)
            *to++ = (struct attn_pair_writer){"head", at};
        at.head = ATTN_ALL_HEADS;
        if (w->out.bias.data || w->ln1_post.b.data)
            *to++ = (struct attn_pair_writer){"attn_bias", at};
        if (is_sum)
            *to++ = (struct attn_pair_writer){attn_pair_attn_norm_bias, at};
        if (!kept(split, ATTN_SITE_MLP_OUT, &at))
            continue;
        *to++ = (struct attn_pair_writer){"mlp", at};
        if (is_sum)
            *to++ = (struct attn_pair_writer){attn_pair_mlp_norm_bias, at};
    }
    if (!side->is_of_source && split->weights->ln1.b.data)
        *to++ = (struct attn_pair_writer){"norm_bias", outside};
    if (side->map->bias.data || side->norm->b.data || config->qkv_clip > 0)
        *to++ = (struct attn_pair_writer){"bias", outside};
    side->n_writer = (size_t)(to - side->writers);
}

/* Allocates SIDE, whose positions are known, and reads its maps. N_HEAD is the number of heads of
 * its map. */
static enum attn_status prepare_side(struct attn_pair_split *split, struct attn_pair_side *side,
                                     size_t n_head, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_config *config = split->stack.config;
    const size_t d = config->d_model, width = config->d_head, n = side->n;
    const size_t n_most = split->layer * (config->n_head + 4) + 4;
    double *row = attn_frame_alloc(frame, d + n_head * width, sizeof *row);

    side->stream = attn_frame_alloc(frame, 2 * width + 1, d * sizeof(double));
    side->scale = attn_frame_alloc(frame, 4 * n + 6 * width, sizeof(double));
    side->heads = attn_frame_alloc(frame, (config->n_head + 1) * n, width * sizeof(double));
    side->writers = attn_frame_alloc(frame, n_most, sizeof *side->writers);
    ATTN_TRY(attn_frame_memory(frame, err));
    side->branch = side->stream + d * width;
    side->wide = side->branch + d * width;
    side->branch_scale = side->scale + n;
    side->head_scale = side->branch_scale + n;
    side->length = side->head_scale + n;
    side->weight = side->length + n;
    side->bias = side->weight + width;
    side->branch_bias = side->bias + 3 * width;
    side->x = side->heads + config->n_head * n * width;
    list_writers(split, side);
    read_maps(split, side, row);
    find_scales(split, side, n_head, row);
    return ATTN_OK;
}

/* --- One writer ------------------------------------------------------------------------------- */

/* Adds to SIDE's bias what clipping after a norm over all heads changes. */
static void add_clipped(const struct attn_pair_split *split, struct attn_pair_side *side, size_t r)
{
    const double most = split->stack.config->qkv_clip;
    const size_t width = split->stack.config->d_head;
    const float *x =
        kept(split, side->site, &split->at) + (side->head * side->n_row + side->rows[r]) * width;

    for (size_t e = 0; e < width; e++) {
        const double normed = (double)x[e] * side->weight[e] / side->head_scale[r];

        side->x[r * width + e] += fmin(fmax(normed, -most), most) - normed;
    }
}

/* Applies the norm of the head to X [E], row R of side->x. IS_BIAS: it is the part of biases. */
static void normalize(const struct attn_pair_split *split, struct attn_pair_side *side, size_t r,
                      bool is_bias)
{
    const struct attn_config *config = split->stack.config;
    const size_t width = config->d_head;
    double *x = side->x + r * width, mean = 0;

    for (size_t e = 0; side->norm->w.data && attn_config_norms_mean(config) && e < width; e++)
        mean += x[e] / (double)width;
    for (size_t e = 0; e < width; e++)
        x[e] =
            (x[e] - mean) * side->weight[e] / side->head_scale[r] + (is_bias ? side->bias[e] : 0);
    if (is_bias && config->qkv_clip > 0 && config->qk_norm == ATTN_QK_NORM_ALL_HEADS)
        add_clipped(split, side, r);
}

/* Applies the norm of the head, the rotation and the factor of queries to side->x. */
static void finish_rows(const struct attn_pair_split *split, struct attn_pair_side *side,
                        bool is_bias)
{
    const struct attn_config *config = split->stack.config;
    const size_t width = config->d_head;
    const bool is_late = config->qk_norm_is_late;

    for (size_t r = 0; r < side->n; r++) {
        double *x = side->x + r * width, factor = 1 / side->length[r];

        if (!is_late)
            normalize(split, side, r, is_bias);
        rotate(split, side->rows[r], x);
        if (is_late)
            normalize(split, side, r, is_bias);
        if (config->positions == ATTN_POSITIONS_ROTARY && side == &split->queries)
            factor *= (double)attn_rope_query_factor(
                &config->rope[split->layer],
                attn_position_number(&split->rotary.positions, 0, side->rows[r]));
        for (size_t e = 0; e < width; e++)
            x[e] *= factor;
    }
}

/* Stores side->x, that of writer number INDEX: of queries as it is, of keys its means over the keys
 * of the score and over the keys that each query sees. */
static void store_rows(struct attn_pair_split *split, struct attn_pair_side *side, size_t index)
{
    const size_t width = split->stack.config->d_head, n = split->keys.n_row;
    const size_t n_query = split->queries.n, size = n_query * width;

    if (side == &split->queries) {
        memcpy(split->q + index * size, side->x, size * sizeof *side->x);
        return;
    }
    for (size_t q = 0; q <= n_query; q++) { /* at n_query the keys of the score */
        const unsigned char *keys = q < n_query ? split->is_seen + q * n : split->keys.is_named;
        double *mean =
            q < n_query ? split->far + index * size + q * width : split->near + index * width;
        size_t n_key = 0;

        for (size_t j = 0; j < side->n; j++) {
            n_key += keys[j];
            for (size_t e = 0; keys[j] && e < width; e++)
                mean[e] += side->x[j * width + e];
        }
        for (size_t e = 0; e < width; e++)
            mean[e] /= (double)n_key;
    }
}

/* --- Writers of the stream -------------------------------------------------------------------- */

/* Copies to side->wide what WRITER, as wide as the stream, has written at POSITION. */
static void read_wide(const struct attn_pair_split *split, struct attn_pair_side *side,
                      const struct attn_pair_writer *writer, size_t position)
{
    const size_t d = split->stack.config->d_model, n_front = split->stack.text->grid.n_front;
    const bool is_pos = strcmp(writer->part, "pos") == 0;
    const bool is_all = begins_late(split);
    const bool has_embed = !is_all && position >= n_front; /* [CLS] of a picture has no patch */
    const float *embed = has_embed ? kept_embeddings(split) + (position - n_front) * d : NULL;
    const bool is_mlp = writer->at.layer != ATTN_NO_LAYER;
    const struct attn_location first = attn_layer_at(split->stack.dims, ATTN_SITE_RESID_PRE, 0);
    const float *x = is_mlp ? kept(split, ATTN_SITE_MLP_OUT, &writer->at)
                            : kept(split, ATTN_SITE_RESID_PRE, &first);

    x += position * d;
    for (size_t i = 0; i < d; i++)
        side->wide[i] = is_mlp || is_all ? (double)x[i]
                        : is_pos         ? (double)x[i] - (embed ? (double)embed[i] : 0)
                        : embed          ? (double)embed[i]
                                         : 0;
}

/* Sets side->x to what WRITER has written. */
static void map_wide(const struct attn_pair_split *split, struct attn_pair_side *side,
                     const struct attn_pair_writer *writer)
{
    const size_t width = split->stack.config->d_head;

    memset(side->x, 0, side->n * width * sizeof *side->x);
    for (size_t r = 0; r < side->n; r++) {
        read_wide(split, side, writer, side->rows[r]);
        add_mapped(split, side->wide, side->stream, side->x + r * width);
        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] /= side->scale[r];
    }
}

/* Sets side->x to what the rows of the source have written: the keys less the bias of their map. */
static void map_source(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const size_t width = split->stack.config->d_head;

    for (size_t r = 0; r < side->n; r++) {
        const float *k = kept(split, side->site, &split->at) +
                         (side->head * side->n_row + side->rows[r]) * width;

        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] = (double)k[e] - side->bias[width + e];
    }
}

/* Sets side->x to the bias of the norm before the layer. */
static void map_norm_bias(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const size_t width = split->stack.config->d_head;

    for (size_t i = 0; i < side->n * width; i++)
        side->x[i] = side->bias[2 * width + i % width];
}

/* Sets side->x to the bias of the map. With clipping it is what the stream has not written. */
static void map_bias(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const struct attn_config *config = split->stack.config;
    const size_t width = config->d_head, d = config->d_model, n = side->n_row;
    const bool is_clipped = config->qkv_clip > 0 && config->qk_norm != ATTN_QK_NORM_ALL_HEADS;
    const float *stream = kept(split, ATTN_SITE_RESID_PRE, &split->at);
    const float *found = kept(split, side->site, &split->at) + side->head * n * width;

    for (size_t r = 0; r < side->n; r++) {
        double *x = side->x + r * width;

        memcpy(x, side->bias + width, width * sizeof *x);
        if (!is_clipped)
            continue;
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)stream[side->rows[r] * d + i] / side->scale[r];
        memset(x, 0, width * sizeof *x);
        add_mapped(split, side->wide, side->stream, x);
        for (size_t e = 0; e < width; e++)
            x[e] = (double)found[side->rows[r] * width + e] - x[e] - side->bias[2 * width + e];
    }
}

/* Sets side->x to the bias of the norm that follows a sum, as WRITER names it, and takes the map
 * and the scales of SIDE back to the sum. */
static void go_before_sum_norm(const struct attn_pair_split *split, struct attn_pair_side *side,
                               const struct attn_pair_writer *writer)
{
    const struct attn_config *config = split->stack.config;
    const struct attn_block_weights *w = attn_block_at(&split->stack.model->weights, &writer->at);
    const bool is_mlp = writer->part == attn_pair_mlp_norm_bias;
    const struct attn_norm_weights *norm = is_mlp ? &w->end_norm : &w->mid_norm;
    const float *sum =
        kept(split, is_mlp ? ATTN_SITE_RESID_POST : ATTN_SITE_RESID_MID, &writer->at);
    const size_t d = config->d_model, width = config->d_head;

    attn_vector_elements(&norm->b, 0, d, side->wide);
    memset(side->x, 0, side->n * width * sizeof *side->x);
    for (size_t r = 0; r < side->n; r++) {
        add_mapped(split, side->wide, side->stream, side->x + r * width);
        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] /= side->scale[r];
    }
    attn_readout_before_norm(config, norm, 1, width, side->wide, side->stream);
    for (size_t r = 0; r < side->n; r++) {
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)sum[side->rows[r] * d + i];
        side->scale[r] *= attn_readout_scale(config, norm, side->wide, d);
    }
}

/* --- Heads of a layer ------------------------------------------------------------------------- */

/* Sets side->branch, the map from the output of the current heads for a norm after them of scale 1,
 * and the biases of their layer. */
static void read_branch(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const struct attn_config *config = split->stack.config;
    const struct attn_block_weights *w =
        attn_block_at(&split->stack.model->weights, &split->current);
    const size_t d = config->d_model, width = config->d_head;
    const double factor = config->residual_scale > 0 ? config->residual_scale : 1;
    double *vector = side->wide;

    attn_vector_elements(&w->attn_scale.w, 0, d, vector);
    for (size_t i = 0; i < d * width; i++)
        side->branch[i] = side->stream[i] * factor * (w->attn_scale.w.data ? vector[i / width] : 1);
    memset(side->branch_bias, 0, 2 * width * sizeof *side->branch_bias);
    attn_vector_elements(&w->ln1_post.b, 0, d, vector);
    add_mapped(split, vector, side->branch, side->branch_bias + width);
    if (w->ln1_post.w.data)
        attn_readout_before_norm(config, &w->ln1_post, 1, width, vector, side->branch);
    attn_vector_elements(&w->out.bias, 0, d, vector);
    add_mapped(split, vector, side->branch, side->branch_bias);
}

/* Returns true if Z W_O is computed before it is mapped, which for few positions is less work. */
static bool is_direct(const struct attn_config *config, size_t n)
{
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;

    return n * d * (of_z + width) < of_z * width * (d + n);
}

/* Maps the head number HEAD of the current layer (attn_task_fn). */
static void map_head(void *context, size_t head, int worker)
{
    const struct attn_pair_split *split = context;
    const struct attn_pair_side *side = split->side;
    const struct attn_config *config = split->stack.config;
    const struct attn_matrix *out =
        &attn_block_at(&split->stack.model->weights, &split->current)->out.weight;
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;
    const float *found = kept(split, ATTN_SITE_Z, &split->current) + head * side->n_row * of_z;
    double *block = split->scratch + (size_t)worker * split->n_scratch;
    double *z = block + of_z * d, *made = z + side->n * of_z;
    double *x = side->heads + head * side->n * width;

    for (size_t i = 0; i < side->n * of_z; i++)
        z[i] = (double)found[side->rows[i / of_z] * of_z + i % of_z];
    if (!out->data) { /* heads occupy separate parts of the stream */
        multiply(z, side->branch + head * of_z * width, side->n, of_z, width, x);
        return;
    }
    attn_matrix_rows(out, head * of_z, of_z, block);
    if (is_direct(config, side->n)) {
        multiply(z, block, side->n, of_z, d, made);
        multiply(made, side->branch, side->n, d, width, x);
    } else {
        multiply(block, side->branch, of_z, d, width, made);
        multiply(z, made, side->n, of_z, width, x);
    }
}

/* Sets side->branch_scale to the scale of the norm after the current heads: the number by which
 * their sum, mapped, is larger than the output of their layer's attention, mapped. */
static void find_branch_scale(const struct attn_pair_split *split, struct attn_pair_side *side)
{
    const struct attn_config *config = split->stack.config;
    const size_t width = config->d_head, d = config->d_model;
    const float *out = kept(split, ATTN_SITE_ATTN_OUT, &split->current);
    const bool has_norm =
        attn_block_at(&split->stack.model->weights, &split->current)->ln1_post.w.data;

    for (size_t r = 0; r < side->n; r++) {
        double product = 0, square = 0, *after = side->x;

        side->branch_scale[r] = 1;
        if (!has_norm)
            continue;
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)out[side->rows[r] * d + i];
        memset(after, 0, width * sizeof *after);
        add_mapped(split, side->wide, side->stream, after);
        for (size_t e = 0; e < width; e++) {
            double before = side->branch_bias[e];

            for (size_t head = 0; head < config->n_head; head++)
                before += side->heads[(head * side->n + r) * width + e];
            after[e] -= side->branch_bias[width + e];
            product += before * after[e];
            square += after[e] * after[e];
        }
        if (square > 0)
            side->branch_scale[r] = product / square;
    }
}

static void map_layer(struct attn_pair_split *split, struct attn_pair_side *side,
                      const struct attn_location *at)
{
    split->side = side;
    split->current = *at;
    read_branch(split, side);
    attn_pool_run(attn_host_pool(attn_asked_host(split->frame.run), 1e9),
                  split->stack.config->n_head, map_head, split);
    find_branch_scale(split, side);
}

/* Sets side->x to what a head of the current layer has written, or if HEAD is negative the biases
 * after its heads. */
static void take_branch(const struct attn_pair_split *split, struct attn_pair_side *side, int head)
{
    const size_t width = split->stack.config->d_head;

    for (size_t i = 0; i < side->n * width; i++) {
        const size_t r = i / width, e = i % width;
        const double x =
            head < 0 ? side->branch_bias[e] : side->heads[(size_t)head * side->n * width + i];

        side->x[i] = (x / side->branch_scale[r] + (head < 0 ? side->branch_bias[width + e] : 0)) /
                     side->scale[r];
    }
}

enum attn_status attn_pair_side_map(struct attn_pair_split *split, struct attn_pair_side *side,
                                    struct attn_error *err)
{
    size_t mapped = SIZE_MAX; /* the index of the layer whose heads are computed */

    for (size_t i = side->n_writer; i-- > 0;) {
        const struct attn_pair_writer *writer = &side->writers[i];
        const bool is_bias = strcmp(writer->part, "bias") == 0;
        const bool is_of_heads = writer->at.head >= 0 || strcmp(writer->part, "attn_bias") == 0;

        if (is_of_heads && attn_location_index(&writer->at) != mapped) {
            ATTN_TRY(attn_host_check_canceled(attn_asked_host(split->frame.run), err));
            map_layer(split, side, &writer->at);
            mapped = attn_location_index(&writer->at);
        }
        if (writer->part == attn_pair_attn_norm_bias || writer->part == attn_pair_mlp_norm_bias)
            go_before_sum_norm(split, side, writer);
        else if (is_of_heads)
            take_branch(split, side, writer->at.head);
        else if (is_bias)
            map_bias(split, side);
        else if (strcmp(writer->part, "norm_bias") == 0)
            map_norm_bias(split, side);
        else if (side->is_of_source)
            map_source(split, side);
        else
            map_wide(split, side, writer);
        finish_rows(split, side, is_bias);
        store_rows(split, side, i);
    }
    return ATTN_OK;
}

/* --- Memory and angles ------------------------------------------------------------------------ */

/* Computes the angles of all positions, if the layer has rotary positions. */
static enum attn_status prepare_rotary(struct attn_pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = split->stack.text->n;
    struct attn_rotary *rotary = &split->rotary;
    size_t n_pair;

    rotary->positions = attn_run_positions(frame->run, split->at.stack);
    if (split->stack.config->positions != ATTN_POSITIONS_ROTARY ||
        split->stack.config->rope[split->layer].d_rotary == 0)
        return ATTN_OK;
    rotary->rope = &split->stack.config->rope[split->layer];
    n_pair = rotary->rope->d_rotary / 2;
    rotary->frequencies = attn_frame_alloc(frame, 2 * n + 2, n_pair * sizeof(float));
    ATTN_TRY(attn_frame_memory(frame, err));
    rotary->cosines = rotary->frequencies + 2 * n_pair;
    rotary->sines = rotary->cosines + n * n_pair;
    attn_rope_find_frequencies(rotary->rope, 0, rotary->frequencies);
    attn_rope_find_frequencies(rotary->rope, SIZE_MAX, rotary->frequencies + n_pair);
    attn_rotary_fill(rotary, kernels, 0, n, n, attn_host_pool(attn_asked_host(frame->run), 1e9));
    return ATTN_OK;
}

enum attn_status attn_pair_writers_prepare(struct attn_pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_config *config = split->stack.config;
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;
    const size_t n_query = split->queries.n, n_key = split->keys.n;
    const size_t n_most = n_query > n_key ? n_query : n_key;
    const int n_thread = attn_host_pool(attn_asked_host(frame->run), 1e9)
                             ? attn_pool_n_thread(attn_host_pool(attn_asked_host(frame->run), 1e9))
                             : 1;
    size_t n_made = of_z * width;

    if (is_direct(config, n_query) && n_query * d > n_made)
        n_made = n_query * d;
    if (is_direct(config, n_key) && n_key * d > n_made)
        n_made = n_key * d;
    split->n_scratch = of_z * d + n_most * of_z + n_made;
    ATTN_TRY(prepare_rotary(split, err));
    ATTN_TRY(prepare_side(split, &split->queries, config->n_head, err));
    ATTN_TRY(prepare_side(split, &split->keys, config->n_kv_head, err));
    split->scratch = attn_frame_alloc(frame, (size_t)n_thread, split->n_scratch * sizeof(double));
    split->q = attn_frame_alloc(frame, split->queries.n_writer * n_query, width * sizeof(double));
    split->near =
        attn_frame_alloc(frame, split->keys.n_writer * (n_query + 1), width * sizeof(double));
    ATTN_TRY(attn_frame_memory(frame, err));
    split->far = split->near + split->keys.n_writer * width;
    return ATTN_OK;
}

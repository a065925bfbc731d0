/*
 * step_places.c - the places of DeBERTa, rows for distances, whose products with queries and keys
 * are added to the scores (struct attn_place_terms), and the convolution beside its first layer.
 *
 *     place[c] = norm(table[c]) of the model; of a layer its key place[c] W_K + b_K, and its query
 *     c2p = q_i . key of the place of i - j,   p2c = k_j . query of the place of i - j
 *
 * Only the places of distances in the text are computed. A product is one chain over the width of a
 * head, whatever the rows beside it.
 */
#include "forward/step_internal.h"

#include "attention/attention_internal.h"
#include "base/elementary.h"
#include "base/pool_internal.h"
#include "trace/blocks_internal.h"

#include <math.h>
#include <string.h>

bool attn_has_places(const struct attn_forward *f, int layer)
{
    const struct attn_score_bias *bias = f->attention[layer].bias;

    return bias && bias->is_of_places;
}

/* --- Products --------------------------------------------------------------------------------- */

/* The products of two lists of rows, which all heads have side by side: c[h] [n_a, ldc] = a b^T. */
struct products {
    const struct attn_forward *f;
    const float *a, *b;
    size_t n_a, n_b, ld, ldc;
    enum attn_site site; /* of the heads that are needed */
    float *c;
};

static void multiply_head(void *context, size_t head, int worker)
{
    const struct products *of = context;
    const struct attn_forward *f = of->f;
    const size_t d = f->dims.d_head;
    float *panel = f->place_panels + (size_t)worker * d * ATTN_PANEL;
    float *c = of->c + head * of->n_a * of->ldc;

    if (!attn_forward_needs_head(f, ATTN_SITE_Q, (int)head) &&
        !attn_forward_needs_head(f, ATTN_SITE_K, (int)head))
        return;
    for (size_t first = 0; first < of->n_b; first += ATTN_PANEL) {
        const size_t left = of->n_b - first, n = left < ATTN_PANEL ? left : ATTN_PANEL;

        if (n < ATTN_PANEL)
            memset(panel, 0, d * ATTN_PANEL * sizeof *panel);
        f->engine.kernels->pack_keys(of->b + first * of->ld + head * d, of->ld, n, d, 0, panel);
        for (size_t row = 0; row < of->n_a; row += ATTN_GEMM_MOST_ROWS) {
            const size_t rest = of->n_a - row;
            const struct attn_gemm_shape shape = {
                .m = ATTN_PANEL,
                .n = rest < ATTN_GEMM_MOST_ROWS ? rest : ATTN_GEMM_MOST_ROWS,
                .k = d,
                .lda = ATTN_PANEL,
                .ldb = of->ld,
                .ldc = of->ldc};
            const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(&f->engine, &shape);

            attn_gemm_kernel_run(&kernel, panel, of->a + row * of->ld + head * d,
                                 c + row * of->ldc + first, 1);
        }
    }
}

/* Returns the row of the table for a key at DISTANCE before its query. */
static size_t find_place(const struct attn_place_config *config, ptrdiff_t distance)
{
    const ptrdiff_t span = (ptrdiff_t)config->n / 2, middle = (ptrdiff_t)config->n_bucket / 2;
    const ptrdiff_t far = distance < 0 ? -distance : distance;

    if (config->n_bucket > 0 && far > middle) {
        const double share = attn_log((double)far / (double)middle) /
                             attn_log((double)(config->farthest - 1) / (double)middle);
        const ptrdiff_t bucket = middle + (ptrdiff_t)ceil(share * (double)(middle - 1));

        distance = distance < 0 ? -bucket : bucket;
    }
    distance += span;
    return distance < 0 ? 0 : distance >= 2 * span ? (size_t)(2 * span) - 1 : (size_t)distance;
}

/* --- Places ----------------------------------------------------------------------------------- */

/* Sets the place of each distance below N, and returns the first row of the table that is used. */
static size_t choose_rows(struct attn_forward *f, size_t n)
{
    const struct attn_place_config *config = &f->model->config.places;
    int32_t *rows = f->place_rows + f->dims.n_position - 1;
    const ptrdiff_t far = (ptrdiff_t)n - 1;
    const size_t first = find_place(config, -far);

    for (ptrdiff_t distance = -far; distance <= far; distance++)
        rows[distance] = (int32_t)(find_place(config, distance) - first);
    f->place_terms.rows = rows;
    f->place_terms.n = (size_t)rows[far] + 1;
    return first;
}

/* Computes the keys and the queries of the places that the layer uses. */
static void make_rows(struct attn_forward *f, const struct attn_block_weights *w, size_t first,
                      struct attn_pool *pool)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_tensor *table = &f->model->weights.places;
    const struct attn_norm_weights *norm = &f->model->weights.ln_place;
    const size_t n = f->place_terms.n, d = config->d_model;
    const bool is_own = config->places.has_own_maps;
    struct attn_linear_args maps[2];
    size_t n_map = 0;

    f->engine.kernels->convert((const char *)table->data +
                                   attn_dtype_n_byte(table->dtype, first * d),
                               table->dtype, n * d, f->place_table);
    if (norm->w.data)
        attn_norm_read(f, norm);
    for (size_t i = 0; i < n && norm->w.data; i++)
        attn_norm_row(f, f->place_table + i * d, d, f->place_table + i * d);
    if (config->places.has_c2p)
        maps[n_map++] =
            attn_map_of(f, is_own ? &w->place_k : &w->k, f->place_table, n, f->place_keys);
    if (config->places.has_p2c)
        maps[n_map++] =
            attn_map_of(f, is_own ? &w->place_q : &w->q, f->place_table, n, f->place_queries);
    attn_linear_run(maps, n_map, pool);
}

void attn_places_make(struct attn_forward *f, const struct attn_place_rows *of)
{
    struct attn_place_terms *places = &f->place_terms;
    const struct attn_place_config *config = &f->model->config.places;
    const size_t n_head = f->dims.n_head, ld = n_head * f->dims.d_head;
    const size_t first = choose_rows(f, of->n_key);
    struct products products = {.f = f, .ld = ld};

    make_rows(f, &f->model->weights.blocks[of->layer], first, of->pool);
    places->n_query = of->n_query;
    places->n_key = of->n_key;
    places->row0 = of->row0;
    places->keys = f->place_keys;
    places->queries = f->place_queries;
    places->c2p = config->has_c2p ? f->place_products : NULL;
    places->ld_c2p = attn_round_up(places->n, ATTN_PANEL);
    places->p2c =
        config->has_p2c ? f->place_products + n_head * of->n_query * places->ld_c2p : NULL;
    places->ld_p2c = attn_round_up(of->n_key, ATTN_PANEL);
    products.a = of->q, products.n_a = of->n_query;
    products.b = f->place_keys, products.n_b = places->n;
    products.c = f->place_products, products.ldc = places->ld_c2p;
    if (config->has_c2p)
        attn_pool_run(of->pool, n_head, multiply_head, &products);
    products.a = f->place_queries, products.n_a = places->n;
    products.b = of->k, products.n_b = of->n_key;
    products.c += n_head * of->n_query * places->ld_c2p, products.ldc = places->ld_p2c;
    if (config->has_p2c)
        attn_pool_run(of->pool, n_head, multiply_head, &products);
}

/* Emits c2p or p2c of a sequence, a few rows at a time. */
static void emit(struct attn_forward *f, const struct attn_layer_feed *feed, enum attn_site site,
                 int head)
{
    const struct attn_tile tile = {.feed = feed};
    const float scale = attn_tile_scale(&tile);
    float *cells = f->place_cells;

    for (size_t row = 0; row < feed->n_row; row += ATTN_QUERY_TILE) {
        const size_t rest = feed->n_row - row;
        const struct attn_trace_event event = {.sequence = feed->sequence,
                                               .at.site = site,
                                               .at.layer = f->feed.layer,
                                               .at.head = head,
                                               .row0 = feed->row0 + row,
                                               .n_row =
                                                   rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
                                               .n_col = feed->n_key,
                                               .ld = feed->n_key,
                                               .data = cells};

        for (size_t i = 0; i < event.n_row; i++)
            for (size_t j = 0; j < feed->n_key; j++)
                cells[i * feed->n_key + j] = attn_place_term_at(feed->places, site == ATTN_SITE_C2P,
                                                                (size_t)head, event.row0 + i, j) *
                                             scale;
        attn_visit_emit(f, &event);
    }
}

void attn_places_emit(struct attn_forward *f, const struct attn_layer_feed *feed)
{
    for (int i = 0; i < 2; i++) {
        const enum attn_site site = i == 0 ? ATTN_SITE_C2P : ATTN_SITE_P2C;

        for (int head = 0; head < (int)f->dims.n_head && attn_forward_watches(f, site); head++) {
            const struct attn_location at =
                attn_location_of_block(&f->dims, site, f->feed.layer, head);

            if (attn_selection_has_tensor_head(f->trace->selection, &at))
                emit(f, feed, site, head);
        }
    }
}

/* --- The convolution -------------------------------------------------------------------------- */

void attn_convolution_keep(struct attn_forward *f)
{
    if (f->conv_input && f->feed.layer == 0 && !attn_forward_is_over(f))
        memcpy(f->conv_input, f->resid, f->feed.n_row * f->dims.d_model * sizeof *f->resid);
}

/* Writes the rows around each row of PART that is left, component by component: zeros beyond the
 * text, and for masked rows, as the kernel's components lie. */
static void gather_around(struct attn_forward *f, const struct attn_feed_part *part)
{
    const size_t d = f->dims.d_model, width = f->model->config.places.n_conv;
    const struct attn_site_rows left = attn_feed_part_left(part);

    for (size_t i = 0; i < left.n_row; i++)
        for (size_t k = 0; k < width; k++) {
            const size_t at = part->n_dropped + i + k, before = (width - 1) / 2;
            const bool is_seen = at >= before && at - before < part->n_row &&
                                 attn_key_mask_keeps(part->key_mask, at - before);
            const float *x = f->conv_input + (part->first + (is_seen ? at - before : 0)) * d;
            float *y = f->conv_rows + (left.first + i) * d * width + k;

            for (size_t e = 0; e < d; e++)
                y[e * width] = is_seen ? x[e] : 0;
        }
}

void attn_convolution_step(struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t d = f->dims.d_model, n = f->feed.n_left;
    enum attn_activation activation;

    if (!f->conv_input || f->feed.layer != 0 || attn_forward_is_over(f))
        return;
    activation = attn_activation_find(f->model->config.places.conv_act_fn);
    for (size_t i = 0; i < f->feed.n_part; i++)
        gather_around(f, &f->parts[i]);
    attn_map_step(f, &weights->conv, NULL, f->conv_rows, n, f->out);
    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const struct attn_site_rows left = attn_feed_part_left(part);

        for (size_t row = 0; row < left.n_row; row++)
            if (!attn_key_mask_keeps(part->key_mask, left.row0 + row))
                memset(f->out + (left.first + row) * d, 0, d * sizeof *f->out);
    }
    f->engine.kernels->activate(activation, f->out, n * d);
    f->engine.kernels->add(f->resid, f->out, n * d, f->resid);
    attn_sum_norm_step(f, ATTN_SITE_CONV_OUT, &weights->ln_conv, f->resid);
}

/*
 * dense.c - scores, softmax and the weighted sum of values, tile by tile.
 *
 * z[t,:] = sum_s pattern[t,s] * v[s,:] runs over whole halves of a panel. Beyond the last key of a
 * row the pattern is +0 and the values are finite, so these terms can only change the sign of a
 * zero. To make z canonical, +0 is added, which turns -0 into +0.
 */
#include "attention/engines_internal.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Returns the floats that the queries of a tile occupy in bfloat16; 0 without rounding. */
static size_t rounded_queries(const struct attn_head_shape *shape)
{
    return shape->is_bf16 ? ATTN_QUERY_TILE * attn_kv_depth(shape) / 2 : 0;
}

size_t attn_dense_scratch(const struct attn_head_shape *shape,
                          const struct attn_attention *attention)
{
    return ATTN_QUERY_TILE * (attn_tile_ld(shape) + attn_kv_ld_value(shape)) +
           rounded_queries(shape) + attn_tile_list_size(attention, shape->n_max);
}

size_t attn_dense_kind_panel(const struct attn_panels *panels, int kind)
{
    const size_t n_after = (size_t)(ATTN_N_PANEL_KIND - 1 - kind);

    return kind == 0 || panels->n_panel <= n_after ? 0 : panels->n_panel - 1 - n_after;
}

int attn_dense_panel_kind(const struct attn_panels *panels, size_t panel)
{
    const size_t n_after = panels->n_panel - 1 - panel;

    return n_after < ATTN_N_PANEL_KIND - 1 ? ATTN_N_PANEL_KIND - 1 - (int)n_after : 0;
}

static void plan_tile(struct attn_dense *dense, const struct attn_head_shape *shape, int which,
                      size_t n)
{
    const struct attn_gemm_engine *engine = dense->engine;
    const struct attn_panels *panels = &dense->value_panels;
    const size_t ld = attn_kv_ld_value(shape), depth = attn_kv_depth(shape);
    struct attn_gemm_shape scores = {.m = ATTN_PANEL,
                                     .n = n,
                                     .k = dense->is_bf16 ? depth : shape->d_head,
                                     .lda = ATTN_PANEL,
                                     .ldb = dense->is_bf16 ? depth : shape->ldq,
                                     .ldc = attn_tile_ld(shape),
                                     .is_bf16 = dense->is_bf16};
    struct attn_gemm_shape values = {.n = n,
                                     .k = ATTN_HALF_PANEL,
                                     .lda = ld,
                                     .ldb = attn_tile_ld(shape) * (dense->is_bf16 ? 2 : 1),
                                     .ldc = ld,
                                     .step_a = ATTN_HALF_PANEL * ld,
                                     .step_b = ATTN_HALF_PANEL,
                                     .is_bf16 = dense->is_bf16};

    dense->scores[which][0] = attn_gemm_kernel_find(engine, &scores);
    scores.m = ATTN_HALF_PANEL;
    dense->scores[which][1] = attn_gemm_kernel_find(engine, &scores);
    for (int kind = 0; kind < ATTN_N_PANEL_KIND; kind++) {
        values.m = attn_panel_width(panels, attn_dense_kind_panel(panels, kind));
        dense->values[which][kind] = attn_gemm_kernel_find(engine, &values);
    }
}

void attn_dense_plan(struct attn_dense *dense, const struct attn_gemm_engine *engine,
                     const struct attn_head_shape *shape, bool is_bf16, size_t n_row)
{
    dense->engine = engine;
    dense->is_bf16 = is_bf16;
    dense->value_panels = attn_panels_split(shape->d_value);
    dense->rest = n_row % ATTN_QUERY_TILE;
    if (n_row >= ATTN_QUERY_TILE)
        plan_tile(dense, shape, 0, ATTN_QUERY_TILE);
    if (dense->rest > 0)
        plan_tile(dense, shape, 1, dense->rest);
}

/* The state of one tile while attn_dense_run computes it. */
struct dense_work {
    const struct attn_dense *dense;
    const struct attn_tile *tile;
    const struct attn_head_shape *shape;
    struct attn_tile_cells cells;
    float scale; /* attn_tile_scale */
    float *x;    /* [n_row, ld]: first qk, then attn_scores, then the pattern */
    size_t ld;
    uint16_t *queries; /* [n_row, attn_kv_depth] in bfloat16 */
    int which;         /* which kernels to use: 0 for a full tile, 1 for the last tile */
    bool is_rounded;   /* each row of the pattern was rounded in place */
    size_t n_edited;   /* number of rows that edits changed */
};

static void set_columns(struct dense_work *work)
{
    const struct attn_tile *tile = work->tile;
    const struct attn_attention *attention = tile->feed->attention;
    /* Masked cells must be computed if they are watched or edited, or if the mask is applied after
     * the softmax. */
    const bool is_whole =
        (attn_tile_watched(tile, ATTN_SITE_QK) && attention->kind == ATTN_ATTENTION_FULL) ||
        attention->masking != ATTN_MASKING_INF || tile->feed->dropout ||
        attn_tile_is_edited(tile, ATTN_SITE_QK) ||
        attn_tile_is_edited(tile, ATTN_SITE_ATTN_SCORES) ||
        attn_tile_is_edited(tile, attn_attention_pattern_site(attention));

    attn_tile_choose_columns(tile, is_whole, &work->cells);
}

static void fill_masked(const struct dense_work *work, size_t i, float value)
{
    attn_tile_fill_masked(&work->cells, i, value, work->x + i * work->ld);
}

/* Copies row I to the watched rows of SITE: the listed cells, or all cells, with FILL in those that
 * were not computed. */
static void store_row(const struct dense_work *work, enum attn_site site, size_t i, float fill)
{
    const struct attn_tile *tile = work->tile;
    const float *x = work->x + i * work->ld;
    float *row = attn_tile_watched(tile, site) + i * tile->watched.ld;
    const size_t last = work->cells.last < tile->n_key ? work->cells.last : tile->n_key;

    if (work->cells.keys && attn_attention_masks(tile->feed->attention, site)) {
        for (size_t j = 0; j < work->cells.n[i]; j++)
            row[j] = x[work->cells.keys[i * work->cells.ld + j]];
        return;
    }
    if (tile->watched.is_streamed) {
        work->dense->engine->kernels->stream(x, last, fill, tile->n_key, row);
        return;
    }
    memcpy(row, x, last * sizeof(float));
    if (fill == 0)
        memset(row + last, 0, (tile->n_key - last) * sizeof(float));
    for (size_t j = last; j < tile->n_key && fill != 0; j++)
        row[j] = fill;
}

/* Applies the edits of SITE to the tile, then stores its rows if the trace watches them. FILL is
 * the value of cells that were not computed. */
static void apply_and_store(struct dense_work *work, enum attn_site site, float fill)
{
    const struct attn_tile *tile = work->tile;
    const struct attn_edit_target target = {.at.site = site,
                                            .at.stack = tile->feed->at.stack,
                                            .at.layer = tile->feed->at.layer,
                                            .n_uncounted = tile->feed->n_uncounted,
                                            .at.head = tile->head,
                                            .row0 = tile->row0,
                                            .n_row = tile->n_row,
                                            .n_col = tile->n_key,
                                            .ld = work->ld,
                                            .data = work->x};

    if (attn_tile_is_edited(tile, site))
        work->n_edited += attn_edits_apply(tile->feed->edits, tile->feed->n_edit,
                                           tile->feed->has_effect, tile->feed->calls, &target);
    for (size_t i = 0; i < tile->n_row && attn_tile_watched(tile, site); i++)
        store_row(work, site, i, fill);
}

/* Computes qk[t,s] = q[t,:] . k[s,:]. */
static void compute_products(struct dense_work *work)
{
    const struct attn_tile *tile = work->tile;
    const struct attn_head_shape *shape = work->shape;
    const bool is_bf16 = work->dense->is_bf16;
    const struct attn_gemm_kernel *scores = work->dense->scores[work->which];
    const size_t depth = attn_kv_depth(shape);
    const size_t size = is_bf16 ? depth * sizeof(uint16_t) : shape->d_head * sizeof(float);

    for (size_t i = 0; is_bf16 && !tile->given && i < tile->n_row; i++) {
        work->queries[(i + 1) * depth - 1] = 0;
        work->dense->engine->kernels->round_bf16(tile->q + i * shape->ldq, shape->d_head,
                                                 work->queries + i * depth);
    }
    for (size_t s = work->cells.first; !tile->given && s < work->cells.last; s += ATTN_PANEL)
        attn_gemm_kernel_run(&scores[work->cells.last - s < ATTN_PANEL],
                             (const char *)tile->kv->keys + s * size,
                             is_bf16 ? (const void *)work->queries : tile->q, work->x + s, 1);
    for (size_t i = 0; tile->given && i < tile->n_row; i++) {
        memcpy(work->x + i * work->ld, tile->given + i * tile->n_key, tile->n_key * sizeof(float));
        for (size_t j = tile->n_key; j < work->cells.last; j++)
            work->x[i * work->ld + j] = 0;
    }
    apply_and_store(work, ATTN_SITE_QK, 0);
}

/* Computes attn_scores = cap(qk * scale + bias), with -inf in cells that are masked before the
 * softmax. Returns false, without computing, if no trace wants the scores and they are only scaled:
 * then the softmax scales them. */
static bool compute_scores(struct dense_work *work)
{
    const struct attn_tile *tile = work->tile;
    const bool is_masked = tile->feed->attention->masking == ATTN_MASKING_INF;
    const bool is_seen = attn_tile_is_scored(tile) ||
                         attn_tile_watched(tile, ATTN_SITE_ATTN_SCORES) ||
                         attn_tile_is_edited(tile, ATTN_SITE_ATTN_SCORES);

    for (size_t i = 0; i < tile->n_row; i++) {
        float *row = work->x + i * work->ld + work->cells.first;

        const struct attn_tile_span span = {
            .i = i, .first = work->cells.first, .n = work->cells.last - work->cells.first};

        if (is_seen)
            attn_tile_score(tile, work->dense->engine->kernels, &span, row, NULL);
        if (is_masked && (is_seen || work->cells.keys))
            fill_masked(work, i, -INFINITY);
    }
    if (is_seen)
        apply_and_store(work, ATTN_SITE_ATTN_SCORES, -INFINITY);
    return is_seen;
}

static void compute_pattern(struct dense_work *work, bool is_scored)
{
    const struct attn_tile *tile = work->tile;
    const enum attn_site site = attn_attention_pattern_site(tile->feed->attention);
    const bool is_after = tile->feed->attention->masking != ATTN_MASKING_INF;
    const bool is_listed = work->cells.keys;
    const bool is_watched = attn_tile_watched(tile, site);
    const bool is_edited = attn_tile_is_edited(tile, site);
    /* An edit may have unmasked a key, so the softmax must read the whole row of scores. */
    const bool is_opened = !is_listed && attn_tile_is_edited(tile, ATTN_SITE_ATTN_SCORES);
    const size_t last = work->cells.last < tile->n_key ? work->cells.last : tile->n_key;
    const struct attn_kernels *kernels = work->dense->engine->kernels;

    work->is_rounded = work->dense->is_bf16 && tile->z && !is_edited && !tile->feed->dropout;
    for (size_t i = 0; i < tile->n_row; i++) {
        float *row = work->x + i * work->ld, sum = 0, sink;
        const bool is_prefix = !is_listed && !is_after && !is_opened;

        if (is_listed && !is_after && is_scored)
            fill_masked(work, i, -INFINITY); /* undo edits of cells that are not listed */
        sink = attn_tile_softmax(
            tile, kernels,
            &(struct attn_softmax_row){
                row + work->cells.first, is_prefix ? work->cells.n[i] : last - work->cells.first,
                work->cells.last - work->cells.first, is_scored ? 1.0F : work->scale});
        if (tile->sink_weights)
            tile->sink_weights[i * tile->ld_sink] = sink;
        /* If the mask is applied after the softmax, weights of masked cells become 0; to
         * renormalize, the others are divided by their sum. */
        if (is_after)
            fill_masked(work, i, 0);
        if (tile->feed->attention->masking == ATTN_MASKING_RENORMALIZE)
            sum = kernels->sum(row, tile->n_key);
        for (size_t j = 0; sum > 0 && j < tile->n_key; j++)
            row[j] /= sum;
        if (is_watched && !is_edited)
            store_row(work, site, i, 0); /* now, while the row is in the L1 cache */
        if (work->is_rounded)
            kernels->round_bf16(row + work->cells.first, work->cells.last - work->cells.first,
                                (void *)(row + work->cells.first));
    }
    if (is_edited)
        apply_and_store(work, site, 0);
    for (size_t i = 0; i < tile->n_row && is_listed && is_edited; i++)
        fill_masked(work, i, 0);
}

static void compute_z(struct dense_work *work, float *sums)
{
    static const float zeros[ATTN_PANEL];
    const struct attn_tile *tile = work->tile;
    const struct attn_kernels *kernels = work->dense->engine->kernels;
    const struct attn_panels *panels = &work->dense->value_panels;
    const size_t ld = attn_kv_ld_value(work->shape), d_value = work->shape->d_value;
    const bool is_bf16 = work->dense->is_bf16;
    /* In bfloat16, values of two rows are interleaved. */
    const size_t row_size = ld * (is_bf16 ? sizeof(uint16_t) : sizeof(float));
    const char *values = (const char *)tile->kv->values + work->cells.first * row_size;
    float *pattern = work->x + work->cells.first;

    for (size_t i = 0; is_bf16 && !work->is_rounded && i < tile->n_row; i++)
        kernels->round_bf16(pattern + i * work->ld, work->cells.last - work->cells.first,
                            (void *)(pattern + i * work->ld));
    for (size_t p = 0; p < panels->n_panel; p++) {
        const size_t first = attn_panel_first(panels, p);

        attn_gemm_kernel_run(&work->dense->values[work->which][attn_dense_panel_kind(panels, p)],
                             values + first * sizeof(float), pattern, sums + first,
                             (work->cells.last - work->cells.first) / ATTN_HALF_PANEL);
    }
    for (size_t i = 0; i < tile->n_row; i++) /* z = sums + 0 */
        for (size_t j = 0; j < d_value; j += ATTN_PANEL)
            kernels->add(sums + i * ld + j, zeros,
                         d_value - j < ATTN_PANEL ? d_value - j : ATTN_PANEL,
                         tile->z + i * tile->feed->ldz + j);
}

size_t attn_dense_run(const struct attn_dense *dense, const struct attn_tile *tile, float *scratch)
{
    struct dense_work work = {.dense = dense,
                              .tile = tile,
                              .shape = tile->feed->shape,
                              .scale = attn_tile_scale(tile),
                              .x = scratch,
                              .ld = attn_tile_ld(tile->feed->shape),
                              .which = tile->n_row != ATTN_QUERY_TILE};
    float *sums = scratch + ATTN_QUERY_TILE * work.ld;
    float *queries = sums + ATTN_QUERY_TILE * attn_kv_ld_value(work.shape);
    void *list = queries + rounded_queries(work.shape);
    bool is_scored;

    assert(tile->n_row == ATTN_QUERY_TILE || tile->n_row == dense->rest);
    attn_tile_find_cells(tile, list, &work.cells);
    work.queries = (void *)queries;
    set_columns(&work);
    compute_products(&work);
    is_scored = compute_scores(&work);
    compute_pattern(&work, is_scored);
    if (tile->feed->dropout) { /* pattern_dropped is pattern / (1 - p) for weights that are kept,
                                  else 0 */
        for (size_t i = 0; i < tile->n_row; i++)
            attn_tile_drop(tile, tile->row0 + i, NULL, tile->n_key, work.x + i * work.ld);
        apply_and_store(&work, ATTN_SITE_PATTERN_DROPPED, 0);
    }
    if (tile->z)
        compute_z(&work, sums);
    if (tile->watched.is_streamed)
        dense->engine->kernels->drain();
    if (dense->is_bf16)
        attn_gemm_release(dense->engine);
    return work.n_edited;
}

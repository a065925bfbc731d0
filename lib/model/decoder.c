/* decoder.c - see decoder.h: embedding, positions, blocks, output. */
#include "model/decoder.h"

#include "model/block.h"
#include "model/plan.h"
#include "model/unembed.h"
#include "model/visit.h"

void attn_decoder_begin(struct attn_forward *f, size_t row0, size_t n_row, struct attn_error *err)
{
    const bool is_shared = attn_plan_work(f, n_row) >= ATTN_SHARED_WORK;

    f->feed = (struct attn_feed){.row0 = row0,
                                 .n_row = n_row,
                                 .first_layer = ATTN_NO_LAYER,
                                 .layer = ATTN_NO_LAYER,
                                 .status = ATTN_OK,
                                 .err = err,
                                 .pool = is_shared ? f->pool : NULL};
    f->pending.n_map = f->pending.n_visit = 0;
    attn_engines_plan(&f->engines, &f->engine, &f->shape, f->attention, f->dims.n_layer, n_row);
    for (size_t i = 0; i < f->n_rotary; i++)
        attn_rotary_fill(&f->rotaries[i], f->engine.kernels, row0, n_row, f->feed.pool);
    attn_random_seed(&f->dropout, f->attention[0].dropout_seed);
}

/* resid[i] = embed[i] + W_pos[row0 + i] */
static void add_positions(struct attn_forward *f)
{
    const struct attn_tensor *table = &f->model->weights.positions;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = f->dims.d_model, row_bytes = d * (attn_dtype_bits(table->dtype) / 8);

    if (f->model->config.positions != ATTN_POSITIONS_LEARNED)
        return;
    for (size_t i = 0; i < f->feed.n_row; i++) {
        const char *row = (const char *)table->data + (f->feed.row0 + i) * row_bytes;

        kernels->convert(row, table->dtype, d, f->vectors);
        kernels->add(f->resid + i * d, f->vectors, d, f->resid + i * d);
    }
}

enum attn_status attn_decoder_run(struct attn_forward *f)
{
    const int n_layer = (int)f->dims.n_layer, first = f->feed.first_layer;

    if (first == ATTN_NO_LAYER) {
        attn_visit(f, ATTN_SITE_EMBED, f->resid);
        add_positions(f);
        attn_forward_check_finite(f, f->resid, f->feed.n_row * f->dims.d_model);
    }
    for (int layer = first == ATTN_NO_LAYER ? 0 : first;
         layer < n_layer && !attn_forward_is_stopped(f); layer++)
        attn_block_run(f, layer);
    if (!attn_forward_is_stopped(f))
        attn_unembed_run(f);
    return f->feed.status;
}

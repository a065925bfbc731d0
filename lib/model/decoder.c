/* decoder.c - see decoder.h: embedding, positions, blocks, output. */
#include "model/decoder.h"

#include "base/dtype_internal.h"
#include "model/block.h"
#include "model/plan.h"
#include "model/unembed.h"
#include "model/visit.h"

/* What a feed holds for each of its sequences, and where their rows lie. */
static void begin_sequences(struct attn_forward *f)
{
    struct attn_feed *feed = &f->feed;

    for (size_t i = 0; i < feed->n_part; i++) {
        struct attn_feed_part *part = &f->parts[i];

        part->first = feed->n_row;
        part->left = feed->n_row;
        part->n_dropped = 0;
        part->n_edited = 0;
        feed->n_row += part->n_row;
        feed->has_edits = feed->has_edits || part->n_edit > 0;
        if (f->dropouts)
            attn_random_seed(&f->dropouts[i], f->attention[0].dropout_seed);
    }
}

/* The angles of all rows. */
static void fill_rotaries(struct attn_forward *f)
{
    for (size_t i = 0; i < f->n_rotary; i++)
        for (size_t sequence = 0; sequence < f->feed.n_part; sequence++) {
            const struct attn_feed_part *part = &f->parts[sequence];
            const size_t at = part->first * (f->rotaries[i].rope->d_rotary / 2);
            struct attn_rotary rows = f->rotaries[i];

            rows.cosines += at;
            rows.sines += at;
            attn_rotary_fill(&rows, f->engine.kernels, part->row0, part->n_row, f->feed.pool);
        }
}

void attn_decoder_begin(struct attn_forward *f, size_t n, struct attn_error *err)
{
    f->feed = (struct attn_feed){.n_part = n,
                                 .first_layer = ATTN_NO_LAYER,
                                 .layer = ATTN_NO_LAYER,
                                 .status = ATTN_OK,
                                 .err = err};
    f->pending.n_map = f->pending.n_visit = 0;
    begin_sequences(f);
    f->feed.n_left = f->feed.n_row;
    if (attn_plan_work(f, f->feed.n_row) >= ATTN_SHARED_WORK)
        f->feed.pool = f->pool;
    attn_engines_plan(&f->engines, &f->engine, &f->shape, f->attention, f->dims.n_layer,
                      f->parts[0].n_row);
    f->n_engine_row = f->parts[0].n_row;
    fill_rotaries(f);
}

/* resid[i] = embed[i] + W_pos[row0 + i], for each sequence */
static void add_positions(struct attn_forward *f)
{
    const struct attn_tensor *table = &f->model->weights.positions;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = f->dims.d_model, row_bytes = d * (attn_dtype_bits(table->dtype) / 8);

    if (f->model->config.positions != ATTN_POSITIONS_LEARNED)
        return;
    for (const struct attn_feed_part *part = f->parts; part < f->parts + f->feed.n_part; part++)
        for (size_t i = 0; i < part->n_row; i++) {
            const char *row = (const char *)table->data + (part->row0 + i) * row_bytes;
            float *x = f->resid + (part->first + i) * d;

            kernels->convert(row, table->dtype, d, f->vectors);
            kernels->add(x, f->vectors, d, x);
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

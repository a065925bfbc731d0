/*
 * resume.c - what a feed that begins in a middle layer takes from a capture of a whole run, besides
 * the stream: the inputs of layers (layer_inputs.c), and the keys and values of earlier layers that
 * others attend to.
 */
#include "forward/session_internal.h"
#include "forward/step_internal.h"

#include "model/config_internal.h"
#include "trace/blocks_internal.h"
#include "trace/capture.h"

#include <string.h>

struct attn_site_set attn_session_left_sites(const struct attn_config *config)
{
    struct attn_site_set sites = {0};

    if (config->d_layer_input > 0)
        attn_sites_add(&sites, ATTN_SITE_LAYER_INPUT);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (attn_config_shares_keys(config, layer))
            sites = attn_sites_join(sites, ATTN_SITES(ATTN_SITE_ROT_K, ATTN_SITE_V));
    return sites;
}

void attn_session_take_left(struct attn_session *session, const struct attn_capture *whole)
{
    session->forward.whole = whole;
}

/* Copies row after row of the input of LAYER to those of PART. */
static void take_input(const struct attn_forward *f, const struct attn_feed_part *part, int layer)
{
    const size_t width = f->model->config.d_layer_input, d = f->dims.n_layer * width;
    const struct attn_location at =
        attn_location_of_block(&f->dims, ATTN_SITE_LAYER_INPUT, layer, ATTN_ALL_HEADS);
    const float *from = attn_capture_tensor(f->whole, &at) + part->row0 * width;
    float *to = f->layer_inputs + part->first * d + (size_t)layer * width;

    for (size_t row = 0; row < part->n_row; row++)
        memcpy(to + row * d, from + row * width, width * sizeof *to);
}

/* Copies SITE of LAYER, its keys or values, to the rows TO of all sequences. */
static void take_heads(const struct attn_forward *f, const struct attn_feed_part *part,
                       enum attn_site site, int layer, float *to)
{
    const struct attn_layer_dims own = attn_config_layer_dims(&f->model->config, (size_t)layer);
    const size_t width = own.d_head, d = own.n_kv_head * width;

    for (size_t head = 0; head < own.n_kv_head; head++) {
        const struct attn_location at = attn_location_of_block(&f->dims, site, layer, (int)head);
        const float *from = attn_capture_head(f->whole, &at) + part->row0 * width;

        for (size_t row = 0; row < part->n_row; row++)
            memcpy(to + (part->first + row) * d + head * width, from + row * width,
                   width * sizeof *to);
    }
}

void attn_resume_step(struct attn_forward *f)
{
    const int n_layer = (int)f->dims.n_layer, first = f->feed.first_layer;

    for (size_t i = 0; i < f->feed.n_part && first < n_layer; i++) {
        const struct attn_feed_part *part = &f->parts[i];

        for (int layer = first; layer < n_layer && f->layer_inputs; layer++)
            take_input(f, part, layer);
        for (int layer = 0; layer < first + f->feed.has_z && f->shared; layer++) {
            const struct attn_shared_rows *rows = &f->shared[layer];

            if (!rows->k)
                continue;
            take_heads(f, part, ATTN_SITE_ROT_K, layer, rows->k);
            take_heads(f, part, ATTN_SITE_V, layer, rows->v);
        }
    }
}

/* kept_layers.c - see kept_layers.h. All tensors are in one block of memory; each site of a layer
 * is a range of rows. */
#include "gradient/kept_layers.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

struct attn_kept_layers {
    struct attn_pool *pool;
    struct attn_selection *selection; /* owns */
    struct attn_trace trace;
    size_t n, n_layer;
    size_t width[ATTN_N_SITE]; /* floats in a row; 0: the site is not kept */
    size_t begin[ATTN_N_SITE]; /* offset of the site within a layer, in floats per row */
    size_t n_layer_float;      /* floats in a layer */
    bool has_norms;
    float *rows; /* [n_layer][n_layer_float] owns */
};

static struct attn_site_set kept_sites(const struct attn_config *config)
{
    const struct attn_site_set raw = ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K);
    struct attn_site_set sites = ATTN_SITES(ATTN_SITE_V, ATTN_SITE_Z);

    if (config->positions == ATTN_POSITIONS_ROTARY)
        attn_sites_extend(&sites, ATTN_SITES(ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K));
    if (config->positions != ATTN_POSITIONS_ROTARY || attn_config_reads_raw_qk(config))
        attn_sites_extend(&sites, raw);
    return attn_sites_join(
        sites, ATTN_SITES(ATTN_SITE_RESID_MID, ATTN_SITE_MLP_PRE, ATTN_SITE_MLP_PRE_LINEAR));
}

/* Computes the widths and offsets of the sites. Returns the floats per row of a layer. */
static size_t lay_out(const struct attn_dims *dims, struct attn_site_set sites,
                      size_t width[ATTN_N_SITE], size_t begin[ATTN_N_SITE])
{
    size_t n = 0;

    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = (enum attn_site)i;
        const bool is_kept = attn_sites_have(attn_sites_common(sites, dims->sites), i);

        begin[i] = n;
        width[i] = is_kept ? attn_site_n_head(site, dims) * attn_site_width(site, dims) : 0;
        n += width[i];
    }
    return n;
}

size_t attn_kept_layers_size(const struct attn_config *config, size_t n)
{
    const struct attn_dims dims = attn_config_dims(config, n);
    size_t width[ATTN_N_SITE], begin[ATTN_N_SITE];
    const size_t n_float = lay_out(&dims, kept_sites(config), width, begin);

    return attn_size_mul(attn_size_mul(n_float * sizeof(float), n), dims.n_layer);
}

/* Implements attn_trace_fn: copies the rows of an event. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_kept_layers *kept = user;
    float *rows = kept->rows + (size_t)attn_location_block(&event->at) * kept->n_layer_float +
                  kept->begin[event->at.site] * kept->n;

    (void)err;
    attn_trace_keep_rows(event, kept->pool, kept->width[event->at.site], rows);
    return ATTN_OK;
}

static enum attn_status build(struct attn_kept_layers *kept, const struct attn_config *config,
                              struct attn_error *err)
{
    struct attn_dims dims = attn_config_dims(config, kept->n);
    const struct attn_site_set sites = attn_sites_common(kept_sites(config), dims.sites);

    dims.n_source = attn_config_has_cross(config) ? kept->n : 0;
    /* Factors of scores may be stored in rot_q and rot_k even in layers without rotation. */
    dims.lacking = NULL;
    ATTN_TRY(attn_selection_create(&dims, &kept->selection, err));
    ATTN_TRY(attn_selection_set_sites(kept->selection, sites, err));
    kept->trace =
        (struct attn_trace){.selection = kept->selection, .on_event = on_event, .user = kept};
    kept->n_layer = dims.n_layer;
    kept->n_layer_float = lay_out(&dims, sites, kept->width, kept->begin) * kept->n;
    kept->has_norms = attn_config_reads_raw_qk(config);
    kept->rows = attn_alloc_uninitialized(
        kept->n_layer, attn_size_mul(kept->n_layer_float, sizeof *kept->rows), err);
    return kept->rows ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_kept_layers_create(const struct attn_config *config, size_t n,
                                         struct attn_pool *pool, struct attn_kept_layers **kept,
                                         struct attn_error *err)
{
    struct attn_kept_layers *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->n = n;
    made->pool = pool;
    ATTN_RETURN_MADE(build(made, config, err), kept, made, attn_kept_layers_free);
}

const struct attn_trace *attn_kept_layers_trace(const struct attn_kept_layers *kept)
{
    return &kept->trace;
}

static const float *find(const struct attn_kept_layers *kept, int layer, enum attn_site site)
{
    return kept->width[site] == 0
               ? NULL
               : kept->rows + (size_t)layer * kept->n_layer_float + kept->begin[site] * kept->n;
}

struct attn_layer_values attn_kept_layers_of(const struct attn_kept_layers *kept, int layer)
{
    const bool is_turned = kept->width[ATTN_SITE_ROT_Q] > 0;

    return (struct attn_layer_values){
        .q = find(kept, layer, is_turned ? ATTN_SITE_ROT_Q : ATTN_SITE_Q),
        .k = find(kept, layer, is_turned ? ATTN_SITE_ROT_K : ATTN_SITE_K),
        .v = find(kept, layer, ATTN_SITE_V),
        .q_raw = kept->has_norms ? find(kept, layer, ATTN_SITE_Q) : NULL,
        .k_raw = kept->has_norms ? find(kept, layer, ATTN_SITE_K) : NULL,
        .z = find(kept, layer, ATTN_SITE_Z),
        .resid = find(kept, layer, ATTN_SITE_RESID_MID),
        .mlp = find(kept, layer, ATTN_SITE_MLP_PRE),
        .mlp_linear = find(kept, layer, ATTN_SITE_MLP_PRE_LINEAR),
    };
}

void attn_kept_layers_free(struct attn_kept_layers *kept)
{
    if (!kept)
        return;
    attn_selection_free(kept->selection);
    attn_free(kept->rows);
    attn_free(kept);
}

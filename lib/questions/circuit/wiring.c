/* wiring.c - see wiring.h. Products are in float32, norms and sums in double precision. */
#include "circuit/wiring.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "frame/asked.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "run/prepared_extra.h"
#include "trace/places_extra.h"
#include "trials/readout.h"
#include "trials/trial.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Nodes ------------------------------------------------------------------------------------ */

void attn_wire_node_name(const struct attn_wire_node *node, char name[ATTN_WIRE_NODE_NAME_SIZE])
{
    static const char letters[] = {
        [ATTN_WIRE_NODE_Q] = 'q', [ATTN_WIRE_NODE_K] = 'k', [ATTN_WIRE_NODE_V] = 'v'};

    switch (node->kind) {
    case ATTN_WIRE_NODE_INPUT:
    case ATTN_WIRE_NODE_LOGITS:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "%s",
                 node->kind == ATTN_WIRE_NODE_INPUT ? "input" : "logits");
        break;
    case ATTN_WIRE_NODE_HEAD:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "%zu.%d", node->layer, node->head);
        break;
    case ATTN_WIRE_NODE_MLP:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "%zu.mlp", node->layer);
        break;
    default:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "%zu.%d.%c", node->layer, node->head,
                 letters[node->kind]);
    }
}

/* Whether each layer of RUN has heads and an MLP. */
static bool has_both(const struct attn_run *run)
{
    const struct attn_dims *dims = attn_asked_dims(run);
    bool has_all = attn_model_config(attn_asked_model(run))->d_mlp > 0;

    for (size_t layer = 0; layer < dims->n_layer; layer++)
        for (int is_mlp = 0; is_mlp < 2; is_mlp++) {
            const struct attn_location at =
                attn_layer_at(dims, is_mlp ? ATTN_SITE_MLP_OUT : ATTN_SITE_Z, layer);

            has_all = has_all && !attn_location_is_lacking(dims, &at);
        }
    return has_all;
}

enum attn_status attn_wiring_check(const struct attn_run *run, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_asked_model(run));
    const char *obstacle =
        config->norm_place == ATTN_NORM_SUM    ? "normalizes its stream after each sum"
        : !config->has_residual                ? "has no residual stream"
        : config->is_encoder                   ? "is an encoder"
        : config->pooling != ATTN_POOLING_NONE ? "pools its rows"
        : config->layer_dims                   ? "has layers of unequal sizes"
        : config->n_expert > 0 && config->has_parallel_residual ? "has experts beside its heads"
        : attn_config_mixes_beside(config)                      ? "mixes tokens beside attention"
        : !has_both(run)                ? "has layers without attention or without an MLP"
        : attn_asked_source(run)->n > 0 ? "attends to a source"
                                        : NULL;
    size_t n_edit;

    if (obstacle)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' %s: edges are those of decoders whose layers all have heads and "
                           "an MLP that add to one stream",
                           attn_quote_string(attn_model_name(attn_asked_model(run))).text,
                           obstacle);
    attn_run_edits(run, ATTN_STACK_DECODER, &n_edit);
    if (n_edit > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "edges are computed without other edits");
    return attn_asked_model(run)->compute == ATTN_COMPUTE_F32
               ? ATTN_OK
               : attn_refuse(err, ATTN_STAGE_OPTIONS, "edges are computed with `compute f32`");
}

enum attn_status attn_wiring_list(const struct attn_config *config, struct attn_wiring *edges,
                                  struct attn_error *err)
{
    const size_t h = config->n_head, g = config->n_kv_head, l = config->n_layer;
    struct attn_wire_node *writer, *reader;

    edges->config = config;
    edges->d = config->d_model;
    edges->n_writer = 1 + l * (h + 1);
    edges->n_reader = l * (h + 2 * g + 1) + 1;
    ATTN_TRY(ATTN_STORE_ALLOC(&edges->store, edges->writers, edges->n_writer, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&edges->store, edges->readers, edges->n_reader, err));
    writer = edges->writers;
    reader = edges->readers;
    *writer++ = (struct attn_wire_node){ATTN_WIRE_NODE_INPUT, 0, -1, 0};
    for (size_t layer = 0; layer < l; layer++) {
        const size_t before = (size_t)(writer - edges->writers);

        for (size_t i = 0; i < h + 2 * g; i++)
            *reader++ = (struct attn_wire_node){i < h       ? ATTN_WIRE_NODE_Q
                                                : i < h + g ? ATTN_WIRE_NODE_K
                                                            : ATTN_WIRE_NODE_V,
                                                layer,
                                                (int)(i < h       ? i
                                                      : i < h + g ? i - h
                                                                  : i - h - g),
                                                before};
        for (size_t i = 0; i < h; i++)
            *writer++ = (struct attn_wire_node){ATTN_WIRE_NODE_HEAD, layer, (int)i, 0};
        *writer++ = (struct attn_wire_node){ATTN_WIRE_NODE_MLP, layer, -1, 0};
        *reader++ = (struct attn_wire_node){ATTN_WIRE_NODE_MLP, layer, -1,
                                            before + (config->has_parallel_residual ? 0 : h)};
    }
    *reader = (struct attn_wire_node){ATTN_WIRE_NODE_LOGITS, l, -1, edges->n_writer};
    edges->n_edge = 0;
    for (size_t r = 0; r < edges->n_reader; r++)
        edges->n_edge += edges->readers[r].n_read;
    return ATTN_OK;
}

static const struct attn_dims *dims_of(const struct attn_wiring *edges)
{
    return attn_asked_dims(edges->base);
}

static const struct attn_block_weights *block_of(const struct attn_wiring *edges, size_t layer)
{
    const size_t last = edges->config->n_layer - 1; /* the logits come after it */
    const struct attn_location at =
        attn_layer_at(dims_of(edges), ATTN_SITE_RESID_PRE, layer < last ? layer : last);

    return attn_block_at(&attn_asked_model(edges->base)->weights, &at);
}

/* Returns the kept tensor of SITE in LAYER, of HEAD unless that is -1. */
static const float *kept(const struct attn_wiring *edges, const struct attn_capture *capture,
                         enum attn_site site, size_t layer, int head)
{
    struct attn_location at = attn_layer_at(dims_of(edges), site, layer);

    at.head = head;
    return head < 0 ? attn_capture_tensor(capture, &at) : attn_capture_head(capture, &at);
}

/* --- Products and norms ----------------------------------------------------------------------- */

enum attn_status attn_wiring_run(struct attn_linear_args args, struct attn_pool *pool,
                                 struct attn_error *err)
{
    const struct attn_gemm_engine engine =
        attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);

    args.engine = &engine;
    return attn_linear_run_alone(&args, 1, pool, err);
}

/* Computes some columns of X [n_row, n_in] times LINEAR, with its bias, into Y. */
static enum attn_status multiply(const struct attn_linear *linear, const float *x, size_t n_row,
                                 const size_t columns[2], float *y, struct attn_error *err)
{
    return attn_wiring_run((struct attn_linear_args){.linear = linear,
                                                     .x = x,
                                                     .ldx = linear->weight.n_row,
                                                     .n_row = n_row,
                                                     .y = y,
                                                     .ldy = columns[1] - columns[0],
                                                     .first_col = columns[0],
                                                     .last_col = columns[1]},
                           NULL, err);
}

/* A norm, ready to process rows. */
struct norm {
    const struct attn_norm_weights *weights;
    const struct attn_config *config;
    double *factors, *bias; /* [d] */
    bool has_mean;
};

/* Returns the norm of WEIGHTS. NUMBERS [2, d] get its factors and its bias. */
static struct norm read_norm(const struct attn_wiring *edges,
                             const struct attn_norm_weights *weights, double *numbers)
{
    const size_t d = edges->d;

    attn_readout_factors(edges->config, weights, 0, d, numbers);
    attn_vector_elements(&weights->b, 0, d, numbers + d);
    return (struct norm){.weights = weights,
                         .config = edges->config,
                         .factors = numbers,
                         .bias = numbers + d,
                         .has_mean = attn_config_norms_mean(edges->config) != weights->is_other};
}

/* Sets Y [d] to X, centred if the norm does that, divided by the scale of SCALING [d]. */
static void scale_row(const struct norm *norm, size_t d, const double *x, const double *scaling,
                      double *y)
{
    const double scale = attn_readout_scale(norm->config, norm->weights, scaling, d);
    double mean = 0;

    for (size_t i = 0; norm->has_mean && i < d; i++)
        mean += x[i] / (double)d;
    for (size_t i = 0; i < d; i++)
        y[i] = (x[i] - mean) / scale;
}

/* --- Both runs -------------------------------------------------------------------------------- */

/* Keeps the tensors of RUN from which deltas are computed, and for the base the streams. */
static enum attn_status watch(const struct attn_wiring *edges, const struct attn_run *run,
                              struct attn_capture **capture, struct attn_session **session,
                              struct attn_error *err)
{
    const size_t l = edges->config->n_layer;
    const bool is_base = run == edges->base;
    struct attn_edit *tensors = attn_alloc(4 * l + 1, sizeof *tensors, err);
    struct attn_watch watch = {
        .edits = tensors, .is_silent = true, .capture = capture, .session = session};
    enum attn_status status;

    if (!tensors)
        return ATTN_NO_MEMORY;
    for (size_t layer = 0; layer < l; layer++) {
        tensors[watch.n_edit++].at = attn_layer_at(dims_of(edges), ATTN_SITE_Z, layer);
        tensors[watch.n_edit++].at = attn_layer_at(dims_of(edges), ATTN_SITE_MLP_OUT, layer);
        if (is_base || layer == 0)
            tensors[watch.n_edit++].at = attn_layer_at(dims_of(edges), ATTN_SITE_RESID_PRE, layer);
        if (is_base && !edges->config->has_parallel_residual)
            tensors[watch.n_edit++].at = attn_layer_at(dims_of(edges), ATTN_SITE_RESID_MID, layer);
    }
    if (is_base)
        tensors[watch.n_edit++].at = attn_layer_at(dims_of(edges), ATTN_SITE_RESID_POST, l - 1);
    status = attn_watch(run, &watch, err);
    attn_free(tensors);
    return status;
}

/* Sets Y [n] = A - B. */
static void subtract(const float *a, const float *b, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] - b[i];
}

/* Returns the map of HEAD in ROWS [H*Ev, d], the decoded W_O of its layer. */
static struct attn_linear map_of_head(const struct attn_wiring *edges, const float *rows,
                                      size_t head)
{
    const size_t width = edges->config->d_value, d = edges->d;

    return (struct attn_linear){.weight = {.data = rows + head * width * d,
                                           .dtype = ATTN_DTYPE_F32,
                                           .n_row = width,
                                           .n_col = d,
                                           .row_stride = d,
                                           .col_stride = 1,
                                           .group = d}};
}

/* Reads W_O of LAYER into ROWS [H*Ev, d]. SCRATCH is [Ev, d]. */
static void decode_out(const struct attn_wiring *edges, size_t layer, double *scratch, float *rows)
{
    const struct attn_matrix *out = &block_of(edges, layer)->out.weight;
    const size_t width = edges->config->d_value, n = width * edges->d;

    for (size_t head = 0; head < edges->config->n_head; head++) {
        attn_matrix_rows(out, head * width, width, scratch);
        for (size_t i = 0; i < n; i++)
            rows[head * n + i] = (float)scratch[i];
    }
}

/* Memory for a layer. */
struct layer_work {
    struct attn_store *store; /* owns; has the arrays */
    double *scratch;          /* [Ev, d] */
    float *rows;              /* [H*Ev, d] */
    float *z;                 /* [n, H*Ev] */
};

enum attn_status attn_wiring_set_sums(struct attn_wiring *edges, size_t layer, const float *z,
                                      struct attn_error *err)
{
    const size_t all[] = {0, edges->d};

    return edges->sums ? multiply(&block_of(edges, layer)->out, z, edges->n, all,
                                  edges->sums + layer * edges->n * edges->d, err)
                       : ATTN_OK;
}

/* Computes the deltas of the heads and the MLP of LAYER. */
static enum attn_status add_layer(struct attn_wiring *edges, const struct attn_capture *source,
                                  size_t layer, struct layer_work *work, struct attn_error *err)
{
    const size_t h = edges->config->n_head, width = edges->config->d_value;
    const size_t size = edges->n * edges->d, all[] = {0, edges->d};
    float *delta = edges->deltas + (1 + layer * (h + 1)) * size;

    decode_out(edges, layer, work->scratch, work->rows);
    for (size_t head = 0; head < h; head++, delta += size) {
        const struct attn_linear map = map_of_head(edges, work->rows, head);

        subtract(kept(edges, source, ATTN_SITE_Z, layer, (int)head),
                 kept(edges, edges->kept, ATTN_SITE_Z, layer, (int)head), edges->n * width,
                 work->z);
        ATTN_TRY(multiply(&map, work->z, edges->n, all, delta, err));
    }
    subtract(kept(edges, source, ATTN_SITE_MLP_OUT, layer, -1),
             kept(edges, edges->kept, ATTN_SITE_MLP_OUT, layer, -1), size, delta);
    for (size_t head = 0; edges->sums && head < h; head++)
        for (size_t row = 0; row < edges->n; row++)
            memcpy(work->z + (row * h + head) * width,
                   kept(edges, edges->kept, ATTN_SITE_Z, layer, (int)head) + row * width,
                   width * sizeof *work->z);
    return attn_wiring_set_sums(edges, layer, work->z, err);
}

static enum attn_status find_deltas(struct attn_wiring *edges, const struct attn_capture *source,
                                    struct layer_work *work, struct attn_error *err)
{
    const size_t n_z = edges->config->n_head * edges->config->d_value, size = edges->n * edges->d;
    const size_t n_sum = attn_size_mul(edges->config->n_layer, size);

    ATTN_TRY(ATTN_STORE_ALLOC(&work->store, work->scratch, edges->config->d_value * edges->d, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&work->store, work->rows, attn_size_mul(n_z, edges->d), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&work->store, work->z, attn_size_mul(n_z, edges->n), err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&edges->store, edges->deltas, attn_size_mul(edges->n_writer, size), err));
    if (block_of(edges, 0)->ln1_post.w.data)
        ATTN_TRY(ATTN_STORE_ALLOC(&edges->store, edges->sums, n_sum, err));
    subtract(kept(edges, source, ATTN_SITE_RESID_PRE, 0, -1),
             kept(edges, edges->kept, ATTN_SITE_RESID_PRE, 0, -1), size, edges->deltas);
    for (size_t layer = 0; layer < edges->config->n_layer; layer++)
        ATTN_TRY(add_layer(edges, source, layer, work, err));
    return ATTN_OK;
}

enum attn_status attn_wiring_open(const struct attn_run *base, const struct attn_run *source,
                                  struct attn_session **session, struct attn_wiring *edges,
                                  struct attn_error *err)
{
    struct attn_capture *capture = NULL;
    struct layer_work work = {.store = NULL};
    enum attn_status status;

    edges->base = base;
    edges->source = source;
    edges->n = attn_asked_n(base);
    ATTN_TRY(watch(edges, base, &edges->kept, NULL, err));
    status = watch(edges, source, &capture, session, err);
    ATTN_THEN(status,
              attn_error_at(find_deltas(edges, capture, &work, err), ATTN_STAGE_MODEL, err));
    attn_capture_free(capture);
    attn_store_release(&work.store);
    return status;
}

void attn_wiring_release(struct attn_wiring *edges)
{
    attn_capture_free(edges->kept);
    attn_store_release(&edges->store);
    *edges = (struct attn_wiring){.n = 0};
}

/* --- What travels along an edge --------------------------------------------------------------- */

/* Takes DX [d], a change of the input X of NORM, through it. */
static void pass_norm(const struct norm *norm, size_t d, enum attn_wire_norm how, const double *x,
                      double *dx, double *scratch)
{
    double *y = scratch, *sum = scratch + d;
    double dot = 0;

    switch (how) {
    case ATTN_WIRE_EXACT:
        for (size_t i = 0; i < d; i++)
            sum[i] = x[i] + dx[i];
        scale_row(norm, d, sum, sum, dx);
        scale_row(norm, d, x, x, y);
        for (size_t i = 0; i < d; i++)
            dx[i] -= y[i];
        break;
    case ATTN_WIRE_FROZEN:
        scale_row(norm, d, dx, x, y);
        memcpy(dx, y, d * sizeof *y);
        break;
    case ATTN_WIRE_TANGENT: /* with u = c(x) / s, v = c(dx) / s: v - u mean(u v) */
        scale_row(norm, d, x, x, sum);
        scale_row(norm, d, dx, x, y);
        for (size_t i = 0; i < d; i++)
            dot += sum[i] * y[i] / (double)d;
        for (size_t i = 0; i < d; i++)
            dx[i] = y[i] - sum[i] * dot;
        break;
    }
    for (size_t i = 0; i < d; i++)
        dx[i] *= norm->factors[i];
}

enum attn_status attn_wiring_after_heads(const struct attn_wiring *edges, size_t layer,
                                         enum attn_wire_norm how, const size_t rows[2], double *dx,
                                         struct attn_error *err)
{
    const struct attn_block_weights *weights = block_of(edges, layer);
    const double factor = edges->config->residual_scale > 0 ? edges->config->residual_scale : 1;
    const size_t d = edges->d, n = rows[1] - rows[0];
    double *scratch, *x;
    struct norm norm = {.factors = NULL};

    ATTN_TRY(ATTN_ALLOC(scratch, 5 * d, err));
    x = scratch + 4 * d;
    if (edges->sums)
        norm = read_norm(edges, &weights->ln1_post, scratch + 2 * d);
    for (size_t row = 0; edges->sums && row < n; row++) {
        const float *sum = edges->sums + (layer * edges->n + rows[0] + row) * d;

        for (size_t i = 0; i < d; i++)
            x[i] = (double)sum[i];
        pass_norm(&norm, d, how, x, dx + row * d, scratch);
    }
    if (weights->attn_scale.w.data)
        attn_vector_elements(&weights->attn_scale.w, 0, d, x);
    for (size_t row = 0; row < n; row++)
        for (size_t i = 0; i < d; i++)
            dx[row * d + i] *= factor * (weights->attn_scale.w.data ? x[i] : 1);
    attn_free(scratch);
    return ATTN_OK;
}

enum attn_status attn_wiring_delta(const struct attn_wiring *edges, size_t writer,
                                   enum attn_wire_norm how, const size_t rows[2], double *delta,
                                   struct attn_error *err)
{
    const struct attn_wire_node *node = &edges->writers[writer];
    const float *raw = edges->deltas + (writer * edges->n + rows[0]) * edges->d;

    for (size_t i = 0; i < (rows[1] - rows[0]) * edges->d; i++)
        delta[i] = (double)raw[i];
    return node->kind == ATTN_WIRE_NODE_HEAD
               ? attn_wiring_after_heads(edges, node->layer, how, rows, delta, err)
               : ATTN_OK;
}

const float *attn_wiring_stream(const struct attn_wiring *edges,
                                const struct attn_wire_node *reader)
{
    const size_t last = edges->config->n_layer - 1;

    if (reader->kind == ATTN_WIRE_NODE_LOGITS)
        return kept(edges, edges->kept, ATTN_SITE_RESID_POST, last, -1);
    return kept(edges, edges->kept,
                reader->kind == ATTN_WIRE_NODE_MLP && !edges->config->has_parallel_residual
                    ? ATTN_SITE_RESID_MID
                    : ATTN_SITE_RESID_PRE,
                reader->layer, -1);
}

/* --- What a reader makes of it ---------------------------------------------------------------- */

/* A tensor of a reader: some columns of a map of its normalized input, or, without a map, the input
 * itself. */
struct product {
    enum attn_site site;
    const struct attn_linear *linear; /* or NULL */
    size_t columns[2];
};

/* Lists the tensors of READER in PRODUCTS [2], and returns their number. */
static size_t list_products(const struct attn_wiring *edges, const struct attn_wire_node *reader,
                            struct product *products)
{
    const struct attn_config *config = edges->config;
    const struct attn_block_weights *weights = block_of(edges, reader->layer);
    const size_t head = reader->head < 0 ? 0 : (size_t)reader->head;
    const size_t width = reader->kind == ATTN_WIRE_NODE_V ? config->d_value : config->d_head;
    struct product product = {.columns = {head * width, (head + 1) * width}};

    switch (reader->kind) {
    case ATTN_WIRE_NODE_LOGITS:
        product.site = config->has_final_norm ? ATTN_SITE_LN_FINAL : ATTN_SITE_RESID_POST;
        product.columns[1] = edges->d;
        break;
    case ATTN_WIRE_NODE_MLP:
        if (attn_wiring_reads_stream(edges, reader)) {
            products[0] = (struct product){.site = ATTN_SITE_RESID_MID};
            products[1] = (struct product){.site = ATTN_SITE_RESID_POST};
            return 2;
        }
        product.columns[1] = config->d_mlp;
        product.site = ATTN_SITE_MLP_PRE_LINEAR;
        product.linear = &weights->mlp_in;
        if (config->has_gated_mlp) {
            products[1] = product;
            product.linear = &weights->mlp_gate;
        }
        product.site = ATTN_SITE_MLP_PRE;
        break;
    case ATTN_WIRE_NODE_Q:
        product.site = ATTN_SITE_Q;
        product.linear = &weights->q;
        break;
    case ATTN_WIRE_NODE_K:
        product.site = ATTN_SITE_K;
        product.linear = &weights->k;
        break;
    default:
        product.site = ATTN_SITE_V;
        product.linear = &weights->v;
    }
    products[0] = product;
    return reader->kind == ATTN_WIRE_NODE_MLP && config->has_gated_mlp ? 2 : 1;
}

/* Returns the limit of the tensor that READER makes, q, k or v; 0: there is none. */
static float limit_of(const struct attn_wiring *edges, const struct attn_wire_node *reader)
{
    const bool is_normed = edges->config->qk_norm == ATTN_QK_NORM_ALL_HEADS; /* before its limit */

    return reader->kind == ATTN_WIRE_NODE_V || (!is_normed && (reader->kind == ATTN_WIRE_NODE_Q ||
                                                               reader->kind == ATTN_WIRE_NODE_K))
               ? (float)edges->config->qkv_clip
               : 0;
}

/* Returns the norm before READER. */
static const struct attn_norm_weights *norm_before(const struct attn_wiring *edges,
                                                   const struct attn_wire_node *reader)
{
    const struct attn_weights *weights = &attn_asked_model(edges->base)->weights;
    const struct attn_block_weights *block = block_of(edges, reader->layer);

    return reader->kind == ATTN_WIRE_NODE_LOGITS ? &weights->ln_final
           : reader->kind == ATTN_WIRE_NODE_MLP && !edges->config->has_single_norm ? &block->ln2
                                                                                   : &block->ln1;
}

/* Normalizes the rows of INPUT into X [n_row, d]. */
static enum attn_status normalize(const struct attn_wiring *edges,
                                  const struct attn_wire_input *input, float *x,
                                  struct attn_error *err)
{
    const struct attn_norm_weights *weights = norm_before(edges, input->reader);
    const size_t d = edges->d;
    struct norm norm = {.factors = NULL};
    double *row;

    for (size_t i = 0; !weights->w.data && i < input->n_row * d; i++)
        x[i] = (float)input->x[i];
    if (!weights->w.data)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(row, 3 * d, err));
    norm = read_norm(edges, weights, row + d);
    for (size_t i = 0; i < input->n_row; i++) {
        scale_row(&norm, d, input->x + i * d, input->scaling + i * d, row);
        for (size_t k = 0; k < d; k++)
            x[i * d + k] = (float)(row[k] * norm.factors[k] + norm.bias[k]);
    }
    attn_free(row);
    return ATTN_OK;
}

enum attn_status attn_wiring_read(const struct attn_wiring *edges,
                                  const struct attn_wire_input *input, float *values,
                                  struct attn_error *err)
{
    struct product products[2];
    const size_t n = list_products(edges, input->reader, products);
    const struct product *product = &products[n > 1 && products[1].site == input->site];
    const bool reads_stream = attn_wiring_reads_stream(edges, input->reader);
    const size_t n_value = input->n_row * (product->columns[1] - product->columns[0]);
    const float limit = limit_of(edges, input->reader);
    float *x;
    enum attn_status status;

    for (size_t i = 0; reads_stream && i < input->n_row * edges->d; i++)
        values[i] = (float)input->x[i];
    if (reads_stream)
        return ATTN_OK;
    if (!product->linear)
        return normalize(edges, input, values, err);
    ATTN_TRY(ATTN_ALLOC(x, input->n_row * edges->d, err));
    status = normalize(edges, input, x, err);
    ATTN_THEN(status, multiply(product->linear, x, input->n_row, product->columns, values, err));
    for (size_t i = 0; status == ATTN_OK && limit > 0 && i < n_value; i++)
        values[i] = fminf(fmaxf(values[i], -limit), limit);
    attn_free(x);
    return status;
}

const struct attn_wire_node *attn_wiring_reader_at(const struct attn_wiring *edges,
                                                   const struct attn_location *at)
{
    const size_t h = edges->config->n_head, g = edges->config->n_kv_head;
    const size_t head = at->head > 0 ? (size_t)at->head : 0;
    size_t i = h + 2 * g;

    switch (at->site) {
    case ATTN_SITE_RESID_POST:
    case ATTN_SITE_RESID_POST_GRAD:
    case ATTN_SITE_LN_FINAL:
        return &edges->readers[edges->n_reader - 1];
    case ATTN_SITE_Q:
    case ATTN_SITE_Q_GRAD:
        i = head;
        break;
    case ATTN_SITE_K:
    case ATTN_SITE_K_GRAD:
        i = h + head;
        break;
    case ATTN_SITE_V:
    case ATTN_SITE_V_GRAD:
        i = h + g + head;
        break;
    default: /* of an MLP */
        break;
    }
    return &edges->readers[attn_location_index(at) * (h + 2 * g + 1) + i];
}

enum attn_status attn_wiring_decode(const struct attn_wiring *edges, float **outs,
                                    struct attn_error *err)
{
    const struct attn_config *config = edges->config;
    const size_t n = config->n_head * config->d_value * edges->d;
    enum attn_status status;
    double *scratch;

    ATTN_TRY(ATTN_ALLOC(scratch, config->d_value * edges->d, err));
    status = ATTN_ALLOC(*outs, attn_size_mul(config->n_layer, n), err);
    for (size_t layer = 0; status == ATTN_OK && layer < config->n_layer; layer++)
        decode_out(edges, layer, scratch, *outs + layer * n);
    attn_free(scratch);
    return status;
}

enum attn_status attn_wiring_write(const struct attn_wiring *edges, const float *outs,
                                   const struct attn_trace_event *event, const float *values,
                                   float *now, struct attn_error *err)
{
    const size_t layer = attn_location_index(&event->at), h = edges->config->n_head;
    const bool is_head = event->at.site == ATTN_SITE_Z;
    const int head = is_head ? event->at.head : -1;
    const size_t n = event->n_row * event->n_col, all[] = {0, edges->d};
    const size_t writer = 1 + layer * (h + 1) + (is_head ? (size_t)head : h);
    const float *base = kept(edges, edges->kept, event->at.site, layer, head);
    float *to = now + (writer * edges->n + event->row0) * edges->d, *z;
    enum attn_status status;

    base += event->row0 * event->n_col;
    if (!is_head) {
        subtract(values, base, n, to);
        return ATTN_OK;
    }
    const struct attn_linear map =
        map_of_head(edges, outs + layer * h * edges->config->d_value * edges->d, (size_t)head);

    ATTN_TRY(ATTN_ALLOC(z, n, err));
    subtract(values, base, n, z);
    status = multiply(&map, z, event->n_row, all, to, err);
    attn_free(z);
    return status;
}

/* Takes the gradient D [d], a row, to that of the input X [d] of NORM. SCRATCH is [3, d]. */
static void back_row(const struct norm *norm, size_t d, const float *x, const float *dy,
                     double *scratch, float *dx)
{
    double *row = scratch, *u = scratch + d, *g = scratch + 2 * d, dot = 0;

    for (size_t i = 0; i < d; i++) {
        u[i] = (double)x[i];
        g[i] = norm->factors[i] * (double)dy[i];
    }
    scale_row(norm, d, g, u, row);
    scale_row(norm, d, u, u, u);
    for (size_t i = 0; i < d; i++)
        dot += row[i] * u[i] / (double)d;
    for (size_t i = 0; i < d; i++)
        dx[i] += (float)(row[i] - u[i] * dot);
}

/* Sets D [rows, columns] to the rows of EVENT, the gradient of a tensor that READER makes of X, and
 * to 0 where the tensor is at its limit. */
static enum attn_status stop_at_limit(const struct attn_wiring *edges,
                                      const struct attn_wire_node *reader,
                                      const struct attn_trace_event *event, const float *x,
                                      float *d, struct attn_error *err)
{
    const size_t n = event->n_row * edges->d, n_col = event->n_col;
    const float limit = limit_of(edges, reader);
    double *stream = attn_alloc(n, sizeof *stream, err);
    float *values = attn_alloc(event->n_row, n_col * sizeof *values, err);
    const struct attn_wire_input input = {.reader = reader,
                                          .site = event->at.site,
                                          .n_row = event->n_row,
                                          .x = stream,
                                          .scaling = stream};
    enum attn_status status = stream && values ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        stream[i] = (double)x[i];
    ATTN_THEN(status, attn_wiring_read(edges, &input, values, err));
    for (size_t i = 0; status == ATTN_OK && i < event->n_row * n_col; i++)
        d[i] = fabsf(values[i]) < limit ? event->data[i / n_col * event->ld + i % n_col] : 0;
    attn_free(stream);
    attn_free(values);
    return status;
}

enum attn_status attn_wiring_back(const struct attn_wiring *edges,
                                  const struct attn_wire_node *reader,
                                  const struct attn_trace_event *event, const float *x, float *dx,
                                  struct attn_error *err)
{
    const struct attn_norm_weights *weights = norm_before(edges, reader);
    const size_t d = edges->d, n = event->n_row;
    struct product products[2];
    const bool is_second = list_products(edges, reader, products) > 1 &&
                           event->at.site == ATTN_SITE_MLP_PRE_LINEAR_GRAD;
    const struct attn_linear *linear = products[is_second].linear;
    const size_t first = products[is_second].columns[0];
    struct norm norm = {.factors = NULL};
    double *scratch = attn_alloc(5, d * sizeof *scratch, err);
    float *product = attn_alloc(n, d * sizeof *product, err);
    const bool has_limit = limit_of(edges, reader) > 0;
    float *below = has_limit ? attn_alloc(n, event->n_col * sizeof *below, err) : NULL;
    enum attn_status status =
        scratch && product && (below || !has_limit) ? ATTN_OK : ATTN_NO_MEMORY;

    assert(linear); /* the logits and experts have none */
    struct attn_linear part = *linear;

    /* the columns of a head are a group of the matrix, or lie in the only one */
    part.weight.data =
        (const char *)part.weight.data +
        attn_dtype_n_byte(part.weight.dtype, attn_matrix_column_at(&part.weight, first));
    part.weight.n_col = event->n_col;
    part.packed = NULL;
    if (status == ATTN_OK && below)
        status = stop_at_limit(edges, reader, event, x, below, err);
    if (status == ATTN_OK)
        status = attn_wiring_run((struct attn_linear_args){.linear = &part,
                                                           .x = below ? below : event->data,
                                                           .ldx = below ? event->n_col : event->ld,
                                                           .n_row = n,
                                                           .y = product,
                                                           .ldy = d,
                                                           .last_col = d,
                                                           .is_transposed = true},
                                 attn_host_pool(attn_asked_host(edges->base), 1e9), err);
    if (status == ATTN_OK && weights->w.data)
        norm = read_norm(edges, weights, scratch + 3 * d);
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        if (weights->w.data)
            back_row(&norm, d, x + i * d, product + i * d, scratch, dx + i * d);
        else
            for (size_t k = 0; k < d; k++)
                dx[i * d + k] += product[i * d + k];
    attn_free(scratch);
    attn_free(product);
    attn_free(below);
    return status;
}

enum attn_status attn_wiring_edit(const struct attn_wiring *edges,
                                  const struct attn_wire_node *reader, attn_edit_fn function,
                                  void *user, struct attn_part_edits *edits, struct attn_error *err)
{
    struct product products[2];
    const size_t n = list_products(edges, reader, products);

    for (size_t i = 0; i < n; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        const size_t last = edges->config->n_layer - 1;

        edit.at = products[i].site == ATTN_SITE_LN_FINAL
                      ? (struct attn_location){.site = ATTN_SITE_LN_FINAL, .layer = ATTN_NO_LAYER}
                      : attn_layer_at(dims_of(edges), products[i].site,
                                      reader->layer < last ? reader->layer : last);
        edit.at.head = reader->head < 0 ? ATTN_ALL_HEADS : reader->head;
        edit.op = ATTN_EDIT_FUNCTION;
        edit.function = function;
        edit.user = user;
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    return ATTN_OK;
}

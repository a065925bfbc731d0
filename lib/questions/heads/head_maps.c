/* head_maps.c - see head_maps.h. The vocabulary is met once, not once a head: (W_O W_U)(W_E
 * W_V) = W_O (W_U W_E) W_V. The products of a part of the vocabulary are float32, as in a run; the
 * parts are added in double precision, in the order of the tokens. */
#include "heads/head_maps.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "forward/session_internal.h"
#include "kernels/kernels.h"
#include "measures/decompose.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"
#include "trials/readout.h"

#include <math.h>
#include <string.h>

/* --- Folding ---------------------------------------------------------------------------------- */

enum attn_status attn_head_weights_check(const struct attn_model *model, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const char *why = config->is_encoder                                 ? "it is an encoder"
                      : config->stack.has_encoder || config->is_cross[0] ? "it reads a source"
                      : config->norm_place == ATTN_NORM_SUM ? "its norms come after the sums"
                      : config->output != ATTN_OUTPUT_TIED && config->output != ATTN_OUTPUT_OWN
                          ? "it has no output matrix"
                      : config->d_embed != config->d_model || config->has_output_map
                          ? "its embedding is not as wide as its stream"
                      : !config->has_projections || !config->has_out_proj ? "its heads have no maps"
                                                                          : NULL;

    return why ? attn_error_set(err, ATTN_INVALID, "'%s' has no heads to read from weights: %s",
                                attn_quote_string(attn_model_name(model)).text, why)
               : ATTN_OK;
}

/* One of the maps from the stream, and where its heads go. */
struct reading {
    const struct attn_linear *map;       /* [D, n * width] */
    const struct attn_norm_weights *own; /* the norm of its results; or NULL */
    size_t n, width;
    double *heads; /* [n, D, width] */
};

/* Reads the heads of R. SCRATCH is [D, n * width + 1]. */
static void read_map(const struct attn_config *config, const struct attn_norm_weights *norm,
                     const struct reading *r, double *scratch)
{
    const size_t d = config->d_model, n = r->n * r->width;
    const bool is_shared = r->own && r->own->w.n == r->width;
    double *rows = scratch + d;

    attn_matrix_rows(&r->map->weight, 0, d, rows);
    if (norm->w.data)
        attn_readout_before_norm(config, norm, 1, n, scratch, rows);
    for (size_t head = 0; head < r->n; head++)
        for (size_t j = 0; j < r->width; j++) {
            double own = 1;

            if (r->own && r->own->w.data)
                attn_readout_factors(config, r->own, is_shared ? j : head * r->width + j, 1, &own);
            for (size_t i = 0; i < d; i++)
                r->heads[(head * d + i) * r->width + j] = rows[i * n + head * r->width + j] * own;
        }
}

enum attn_status attn_layer_factors_create(struct attn_frame *frame,
                                           struct attn_layer_factors *factors,
                                           struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_host_model(frame->host));
    const size_t d = config->d_model, e = config->d_head, ev = config->d_value;
    const size_t n = config->n_head, n_kv = config->n_kv_head, widest = n * (e > ev ? e : ev);

    *factors = (struct attn_layer_factors){
        .d_model = d, .n_head = n, .n_kv_head = n_kv, .d_head = e, .d_value = ev};
    factors->q = attn_frame_alloc(frame, (n + n_kv) * (e + ev) + widest + 1, d * sizeof(double));
    ATTN_TRY(attn_frame_memory(frame, err));
    factors->k = factors->q + n * d * e;
    factors->v = factors->k + n_kv * d * e;
    factors->out = factors->v + n_kv * d * ev;
    factors->scratch = factors->out + n * ev * d;
    return ATTN_OK;
}

enum attn_status attn_layer_factors_read(const struct attn_model *model,
                                         const struct attn_location *at,
                                         const struct attn_layer_factors *factors,
                                         struct attn_error *err)
{
    const int layer = (int)attn_config_weights_layer(&model->config, attn_location_index(at));
    const struct attn_config *config = attn_model_config(model);
    const struct attn_block_weights *block = attn_block_at(&model->weights, at);
    const size_t d = factors->d_model, e = factors->d_head, ev = factors->d_value;
    const size_t n = factors->n_head, n_kv = factors->n_kv_head;
    const struct reading readings[] = {{&block->q, &block->q_norm, n, e, factors->q},
                                       {&block->k, &block->k_norm, n_kv, e, factors->k},
                                       {&block->v, NULL, n_kv, ev, factors->v}};

    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        read_map(config, &block->ln1, &readings[i], factors->scratch);
    attn_matrix_rows(&block->out.weight, 0, n * ev, factors->out);
    if (block->ln1_post.w.data)
        attn_readout_factors(config, &block->ln1_post, 0, d, factors->scratch);
    for (size_t i = 0; block->ln1_post.w.data && i < n * ev * d; i++)
        factors->out[i] *= factors->scratch[i % d];
    for (const double *x = factors->q; x < factors->scratch; x++)
        if (!isfinite(*x))
            return attn_error_at(attn_weights_find_non_finite(model->naming, model->st, layer, err),
                                 ATTN_STAGE_MODEL, err);
    return ATTN_OK;
}

/* --- The vocabulary --------------------------------------------------------------------------- */

enum { TOKENS = 512 };                 /* of a part of the vocabulary */
enum { PLAIN, MLP0, UNEMBED, N_ROWS }; /* the rows of a part */
enum { N_PRODUCT = 2 * ATTN_N_VOCABULARY };

/* A part of the vocabulary, and its sums. */
struct meeting {
    const struct attn_model *model;
    struct attn_vocabulary_products *products;
    struct attn_session *session; /* owns; layer 0 without attention */
    struct attn_store *store;     /* owns; has the arrays */
    struct attn_gemm_engine engine;
    size_t d, first, n;                   /* tokens first to first + n - 1 */
    const struct attn_norm_weights *norm; /* before a layer */
    float *rows[N_ROWS];                  /* [TOKENS, D] what meets */
    float *turned[N_ROWS];                /* [D, TOKENS] the same */
    float *parts[N_PRODUCT];              /* [D, D] what the part adds */
    double *columns;                      /* [TOKENS, 2, D] of W_U, and scratch */
    double *sums[N_ROWS];                 /* [D] over all tokens */
};

/* Copies the rows after layer 0 (attn_trace_fn). */
static enum attn_status keep_rows(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    const struct meeting *m = user;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        memcpy(m->rows[MLP0] + (event->row0 + r) * m->d, event->data + r * event->ld,
               m->d * sizeof(float));
    return ATTN_OK;
}

/* Finishes the rows of token number TASK of the part (attn_task_fn). */
static void finish_token(void *context, size_t task, int worker)
{
    const struct meeting *m = context;
    const struct attn_config *config = attn_model_config(m->model);
    const struct attn_weights *weights = &m->model->weights;
    const size_t d = m->d;
    float *later = m->rows[MLP0] + task * d;
    double *row = m->columns + task * 2 * d, scale;

    (void)worker;
    for (size_t i = 0; i < d; i++)
        row[i] = (double)later[i];
    scale = m->norm->w.data ? attn_readout_scale(config, m->norm, row, d) : 1;
    for (size_t i = 0; i < d; i++)
        later[i] = (float)(row[i] / scale);
    attn_matrix_column(&weights->unembed.weight, m->first + task, row);
    if (weights->ln_final.w.data)
        attn_readout_before_norm(config, &weights->ln_final, 1, 1, row + d, row);
    for (size_t i = 0; i < d; i++)
        m->rows[UNEMBED][task * d + i] = (float)row[i];
    for (int k = 0; k < N_ROWS; k++)
        for (size_t i = 0; i < d; i++)
            m->turned[k][i * TOKENS + task] = m->rows[k][task * d + i];
}

/* Adds component TASK of the part to the sums (attn_task_fn). */
static void add_row(void *context, size_t task, int worker)
{
    const struct meeting *m = context;

    (void)worker;
    for (int k = 0; k < N_PRODUCT; k++) {
        const float *part = m->parts[k] + task * m->d;
        double *const *products =
            k < ATTN_N_VOCABULARY ? m->products->copying : m->products->matching;
        double *product = products[k % ATTN_N_VOCABULARY] + task * m->d;

        for (size_t j = 0; j < m->d; j++)
            product[j] += (double)part[j];
    }
    for (int k = 0; k < N_ROWS; k++)
        for (size_t t = 0; t < m->n; t++)
            m->sums[k][task] += (double)m->turned[k][task * TOKENS + t];
}

static enum attn_status meet_part(struct meeting *m, struct attn_pool *pool, struct attn_error *err)
{
    const struct attn_location start = {.layer = 0};
    struct attn_linear maps[ATTN_N_VOCABULARY];
    struct attn_linear_args args[N_PRODUCT];
    int32_t ids[TOKENS];

    for (size_t t = 0; t < m->n; t++)
        ids[t] = (int32_t)(m->first + t);
    ATTN_TRY(attn_model_embed(m->model, ids, m->n, m->rows[PLAIN], err));
    attn_session_reset(m->session);
    ATTN_TRY(attn_session_feed_layer(m->session, &start, m->rows[PLAIN], NULL, m->n, err));
    attn_pool_run(pool, m->n, finish_token, m);
    for (int which = 0; which < ATTN_N_VOCABULARY; which++)
        maps[which] = (struct attn_linear){.weight = {.data = m->rows[which],
                                                      .dtype = ATTN_DTYPE_F32,
                                                      .n_row = m->n,
                                                      .n_col = m->d,
                                                      .row_stride = m->d,
                                                      .col_stride = 1,
                                                      .group = m->d}};
    for (int k = 0; k < N_PRODUCT; k++)
        args[k] = (struct attn_linear_args){
            .linear = &maps[k % ATTN_N_VOCABULARY],
            .engine = &m->engine,
            .x = m->turned[k < ATTN_N_VOCABULARY ? UNEMBED : k % ATTN_N_VOCABULARY],
            .ldx = TOKENS,
            .n_row = m->d,
            .y = m->parts[k],
            .ldy = m->d,
            .last_col = m->d};
    ATTN_TRY(attn_linear_run_alone(args, N_PRODUCT, pool, err));
    attn_pool_run(pool, m->d, add_row, m);
    return ATTN_OK;
}

/* Subtracts the mean of W_U over the N tokens. */
static void subtract_mean(const struct meeting *m, size_t n)
{
    for (int which = 0; which < ATTN_N_VOCABULARY; which++)
        for (size_t i = 0; i < m->d * m->d; i++)
            m->products->copying[which][i] -=
                m->sums[UNEMBED][i / m->d] / (double)n * m->sums[which][i % m->d];
}

/* Creates the session that adds the MLP of layer 0 to rows, and the memory. */
static enum attn_status begin_meeting(struct meeting *m, const struct attn_trace *trace,
                                      const struct attn_host *host, struct attn_error *err)
{
    struct attn_edit off = ATTN_EDIT_DEFAULT;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    for (int k = 0; k < N_ROWS; k++) {
        ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->rows[k], TOKENS * m->d, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->turned[k], TOKENS * m->d, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->sums[k], m->d, err));
    }
    for (int k = 0; k < N_PRODUCT; k++)
        ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->parts[k], m->d * m->d, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->columns, m->d * 2 * TOKENS, err));
    off.at.layer = 0;
    off.at.site = attn_config_is_mixer(attn_model_config(m->model), 0) ? ATTN_SITE_MIXER_OUT
                                                                       : ATTN_SITE_ATTN_OUT;
    options.n_max =
        attn_model_config(m->model)->n_ctx < TOKENS ? attn_model_config(m->model)->n_ctx : TOKENS;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.pool = attn_host_pool(host, 1e9);
    options.trace = trace;
    options.edits = &off;
    options.n_edit = 1;
    options.cancel = attn_host_opened_with(host)->cancel;
    options.needs_float32 = true;
    return attn_session_create(m->model, &options, &m->session, err);
}

static enum attn_status meet_all(struct meeting *m, const struct attn_host *host,
                                 struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(m->model);
    const size_t n = config->n_token < config->n_vocab ? config->n_token : config->n_vocab;
    const size_t n_part = config->n_ctx < TOKENS ? config->n_ctx : TOKENS;

    for (m->first = 0; m->first < n; m->first += m->n) {
        m->n = n - m->first < n_part ? n - m->first : n_part;
        ATTN_TRY(meet_part(m, attn_host_pool(host, 1e9), err));
        ATTN_TRY(attn_host_check_canceled(host, err));
    }
    subtract_mean(m, n);
    return ATTN_OK;
}

static void release_meeting(struct meeting *m)
{
    attn_session_free(m->session);
    attn_store_release(&m->store);
}

enum attn_status attn_vocabulary_products_find(struct attn_frame *frame,
                                               struct attn_vocabulary_products *products,
                                               struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(frame->host);
    const struct attn_config *config = attn_model_config(model);
    const struct attn_location last = {.layer = (int)config->n_layer - 1};
    const struct attn_dims dims = attn_config_dims(config, TOKENS);
    struct attn_selection *selection;
    struct meeting m = {.model = model,
                        .products = products,
                        .d = config->d_model,
                        .norm = &attn_block_at(&model->weights, &last)->ln1,
                        .engine = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 1e12)};
    enum attn_status status;

    for (int which = 0; which < ATTN_N_VOCABULARY; which++) {
        products->copying[which] = attn_frame_alloc(frame, m.d * m.d, sizeof(double));
        products->matching[which] = attn_frame_alloc(frame, m.d * m.d, sizeof(double));
    }
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    const struct attn_trace trace = {.selection = selection, .on_event = keep_rows, .user = &m};

    status = attn_selection_set_sites(selection, ATTN_SITES(ATTN_SITE_RESID_POST), err);
    ATTN_THEN(status, attn_selection_set_layers(selection, "0", err));
    ATTN_THEN(status, begin_meeting(&m, &trace, frame->host, err));
    ATTN_THEN(status, meet_all(&m, frame->host, err));
    release_meeting(&m);
    attn_selection_free(selection);
    return status;
}

/* --- A head ----------------------------------------------------------------------------------- */

void attn_head_maps_multiply(const double *a, const double *b, size_t m, size_t k, size_t n,
                             double *c)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    memset(c, 0, m * n * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < k; j++)
            kernels->add_product(1, a[i * k + j], b + j * n, n, c + i * n);
}

void attn_head_maps_turn(const double *a, size_t m, size_t n, double *b)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            b[j * m + i] = a[i * n + j];
}

size_t attn_head_map_copy(const struct attn_layer_factors *factors, size_t head,
                          enum attn_head_map map, double *a, double *b)
{
    const size_t d = factors->d_model, key_head = head / (factors->n_head / factors->n_kv_head);
    const size_t n = map == ATTN_HEAD_MAP_OV ? factors->d_value : factors->d_head;

    if (map == ATTN_HEAD_MAP_OV) {
        memcpy(a, factors->v + key_head * d * n, d * n * sizeof *a);
        attn_head_maps_turn(factors->out + head * n * d, n, d, b);
    } else {
        memcpy(a, factors->q + head * d * n, d * n * sizeof *a);
        memcpy(b, factors->k + key_head * d * n, d * n * sizeof *b);
    }
    return n;
}

/* Returns the sizes of A B^T for A and B [d, n], which are overwritten. SCRATCH [3 n n + 2 n]. */
static struct attn_map_sizes sizes_of(double *a, double *b, size_t d, size_t n, double *scratch)
{
    double *ra = scratch, *rb = ra + n * n, *k = rb + n * n, *s = k + n * n, sum = 0;
    struct attn_map_sizes sizes;

    attn_qr(a, d, n, s);
    attn_qr_triangle(a, d, n, ra);
    attn_qr(b, d, n, s);
    attn_qr_triangle(b, d, n, k);
    attn_head_maps_turn(k, n, n, rb);
    attn_head_maps_multiply(ra, rb, n, n, n, k);
    attn_svd(k, n, s, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        sum += s[i] * s[i];
    sizes.norm = sqrt(sum);
    sizes.top = s[0];
    sizes.rank = sum / (s[0] * s[0]);
    return sizes;
}

/* Returns sum Re l / sum |l| over the eigenvalues l of L P R, for L [n, d], P [d, d] and R [d, n].
 * SCRATCH [d n + n n + 2 n]. */
static double share_of(const double *left, const double *p, const double *right, size_t d, size_t n,
                       double *scratch)
{
    double *lp = scratch, *k = lp + d * n, *real = k + n * n, *imaginary = real + n;
    double sum = 0, size = 0;

    attn_head_maps_multiply(left, p, n, d, d, lp);
    attn_head_maps_multiply(lp, right, n, d, n, k);
    if (!attn_eigenvalues(k, n, real, imaginary))
        return (double)NAN;
    for (size_t i = 0; i < n; i++) {
        sum += real[i];
        size += sqrt(real[i] * real[i] + imaginary[i] * imaginary[i]);
    }
    return sum / size;
}

size_t attn_head_numbers_scratch(const struct attn_layer_factors *factors)
{
    const size_t n = factors->d_head > factors->d_value ? factors->d_head : factors->d_value;

    return 3 * factors->d_model * n + 3 * n * n + 2 * n;
}

void attn_head_numbers_find(const struct attn_layer_factors *factors,
                            const struct attn_vocabulary_products *products, size_t head,
                            double *scratch, struct attn_head_numbers *numbers)
{
    const size_t d = factors->d_model, e = factors->d_head, ev = factors->d_value;
    const size_t key_head = head / (factors->n_head / factors->n_kv_head);
    const double *q = factors->q + head * d * e, *k = factors->k + key_head * d * e;
    const double *v = factors->v + key_head * d * ev, *out = factors->out + head * ev * d;
    const size_t widest = d * (e > ev ? e : ev);
    double *a = scratch, *b = a + widest, *rest = b + widest;

    attn_head_map_copy(factors, head, ATTN_HEAD_MAP_OV, a, b);
    numbers->ov = sizes_of(a, b, d, ev, rest);
    attn_head_map_copy(factors, head, ATTN_HEAD_MAP_QK, a, b);
    numbers->qk = sizes_of(a, b, d, e, rest);
    attn_head_maps_turn(k, d, e, a);
    for (int which = 0; which < ATTN_N_VOCABULARY; which++) {
        numbers->copying[which] = share_of(out, products->copying[which], v, d, ev, b);
        numbers->matching[which] = share_of(a, products->matching[which], q, d, e, b);
    }
}

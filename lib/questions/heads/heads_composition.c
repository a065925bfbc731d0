/* heads_composition.c - `heads` from weights alone: how much of what a head writes lies where a
 * later head reads (Elhage et al. 2021).
 *
 * The score of W_OV = V O of the earlier head and X = C F^T of the later one is |A B| / (|A| |B|)
 * for A = R_V O and B = C R_F^T, with the triangles of the QR decompositions of V and F: these have
 * the norms of W_OV and X. A and B are made in double precision; their products are float32, as in
 * a run, and are squared and added in double precision. */
#include "heads/heads_internal.h"

#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "frame/questions_internal.h"
#include "heads/head_maps.h"
#include "kernels/linear.h"
#include "measures/decompose.h"
#include "run/host_internal.h"

#include <math.h>

/* The layers whose heads are shown, and what their heads write. */
struct composition {
    struct attn_frame frame; /* must be the first member */
    enum attn_heads_composition reads;
    struct attn_parts parts;           /* the heads that are shown */
    struct attn_layer_factors factors; /* of the layer that is read */
    struct attn_gemm_engine engine;
    size_t d, n_head, n_write, n_read; /* numbers of columns of V and of F */
    float **writers;                   /* [parts.n] A of all heads, [n_head, n_write, D], at
                                          the first head of a layer */
    double *writer_norms;              /* [parts.n, n_head] */
    float *readers;                    /* [D, n_head, n_read]; B of the layer that is read */
    double *reader_norms;              /* [n_head] */
    float *products;                   /* [n_head, n_write, n_head, n_read] */
    double *scores;                    /* [n_head, n_head] of an earlier and the read layer */
    double *scratch;                   /* [threads, n_scratch] */
    size_t n_scratch;
    size_t layer, earlier; /* the first parts of the layers that are compared */
};

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct composition *c = state;
    struct attn_frame *frame = &c->frame;
    const struct attn_part *parts;

    ATTN_TRY(
        attn_head_weights_list(frame, frame->request.selection.heads, "heads", &c->parts, err));
    parts = c->parts.items;
    if (c->parts.n > 0 && parts[0].at.layer != parts[c->parts.n - 1].at.layer)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "`composition` is of heads in different layers, and there are none");
}

/* Writes X [m, n] to FLOATS, whose rows lie LD floats apart. Returns its Frobenius norm. */
static double keep(const double *x, size_t m, size_t n, float *floats, size_t ld)
{
    double sum = 0;

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            floats[i * ld + j] = (float)x[i * n + j];
            sum += x[i * n + j] * x[i * n + j];
        }
    return sqrt(sum);
}

/* Replaces R [n, n] by the triangle of A [d, n], which is overwritten. TAU is [2 n]. */
static void find_triangle(double *a, size_t d, size_t n, double *tau, double *r)
{
    attn_qr(a, d, n, tau);
    attn_qr_triangle(a, d, n, r);
}

/* Makes A and B of head TASK of the layer (attn_task_fn). */
static void make_factors(void *context, size_t task, int worker)
{
    const struct composition *c = context;
    const size_t d = c->d, nw = c->n_write, nr = c->n_read, n = nw > nr ? nw : nr;
    double *a = c->scratch + (size_t)worker * c->n_scratch, *b = a + d * n, *product = b + d * n;
    double *r = product + d * n, *turned = r + n * n, *tau = turned + n * n;
    double *left = c->reads == ATTN_HEADS_COMPOSITION_K ? b : a, *right = left == a ? b : a;

    attn_head_map_copy(&c->factors, task,
                       c->reads == ATTN_HEADS_COMPOSITION_V ? ATTN_HEAD_MAP_OV : ATTN_HEAD_MAP_QK,
                       a, b);
    find_triangle(right, d, nr, tau, r);
    attn_head_maps_turn(r, nr, nr, turned);
    attn_head_maps_multiply(left, turned, d, nr, nr, product);
    c->reader_norms[task] = keep(product, d, nr, c->readers + task * nr, c->n_head * nr);
    attn_head_map_copy(&c->factors, task, ATTN_HEAD_MAP_OV, a, b);
    find_triangle(a, d, nw, tau, r);
    attn_head_maps_multiply(r, c->factors.out + task * nw * d, nw, nw, d, product);
    c->writer_norms[c->layer * c->n_head + task] =
        keep(product, nw, d, c->writers[c->layer] + task * nw * d, d);
}

/* Finds the scores of earlier head TASK with all heads of the layer (attn_task_fn). */
static void find_scores(void *context, size_t task, int worker)
{
    const struct composition *c = context;
    const size_t ld = c->n_head * c->n_read;
    const double norm = c->writer_norms[c->earlier * c->n_head + task];

    (void)worker;
    for (size_t head = 0; head < c->n_head; head++) {
        const float *product = c->products + task * c->n_write * ld + head * c->n_read;
        double sum = 0;

        for (size_t i = 0; i < c->n_write; i++)
            for (size_t j = 0; j < c->n_read; j++)
                sum += (double)product[i * ld + j] * (double)product[i * ld + j];
        c->scores[task * c->n_head + head] = sqrt(sum) / (norm * c->reader_norms[head]);
    }
}

/* Compares the earlier layer with the layer. */
static enum attn_status compare(struct composition *c, struct attn_error *err)
{
    struct attn_pool *pool = attn_host_pool(c->frame.host, 1e9);
    const size_t n_col = c->n_head * c->n_read;
    const struct attn_linear map = {.weight = {.data = c->readers,
                                               .dtype = ATTN_DTYPE_F32,
                                               .n_row = c->d,
                                               .n_col = n_col,
                                               .row_stride = n_col,
                                               .col_stride = 1,
                                               .group = n_col}};
    struct attn_linear_args args = {.linear = &map,
                                    .engine = &c->engine,
                                    .x = c->writers[c->earlier],
                                    .ldx = c->d,
                                    .n_row = c->n_head * c->n_write,
                                    .y = c->products,
                                    .ldy = n_col,
                                    .last_col = n_col};

    ATTN_TRY(attn_linear_run_alone(&args, 1, pool, err));
    attn_pool_run(pool, c->n_head, find_scores, c);
    return ATTN_OK;
}

/* --- A row for each pair ---------------------------------------------------------------------- */

enum { FROM_LAYER, FROM_HEAD, TO_LAYER, TO_HEAD, SCORE, BASELINE, ROW_TYPE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [FROM_LAYER] = ATTN_COLUMN_OF(LAYER, "from_layer", INTEGER),
    [FROM_HEAD] = ATTN_COLUMN_OF(HEAD, "from_head", INTEGER),
    [TO_LAYER] = ATTN_COLUMN_OF(OTHER_LAYER, "to_layer", INTEGER),
    [TO_HEAD] = ATTN_COLUMN_OF(OTHER_HEAD, "to_head", INTEGER),
    [SCORE] = ATTN_COLUMN_REAL(
        "score", 4, NULL, SHARE, .traits = ATTN_TRAIT_LINEAR,
        .help = "|W_OV X| / (|W_OV| |X|), X the matrix by which the later head reads, 0 to 1"),
    [BASELINE] = ATTN_COLUMN_REAL("baseline", 4, NULL, SHARE, .traits = ATTN_TRAIT_LINEAR,
                                  .help = "1 / sqrt(d_model)"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* Returns the number of parts from FIRST on that are in its layer. */
static size_t count_heads(const struct composition *c, size_t first)
{
    size_t n = 1;

    while (first + n < c->parts.n &&
           c->parts.items[first + n].at.layer == c->parts.items[first].at.layer)
        n++;
    return n;
}

static enum attn_status append_pairs(struct composition *c, struct attn_error *err)
{
    const struct attn_part *from = c->parts.items + c->earlier, *to = c->parts.items + c->layer;
    const size_t n_from = count_heads(c, c->earlier), n_to = count_heads(c, c->layer);

    for (size_t i = 0; i < n_from * n_to; i++) {
        const struct attn_location *a = &from[i / n_to].at, *b = &to[i % n_to].at;
        const double score = c->scores[(size_t)a->head * c->n_head + (size_t)b->head];
        const struct attn_cell row[N_COLUMN] = {
            [FROM_LAYER] = attn_cell_integer(a->layer),
            [FROM_HEAD] = attn_cell_integer(a->head),
            [TO_LAYER] = attn_cell_integer(b->layer),
            [TO_HEAD] = attn_cell_integer(b->head),
            [SCORE] = attn_cell_real_or_missing(score),
            [BASELINE] = attn_cell_real(1 / sqrt((double)c->d)),
        };

        ATTN_TRY(attn_frame_append(&c->frame, row, err));
    }
    return ATTN_OK;
}

/* Compares the layer of the part `layer` with all that come before it. */
static enum attn_status ask_layer(struct composition *c, struct attn_error *err)
{
    const struct attn_frame *frame = &c->frame;

    ATTN_TRY(attn_host_check_canceled(frame->host, err));
    ATTN_TRY(attn_layer_factors_read(attn_host_model(frame->host), &c->parts.items[c->layer].at,
                                     &c->factors, err));
    attn_pool_run(attn_host_pool(frame->host, 1e9), c->n_head, make_factors, c);
    for (c->earlier = 0; c->earlier < c->layer; c->earlier += count_heads(c, c->earlier)) {
        ATTN_TRY(compare(c, err));
        ATTN_TRY(append_pairs(c, err));
    }
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct composition *c = state;
    struct attn_frame *frame = &c->frame;
    const struct attn_config *config = frame->config;
    const struct attn_heads_args *args = frame->args;
    const size_t n_thread = (size_t)attn_pool_n_thread(attn_host_pool(frame->host, 1e9));
    size_t n, n_layer = 0;
    float *writers;

    c->reads = args->weights.composition;
    c->engine = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 1e12);
    c->d = config->d_model;
    c->n_head = config->n_head;
    c->n_write = config->d_value;
    c->n_read = c->reads == ATTN_HEADS_COMPOSITION_V ? config->d_value : config->d_head;
    n = c->n_write > c->n_read ? c->n_write : c->n_read;
    c->n_scratch = 3 * c->d * n + 2 * n * n + 2 * n;
    c->scratch = attn_frame_alloc(frame, n_thread * c->n_scratch, sizeof *c->scratch);
    c->writers = attn_frame_alloc(frame, c->parts.n, sizeof *c->writers);
    for (size_t i = 0; i < c->parts.n; i += count_heads(c, i))
        n_layer++;
    writers = attn_frame_alloc(frame, n_layer, c->n_head * c->n_write * c->d * sizeof *writers);
    c->writer_norms = attn_frame_alloc(frame, c->parts.n * c->n_head, sizeof *c->writer_norms);
    c->readers = attn_frame_alloc(frame, c->d * c->n_head * c->n_read, sizeof *c->readers);
    c->reader_norms = attn_frame_alloc(frame, c->n_head, sizeof *c->reader_norms);
    c->products = attn_frame_alloc(frame, c->n_head * c->n_write * c->n_head * c->n_read,
                                   sizeof *c->products);
    c->scores = attn_frame_alloc(frame, c->n_head * c->n_head, sizeof *c->scores);
    ATTN_TRY(attn_layer_factors_create(frame, &c->factors, err));
    for (c->layer = 0; c->layer < c->parts.n; c->layer += count_heads(c, c->layer)) {
        c->writers[c->layer] = writers;
        writers += c->n_head * c->n_write * c->d;
        ATTN_TRY(attn_error_at(ask_layer(c, err), ATTN_STAGE_MODEL, err));
    }
    return ATTN_OK;
}

const struct attn_procedure attn_head_composition_procedure = {
    .table.name = ATTN_TABLE_HEADS_COMPOSITION,
    ATTN_HEAD_WEIGHTS(struct composition),
    ATTN_PROCEDURE_COLUMNS(columns),
    .table.sort = "score",
    .table.n_most = 20,
    .ask = ask,
};

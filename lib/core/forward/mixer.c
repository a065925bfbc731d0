/*
 * mixer.c - layers that mix tokens without attention. Each reads the normalized input n of a block,
 * and its output is added in place of that of attention. `conv` is a convolution over time: it sums
 * over the last K rows by channel, the last tap is of the token itself, and rows before the text
 * are 0. Row t of a token:
 *
 *     ATTN_MIXER_CONV (LFM2)
 *     k, q, v = n W_in                              three parts of D
 *     z = q * (conv(k * v) + b)
 *     mixer_out = z W_out
 *
 *     ATTN_MIXER_DELTA (Gated DeltaNet, Yang et al. 2412.06464); value head h uses key head h / r
 *     q, k, v = act(conv(n W_in))
 *     q = q / |q| / sqrt(dk), k = k / |k|            |x| = sqrt(x . x + 1e-6)
 *     beta = sigmoid(n W_beta)
 *     decay = exp(A softplus(n W_decay + dt_bias))      A = -exp(A_log)
 *     S = decay S;  S = S + k (beta (v - S^T k))^T;  z = S^T q        S [dk, dv] is 0 at first
 *     mixer_out = (w * rms(z) * silu(n W_gate)) W_out
 *
 *     ATTN_MIXER_MAMBA2 (Dao and Gu 2405.21060); head h uses group h / (Hm / G)
 *     v, k, q = act(conv(n W_in))                    called x, B and C
 *     beta = softplus(n W_decay + dt_bias), clipped  the time step
 *     decay = exp(A beta)
 *     S = decay S + k (beta v)^T;  z = S^T q + D v
 *     mixer_out = (w * rms(z * silu(n W_gate))) W_out   rms over the heads of a group
 *
 * mixing is the matrix whose product with v is z:
 *
 *     CONV   q_i[c] w[c, d] k_{i-d}[c] at distance d, for each channel c
 *     DELTA  r = q_i; for j = i .. 0: mixing[i, j] = beta_j (r . k_j),
 *            r = decay_j (r - beta_j (r . k_j) k_j)
 *     MAMBA2 the same with r = decay_j r, and D is added to mixing[i, i]
 *
 * In GGUF files of Qwen 3.5 the heads of values have another order (tiles_heads). Products with
 * their weights are put in order before they are used, and the rows of the last map are not moved:
 * its input is put in the file's order, in which it is summed.
 *
 * The state of a layer is the last K - 1 inputs of its convolution, and S. Rows are computed one
 * after the other, whether they are fed at once or in parts, so both give the same bits.
 */
#include "forward/step_internal.h"

#include "base/elementary.h"
#include "base/pool_internal.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 16, N_LANE = 8 };

/* One sequence of a feed, in a layer. */
struct mixing {
    const struct attn_forward *f;
    const struct attn_mixer_dims *dims;
    const struct attn_mixer_weights *w;
    size_t first, row0, n_row; /* its rows in the feed; the position of the first */
    float *taps;               /* [K - 1, channels] in the state */
    float *s;                  /* [Hm, dk, dv] in the state */
    float *past;               /* [n_position][n_past] of this layer, if mixing is watched */
    size_t n_past;
    size_t head; /* the head or channel of mixing that is computed */
};

/* The sum over a [n] * b [n], in one order. */
static float dot(const float *a, const float *b, size_t n)
{
    float sums[N_LANE] = {0};
    size_t i = 0;

    for (; i + N_LANE <= n; i += N_LANE)
        for (size_t lane = 0; lane < N_LANE; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++)
        sums[i % N_LANE] += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/* Runs TASK for pieces of the rows. */
static void share_rows(struct mixing *mixing, attn_task_fn task)
{
    attn_pool_run(mixing->f->feed.pool, (mixing->n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, task,
                  mixing);
}

static size_t end_of(const struct mixing *mixing, size_t task)
{
    const size_t end = (task + 1) * ROWS_PER_TASK;

    return end < mixing->n_row ? end : mixing->n_row;
}

/* --- The convolution -------------------------------------------------------------------------- */

/* Returns row T of X [n_row, D], or of the state if T is below 0. */
static const float *row_at(const struct mixing *mixing, const float *x, ptrdiff_t t, size_t d)
{
    const ptrdiff_t n_before = (ptrdiff_t)mixing->dims->n_tap - 1;

    return t < 0 ? mixing->taps + (size_t)(n_before + t) * d : x + (size_t)t * d;
}

/* Y [D] = the convolution of the rows of X up to row T. */
static void convolve(const struct mixing *mixing, const float *x, size_t t, size_t d, float *y)
{
    const size_t n_tap = mixing->dims->n_tap;
    const float *taps = mixing->w->conv.data, *bias = mixing->w->conv_bias.data;

    for (size_t tap = 0; tap < n_tap; tap++) {
        const float *row = row_at(mixing, x, (ptrdiff_t)(t + tap) - (ptrdiff_t)(n_tap - 1), d);
        const float *w = taps + tap * d;

        for (size_t c = 0; c < d && tap == 0; c++)
            y[c] = w[c] * row[c];
        for (size_t c = 0; c < d && tap > 0; c++)
            y[c] += w[c] * row[c];
    }
    if (bias)
        mixing->f->engine.kernels->add(y, bias, d, y);
}

/* Keeps the last inputs of the convolution, X [n_row, D]. */
static void keep_taps(const struct mixing *mixing, const float *x, size_t d)
{
    const size_t n_before = mixing->dims->n_tap - 1, n = mixing->n_row;

    for (size_t i = 0; i < n_before; i++)
        memmove(mixing->taps + i * d,
                row_at(mixing, x, (ptrdiff_t)(n + i) - (ptrdiff_t)n_before, d), d * sizeof *x);
}

/* --- ATTN_MIXER_CONV -------------------------------------------------------------------------- */

static void run_conv_rows(void *context, size_t task, int worker)
{
    const struct mixing *mixing = context;
    const struct attn_forward *f = mixing->f;
    const size_t d = f->dims.d_model;
    const float *u = f->mixer.u + mixing->first * d;

    (void)worker;
    for (size_t t = task * ROWS_PER_TASK; t < end_of(mixing, task); t++) {
        const float *q = f->mixer.q + (mixing->first + t) * d;
        float *z = f->mixer.z + (mixing->first + t) * d;

        convolve(mixing, u, t, d, z);
        for (size_t c = 0; c < d; c++)
            z[c] *= q[c];
    }
}

/* Splits what mixer_in computed into k, q and v. */
static void split_conv(const struct attn_forward *f)
{
    const size_t d = f->dims.d_model;
    float *const parts[] = {f->mixer.k, f->mixer.q, f->mixer.v};

    for (size_t row = 0; row < f->feed.n_row; row++)
        for (size_t i = 0; i < 3; i++)
            memcpy(parts[i] + row * d, f->mixer.in + (3 * row + i) * d, d * sizeof(float));
}

/* Computes the input of the convolution of one sequence. */
static float *multiply_conv(const struct mixing *mixing)
{
    const struct attn_mixer_rows *rows = &mixing->f->mixer;
    const size_t d = mixing->f->dims.d_model, at = mixing->first * d;

    for (size_t i = at; i < at + mixing->n_row * d; i++)
        rows->u[i] = rows->k[i] * rows->v[i];
    return rows->u + at;
}

/* --- ATTN_MIXER_DELTA ------------------------------------------------------------------------- */

/* Y [n] = x / |x| * factor, rounded once: what follows divides by small numbers. */
static void normalize(const float *x, size_t n, double factor, float *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)x[i] * (factor / sqrt(sum + 1e-6)));
}

/* The offsets of q, k and v of head H in a row of the convolution. */
struct channels {
    size_t q, k, v;
};

static struct channels channels_of(const struct mixing *mixing, size_t h)
{
    const struct attn_mixer_dims *c = mixing->dims;
    const size_t shared = c->n_head / c->n_key_head, head = h / shared;
    const size_t d_keys = c->n_key_head * c->d_key, d_values = c->n_head * c->d_value;
    const size_t at_head = head * (2 * c->d_key + shared * c->d_value);

    if (mixing->f->model->config.mixes_by_head)
        return (struct channels){at_head, at_head + c->d_key,
                                 at_head + 2 * c->d_key + h % shared * c->d_value};
    if (c->kind == ATTN_MIXER_MAMBA2)
        return (struct channels){d_values + d_keys + head * c->d_key, d_values + head * c->d_key,
                                 h * c->d_value};
    return (struct channels){head * c->d_key, d_keys + head * c->d_key,
                             2 * d_keys + attn_mixer_head_in_file(&mixing->f->model->config, h) *
                                              c->d_value};
}

/* Returns the place of q and k of head H in ROW. */
static size_t query_at(const struct mixing *mixing, size_t row, size_t h)
{
    const size_t n = attn_mixer_n_query_head(mixing->dims);

    return (row * n + h * n / mixing->dims->n_head) * mixing->dims->d_key;
}

/* Computes q, k and v of some rows. */
static void run_delta_rows(void *context, size_t task, int worker)
{
    const struct mixing *mixing = context;
    const struct attn_mixer_rows *rows = &mixing->f->mixer;
    const struct attn_mixer_dims *c = mixing->dims;
    const size_t d = attn_mixer_d_conv(c), dk = c->d_key, dv = c->d_value;
    const float *x = rows->in + mixing->first * d;

    (void)worker;
    for (size_t t = task * ROWS_PER_TASK; t < end_of(mixing, task); t++) {
        const size_t row = mixing->first + t;
        float *y = rows->u + row * d;

        convolve(mixing, x, t, d, y);
        mixing->f->engine.kernels->activate(mixing->f->mixer_activation, y, d);
        for (size_t h = 0; h < c->n_head; h++) {
            const struct channels from = channels_of(mixing, h);
            const size_t to = query_at(mixing, row, h);

            memcpy(rows->v + (row * c->n_head + h) * dv, y + from.v, dv * sizeof *y);
            if (c->kind == ATTN_MIXER_MAMBA2) {
                memcpy(rows->q + to, y + from.q, dk * sizeof *y);
                memcpy(rows->k + to, y + from.k, dk * sizeof *y);
                continue;
            }
            normalize(y + from.q, dk, 1 / sqrt((double)dk), rows->q + to);
            normalize(y + from.k, dk, 1, rows->k + to);
        }
    }
}

/* Makes beta and the decay of all rows of the products with their weights. */
static void finish_factors(const struct attn_forward *f, const struct attn_mixer_weights *w)
{
    const struct attn_config *config = &f->model->config;
    const float *a = w->decay.data, *dt_bias = w->dt_bias.data;
    const size_t n_head = f->dims.mixer->n_head;

    for (size_t i = 0; i < f->feed.n_row * n_head; i++) {
        const size_t head = attn_mixer_head_in_file(config, i % n_head);
        const double x = (double)f->mixer.decay[i] + (double)dt_bias[head];
        double softplus = (x > 0 ? x : 0) + attn_log1p(attn_exp(-fabs(x)));

        if (f->dims.mixer->kind == ATTN_MIXER_MAMBA2) {
            softplus = fmin(fmax(softplus, config->step_least), config->step_most);
            f->mixer.beta[i] = (float)softplus;
        } else {
            f->mixer.beta[i] = (float)(1 / (1 + attn_exp(-(double)f->mixer.beta[i])));
        }
        f->mixer.decay[i] = (float)attn_exp((double)a[head] * softplus);
    }
}

/* Runs the recurrence of head H over the rows. */
static void run_delta_head(void *context, size_t h, int worker)
{
    const struct mixing *mixing = context;
    const struct attn_mixer_rows *rows = &mixing->f->mixer;
    const struct attn_kernels *kernels = mixing->f->engine.kernels;
    const size_t n_head = mixing->dims->n_head, dk = mixing->dims->d_key,
                 dv = mixing->dims->d_value;
    const bool is_delta = mixing->dims->kind == ATTN_MIXER_DELTA;
    const float *skip = mixing->w->skip.data;
    float *s = mixing->s + h * dk * dv;

    (void)worker;
    for (size_t t = 0; t < mixing->n_row; t++) {
        const size_t row = mixing->first + t, at = row * n_head + h;
        const float *k = rows->k + query_at(mixing, row, h), *v = rows->v + at * dv;
        float *z = rows->z + at * dv;

        kernels->scale(s, rows->decay[at], dk * dv, s);
        if (is_delta)
            kernels->multiply_row(k, dk, s, dv, z);
        for (size_t i = 0; i < dv; i++)
            z[i] = rows->beta[at] * (is_delta ? v[i] - z[i] : v[i]);
        kernels->add_outer(k, dk, z, dv, s);
        kernels->multiply_row(rows->q + query_at(mixing, row, h), dk, s, dv, z);
        for (size_t i = 0; skip && i < dv; i++)
            z[i] += skip[h] * v[i];
    }
}

/* Y [Hm, n] = X, whose heads have the order of the file. */
static void restore_heads(const struct attn_forward *f, const float *x, size_t n, float *y)
{
    for (size_t h = 0; h < f->dims.mixer->n_head; h++)
        memcpy(y + h * n, x + attn_mixer_head_in_file(&f->model->config, h) * n, n * sizeof *y);
}

/* Y [Hm, n] = X in the order of the file. */
static void tile_heads(const struct attn_forward *f, const float *x, size_t n, float *y)
{
    for (size_t h = 0; h < f->dims.mixer->n_head; h++)
        memcpy(y + attn_mixer_head_in_file(&f->model->config, h) * n, x + h * n, n * sizeof *y);
}

/* Divides X [n] by its length over sqrt(n), and multiplies it by W. */
static void run_norm(const struct attn_config *config, const float *w, size_t n, float *x)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    sum = 1 / sqrt(sum / (double)n + (double)config->norm_eps);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] * sum * (double)w[i]);
}

/* Makes GATE [Hm*dv] of one row the input of the output map, except for the order of heads in the
 * weights: z times the activated gate, and NORM of z before, or of the product. Changes Z, too. */
static void gate_row(const struct attn_config *config, const struct attn_kernels *kernels,
                     const struct attn_vector *norm, float *z, float *gate)
{
    const struct attn_mixer_dims *c = config->mixer;
    const size_t d = c->n_head * c->d_value;
    const size_t n = c->kind == ATTN_MIXER_MAMBA2 ? d / c->n_key_head : c->d_value;

    for (size_t i = 0; i < d; i += n) {
        const float *factors = norm->data ? (const float *)norm->data + i % norm->n : NULL;

        if (factors && !config->gates_first)
            run_norm(config, factors, n, z + i);
        kernels->gate(ATTN_ACTIVATION_SILU, gate + i, z + i, n);
        if (factors && config->gates_first)
            run_norm(config, factors, n, gate + i);
    }
}

/* Makes the gate of all rows the input of the output map. If the map has its heads in another
 * order, z becomes its input. */
static void run_gated_norm(void *context, size_t task, int worker)
{
    const struct mixing *mixing = context;
    const struct attn_forward *f = mixing->f;
    const struct attn_mixer_dims *c = mixing->dims;
    const size_t d = c->n_head * c->d_value;

    (void)worker;
    for (size_t row = task * ROWS_PER_TASK; row < end_of(mixing, task); row++) {
        float *z = f->mixer.z + row * d, *gate = f->mixer.gate + row * d;

        gate_row(&f->model->config, f->engine.kernels, &mixing->w->norm, z, gate);
        if (f->model->config.tiles_heads)
            tile_heads(f, gate, c->d_value, z);
    }
}

/* --- Watched mixing --------------------------------------------------------------------------- */

/* Keeps what mixing of these and later rows needs: for a convolution k and k * v; else k, beta, the
 * decay and the length of v, by head. */
static void keep_past(const struct mixing *mixing)
{
    const struct attn_mixer_rows *rows = &mixing->f->mixer;
    const size_t dk = mixing->dims->d_key, dv = mixing->dims->d_value,
                 n_head = mixing->dims->n_head;

    for (size_t t = 0; t < mixing->n_row; t++) {
        float *to = mixing->past + (mixing->row0 + t) * mixing->n_past;

        for (size_t h = 0; h < n_head; h++) {
            const size_t at = (mixing->first + t) * n_head + h;
            const float *v = rows->v + at * dv;

            memcpy(to, rows->k + query_at(mixing, mixing->first + t, h), dk * sizeof *to);
            to += dk;
            if (mixing->dims->kind == ATTN_MIXER_CONV) {
                memcpy(to, rows->u + at * dk, dk * sizeof *to);
                to += dk;
            } else {
                *to++ = rows->beta[at];
                *to++ = rows->decay[at];
                *to++ = sqrtf(dot(v, v, dv));
            }
        }
    }
}

/* Returns the numbers that are kept of position J, of the head at hand. */
static const float *past_of(const struct mixing *mixing, size_t j)
{
    const size_t n_each = mixing->n_past / mixing->dims->n_head;
    const size_t head = mixing->dims->kind == ATTN_MIXER_CONV ? 0 : mixing->head;

    return mixing->past + j * mixing->n_past + head * n_each;
}

/* Computes some rows of mixing of a head; or of mixing_norm, if HAS_LENGTHS. */
static void fill_delta(const struct mixing *mixing, size_t task, int worker, bool has_lengths)
{
    const struct attn_forward *f = mixing->f;
    const bool is_delta = mixing->dims->kind == ATTN_MIXER_DELTA;
    const float *skip = mixing->w->skip.data;
    const size_t dk = mixing->dims->d_key, n_key = mixing->row0 + mixing->n_row;
    float *r = f->mixer.rests + (size_t)worker * dk;

    for (size_t t = task * ROWS_PER_TASK; t < end_of(mixing, task); t++) {
        float *cells = f->mixer.cells + t * n_key;

        memset(cells, 0, n_key * sizeof *cells);
        if (!attn_forward_watches_row(f, mixing->row0 + t))
            continue;
        memcpy(r, f->mixer.q + query_at(mixing, mixing->first + t, mixing->head), dk * sizeof *r);
        for (size_t j = mixing->row0 + t + 1; j-- > 0;) {
            const float *k = past_of(mixing, j);
            const float written = k[dk] * dot(r, k, dk);
            const float cell =
                skip && j == mixing->row0 + t ? written + skip[mixing->head] : written;

            cells[j] = has_lengths ? fabsf(cell) * k[dk + 2] : cell;
            for (size_t i = 0; i < dk; i++)
                r[i] = k[dk + 1] * (is_delta ? r[i] - written * k[i] : r[i]);
        }
    }
}

static void fill_mixing(void *context, size_t task, int worker)
{
    fill_delta(context, task, worker, false);
}

static void fill_norms(void *context, size_t task, int worker)
{
    fill_delta(context, task, worker, true);
}

/* Computes the band of a channel, [n_row, K]. */
static void fill_band(const struct mixing *mixing)
{
    const size_t d = mixing->f->dims.d_model, n_tap = mixing->dims->n_tap, c = mixing->head;
    const float *taps = mixing->w->conv.data;

    for (size_t t = 0; t < mixing->n_row; t++)
        for (size_t i = 0; i < n_tap; i++) {
            const size_t at = mixing->row0 + t;
            const float *k = i > at ? NULL : past_of(mixing, at - i);

            mixing->f->mixer.cells[t * n_tap + i] =
                k ? mixing->f->mixer.q[(mixing->first + t) * d + c] *
                        taps[(n_tap - 1 - i) * d + c] * k[c]
                  : 0;
        }
}

/* Computes mixing_norm of a convolution, the length over all channels. */
static void fill_band_norms(const struct mixing *mixing)
{
    const size_t d = mixing->f->dims.d_model, n_tap = mixing->dims->n_tap;
    const size_t n_key = mixing->row0 + mixing->n_row;
    const float *taps = mixing->w->conv.data;

    memset(mixing->f->mixer.cells, 0, mixing->n_row * n_key * sizeof(float));
    for (size_t t = 0; t < mixing->n_row; t++)
        for (size_t i = 0; i < n_tap && i <= mixing->row0 + t; i++) {
            const size_t at = mixing->row0 + t - i;
            const float *q = mixing->f->mixer.q + (mixing->first + t) * d;
            const float *u = mixing->past + at * mixing->n_past + d,
                        *w = taps + (n_tap - 1 - i) * d;
            double sum = 0;

            for (size_t c = 0; c < d; c++)
                sum += (double)(q[c] * w[c] * u[c]) * (double)(q[c] * w[c] * u[c]);
            mixing->f->mixer.cells[t * n_key + at] = (float)sqrt(sum);
        }
}

/* Computes the cells of SITE for the head at hand. */
static void fill_cells(struct mixing *mixing, enum attn_site site)
{
    if (site == ATTN_SITE_MIXING_BAND)
        fill_band(mixing);
    else if (mixing->dims->kind == ATTN_MIXER_CONV)
        fill_band_norms(mixing);
    else
        share_rows(mixing, site == ATTN_SITE_MIXING ? fill_mixing : fill_norms);
}

/* Emits SITE, a matrix of each head that is watched. */
static void visit_cells(struct attn_forward *f, size_t sequence, enum attn_site site,
                        struct mixing *mixing)
{
    const bool is_band = site == ATTN_SITE_MIXING_BAND;
    const size_t n_col = is_band ? mixing->dims->n_tap : mixing->row0 + mixing->n_row;

    if (!attn_forward_watches(f, site))
        return;
    for (int head = 0; head < (int)attn_site_n_head(site, &f->dims); head++) {
        const struct attn_location at = attn_location_of_block(&f->dims, site, f->feed.layer, head);
        const struct attn_trace_event event = {.sequence = sequence,
                                               .at = at,
                                               .row0 = mixing->row0,
                                               .n_row = mixing->n_row,
                                               .n_col = n_col,
                                               .ld = n_col,
                                               .data = f->mixer.cells,
                                               .is_causal = !is_band};

        if (!attn_selection_has_tensor_head(f->trace->selection, &at) || attn_forward_is_stopped(f))
            continue;
        mixing->head = (size_t)head;
        fill_cells(mixing, site);
        attn_visit_emit(f, &event);
    }
}

/* Keeps what mixing of one sequence needs, and emits it. */
static void visit_mixing(struct attn_forward *f, size_t sequence, struct mixing *mixing)
{
    bool is_needed = false;

    for (enum attn_site site = ATTN_SITE_MIXING; site <= ATTN_SITE_MIXING_NORM; site++)
        is_needed = is_needed || attn_forward_watches(f, site);
    if (!is_needed)
        return;
    keep_past(mixing);
    for (enum attn_site site = ATTN_SITE_MIXING; site <= ATTN_SITE_MIXING_NORM; site++)
        visit_cells(f, sequence, site, mixing);
}

/* --- The step --------------------------------------------------------------------------------- */

/* Multiplies the products by the factors of their parts. */
static void multiply_maps(struct attn_forward *f)
{
    const struct attn_mixer_dims *c = f->dims.mixer;
    const float *factors = f->model->config.factors.mixer_parts;
    const size_t d_v = c->n_head * c->d_value, d_k = c->n_key_head * c->d_key, n = f->feed.n_row;
    const size_t widths[] = {d_v, d_k, d_k};
    const struct attn_kernels *kernels = f->engine.kernels;
    float *in = f->mixer.in;

    kernels->scale(f->mixer.gate, factors[0], n * d_v, f->mixer.gate);
    for (size_t row = 0; row < n; row++)
        for (size_t i = 0; i < 3; in += widths[i], i++)
            kernels->scale(in, factors[1 + i], widths[i], in);
    kernels->scale(f->mixer.decay, factors[4], n * c->n_head, f->mixer.decay);
}

/* Puts the products with weights whose heads have another order in order. */
static void order_products(const struct attn_forward *f)
{
    const struct attn_mixer_dims *c = f->dims.mixer;
    const struct {
        float *y;
        size_t n;
    } parts[] = {{f->mixer.gate, c->d_value}, {f->mixer.beta, 1}, {f->mixer.decay, 1}};

    for (size_t row = 0; row < f->feed.n_row; row++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            const size_t n = c->n_head * parts[i].n;
            float *y = parts[i].y + row * n, *unordered = f->mixer.z; /* free so far */

            memcpy(unordered, y, n * sizeof *y);
            restore_heads(f, unordered, parts[i].n, y);
        }
}

/* Computes the products with the weights that the layer has, and what is made of them. */
static void run_maps(struct attn_forward *f, const struct attn_block_weights *w)
{
    const struct attn_mixer_rows *rows = &f->mixer;
    const struct {
        const struct attn_linear *linear;
        float *y;
    } maps[] = {{&w->mixer_in, rows->in},
                {&w->mixer_gate, rows->gate},
                {&w->mixer_beta, rows->beta},
                {&w->mixer_decay, rows->decay}};
    struct attn_linear_args args[sizeof maps / sizeof *maps];
    size_t n = 0;

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (maps[i].linear->weight.data)
            args[n++] = attn_map_of(f, maps[i].linear, f->normed, f->feed.n_row, maps[i].y);
    if (attn_step_finish(f))
        return;
    attn_weight_buffer_run_linear(&f->weight_buffer, args, n, f->feed.pool);
    if (attn_config_mixes_beside(&f->model->config))
        multiply_maps(f);
    if (f->model->config.tiles_heads)
        order_products(f);
    for (size_t i = 0; i < n; i++)
        attn_forward_check_finite(f, args[i].y, args[i].n_row * args[i].ldy);
}

/* Visits the inputs of the recurrence. */
static void visit_inputs(struct attn_forward *f)
{
    const struct attn_mixer_rows *rows = &f->mixer;

    attn_visit(f, ATTN_SITE_MIXER_V, rows->v);
    attn_visit(f, ATTN_SITE_MIXER_Q, rows->q);
    attn_visit(f, ATTN_SITE_MIXER_K, rows->k);
    if (f->dims.mixer->kind == ATTN_MIXER_CONV)
        return;
    attn_visit(f, ATTN_SITE_MIXER_GATE, rows->gate);
    attn_visit(f, ATTN_SITE_DECAY, rows->decay);
    attn_visit(f, ATTN_SITE_BETA, rows->beta);
}

/* Returns the place of sequence number I in the current layer. */
static struct mixing mixing_of(const struct attn_forward *f, const struct attn_mixer_weights *w,
                               size_t i)
{
    const struct attn_mixer_dims *dims = f->dims.mixer;
    const size_t n_state = attn_mixer_n_state(dims), n_past = attn_mixer_n_past(f);
    const size_t slot = f->is_rewindable
                            ? attn_config_n_layer_of(&f->model->config, true, (size_t)f->feed.layer)
                            : 0;
    struct mixing mixing = {.f = f,
                            .dims = dims,
                            .w = w,
                            .first = f->parts[i].first,
                            .row0 = f->parts[i].row0,
                            .n_row = f->parts[i].n_row,
                            .taps = f->mixer.state + slot * n_state,
                            .past = f->mixer.past + slot * f->dims.n_position * n_past,
                            .n_past = n_past};

    mixing.s = mixing.taps + (dims->n_tap - 1) * attn_mixer_d_conv(dims);
    return mixing;
}

/* Convolves the rows X [n_row, D] of a sequence by RUN, and keeps the last ones. */
static void run_convolution(struct mixing *mixing, const float *x, attn_task_fn run)
{
    const size_t d = attn_mixer_d_conv(mixing->dims);

    if (mixing->row0 == 0)
        memset(mixing->taps, 0, (mixing->dims->n_tap - 1) * d * sizeof *x);
    share_rows(mixing, run);
    keep_taps(mixing, x, d);
}

static void run_recurrence(struct mixing *mixing)
{
    const struct attn_mixer_dims *dims = mixing->dims;

    if (mixing->row0 == 0)
        memset(mixing->s, 0, dims->n_head * dims->d_key * dims->d_value * sizeof *mixing->s);
    attn_pool_run(mixing->f->feed.pool, dims->n_head, run_delta_head, mixing);
}

/* Computes q, k and v from the products, in all sequences. */
static void run_inputs(struct attn_forward *f, const struct attn_mixer_weights *w)
{
    if (f->dims.mixer->kind == ATTN_MIXER_CONV) {
        split_conv(f);
        return;
    }
    finish_factors(f, w);
    for (size_t i = 0; i < f->feed.n_part; i++) {
        struct mixing mixing = mixing_of(f, w, i);

        run_convolution(&mixing, f->mixer.in + mixing.first * attn_mixer_d_conv(mixing.dims),
                        run_delta_rows);
    }
}

void attn_mixer_step(struct attn_forward *f, const struct attn_block_weights *w)
{
    const bool is_conv = f->dims.mixer->kind == ATTN_MIXER_CONV;

    run_maps(f, w);
    if (attn_forward_is_over(f))
        return;
    run_inputs(f, &w->mixer);
    visit_inputs(f);
    for (size_t i = 0; i < f->feed.n_part && !attn_forward_is_stopped(f); i++) {
        struct mixing mixing = mixing_of(f, &w->mixer, i);
        const float *u = is_conv ? multiply_conv(&mixing) : NULL;

        if (is_conv)
            run_convolution(&mixing, u, run_conv_rows);
        else
            run_recurrence(&mixing);
        visit_mixing(f, i, &mixing);
    }
    f->mixer.out = is_conv ? f->mixer.z : f->mixer.gate;
    if (attn_forward_is_over(f))
        return;
    attn_visit(f, ATTN_SITE_MIXER_Z, f->mixer.z);
    if (!is_conv && !attn_forward_is_over(f))
        share_rows(
            &(struct mixing){.f = f, .dims = f->dims.mixer, .w = &w->mixer, .n_row = f->feed.n_row},
            run_gated_norm);
    if (f->model->config.tiles_heads)
        f->mixer.out = f->mixer.z;
}

/* --- The gate of attention -------------------------------------------------------------------- */

void attn_gate_heads_step(struct attn_forward *f, float *z)
{
    const size_t n_z = f->feed.n_left * f->dims.n_head * f->dims.d_value;
    const size_t width = f->dims.gates_heads ? f->dims.d_value : 1, n = n_z / width;

    if (attn_forward_is_over(f))
        return;
    for (size_t i = 0; i < n; i++)
        f->gate[i] = -f->gate[i];
    f->engine.kernels->exp(f->gate, n, f->gate);
    for (size_t i = 0; i < n_z; i++)
        z[i] *= 1 / (1 + f->gate[i / width]);
}

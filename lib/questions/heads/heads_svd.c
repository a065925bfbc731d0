/* heads_svd.c - `heads` from weights alone: the directions that a head maps to each other, and the
 * tokens that lie along them. */
#include "heads/heads_internal.h"

#include "base/note.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "frame/questions_internal.h"
#include "heads/head_maps.h"
#include "measures/decompose.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "trials/readout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_DIRECTION = 5, N_TOP = 5, PART = 256 }; /* defaults; tokens of a task */
enum { LEFT, RIGHT, N_SIDE };

static const char *const sides[][N_SIDE] = {
    [ATTN_HEAD_MAP_OV] = {"reads", "writes"}, [ATTN_HEAD_MAP_QK] = {"query", "key"}};

struct directions {
    struct attn_frame frame; /* must be the first member */
    const struct attn_model *model;
    struct attn_parts parts; /* the head */
    enum attn_head_map map;
    struct attn_layer_factors factors;
    size_t d, n, n_shown, n_token, n_top;
    double *s;              /* [n] */
    double *axes[N_SIDE];   /* [n_shown, D] */
    double *values[N_SIDE]; /* [n_shown, n_token] */
    double *scratch;        /* [threads, 2 D] */
    float *rows;            /* [threads, D] */
};

/* Reads `svd`: a head, and after colons a map and the number of directions. */
static enum attn_status choose(void *state, struct attn_error *err)
{
    static const char *const names[] = {[ATTN_HEAD_MAP_OV] = ":ov", [ATTN_HEAD_MAP_QK] = ":qk"};
    struct directions *x = state;
    const struct attn_heads_args *args = x->frame.args;
    const size_t n = strcspn(args->weights.svd, ":");
    const char *rest = args->weights.svd + n;
    int64_t n_direction = N_DIRECTION;
    char head[32];

    x->model = attn_host_model(x->frame.host);
    for (int map = 0; map < 2; map++)
        if (strncmp(rest, names[map], 3) == 0 && (rest[3] == '\0' || rest[3] == ':')) {
            x->map = (enum attn_head_map)map;
            rest += 3;
            break;
        }
    if (n == 0 || n >= sizeof head ||
        (*rest && !attn_parse_int(rest + 1, strlen(rest + 1), 1, INT32_MAX, &n_direction)))
        return attn_error_set(err, ATTN_INVALID, "`svd` is '%s', expected L.H[:ov|qk][:N]",
                              attn_quote_string(args->weights.svd).text);
    x->n_shown = (size_t)n_direction;
    memcpy(head, args->weights.svd, n);
    head[n] = '\0';
    ATTN_TRY(attn_head_weights_list(&x->frame, head, "svd", &x->parts, err));
    return x->parts.n == 1 ? ATTN_OK
                           : attn_error_set(err, ATTN_INVALID,
                                            "`svd` is '%s', %zu heads with attention, expected one",
                                            attn_quote_string(args->weights.svd).text, x->parts.n);
}

/* --- Directions ------------------------------------------------------------------------------- */

/* Turns both axes of direction I so that the largest component of the left one is positive. */
static void choose_sign(const struct directions *x, size_t i)
{
    double *left = x->axes[LEFT] + i * x->d, *right = x->axes[RIGHT] + i * x->d;
    size_t most = 0;

    for (size_t k = 1; k < x->d; k++)
        most = fabs(left[k]) > fabs(left[most]) ? k : most;
    if (left[most] > 0)
        return;
    for (size_t k = 0; k < x->d; k++) {
        left[k] = 0 - left[k]; /* not -0 */
        right[k] = 0 - right[k];
    }
}

/* Decomposes A B^T = Q_A (R_A R_B^T) Q_B^T. The vectors of all directions go to the axes. */
static enum attn_status decompose(struct directions *x, struct attn_error *err)
{
    struct attn_frame *frame = &x->frame;
    const size_t d = x->d, n = x->n;
    double *factors[N_SIDE], *tau[N_SIDE], *vectors[N_SIDE], *triangles[N_SIDE];
    double *turned = attn_frame_alloc(frame, n * n, sizeof *turned);
    double *k = attn_frame_alloc(frame, n * n, sizeof *k);

    for (int side = 0; side < N_SIDE; side++) {
        factors[side] = attn_frame_alloc(frame, d * n, sizeof *factors[side]);
        tau[side] = attn_frame_alloc(frame, 2 * n, sizeof *tau[side]);
        vectors[side] = attn_frame_alloc(frame, n * n, sizeof *vectors[side]);
        triangles[side] = attn_frame_alloc(frame, n * n, sizeof *triangles[side]);
    }
    ATTN_TRY(attn_frame_memory(frame, err));
    attn_head_map_copy(&x->factors, (size_t)x->parts.items->at.head, x->map, factors[LEFT],
                       factors[RIGHT]);
    for (int side = 0; side < N_SIDE; side++) {
        attn_qr(factors[side], d, n, tau[side]);
        attn_qr_triangle(factors[side], d, n, triangles[side]);
    }
    attn_head_maps_turn(triangles[RIGHT], n, n, turned);
    attn_head_maps_multiply(triangles[LEFT], turned, n, n, n, k);
    attn_svd(k, n, x->s, vectors[LEFT], vectors[RIGHT]);
    for (size_t i = 0; i < x->n_shown; i++) {
        for (int side = 0; side < N_SIDE; side++) {
            double *axis = x->axes[side] + i * d;

            memcpy(axis, vectors[side] + i * n, (n < d ? n : d) * sizeof *axis);
            attn_qr_apply(factors[side], d, n, tau[side], axis);
        }
        choose_sign(x, i);
    }
    return ATTN_OK;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Finds the values of token ID along all axes of SIDE, whose ROW [D] it has. */
static void find_values(const struct directions *x, int side, size_t id, const double *row)
{
    for (size_t i = 0; i < x->n_shown; i++) {
        const double *axis = x->axes[side] + i * x->d;
        double sum = 0;

        for (size_t k = 0; k < x->d; k++)
            sum += row[k] * axis[k];
        x->values[side][i * x->n_token + id] = sum;
    }
}

/* Finds the values of part TASK of the vocabulary (attn_task_fn). */
static void find_part(void *context, size_t task, int worker)
{
    const struct directions *x = context;
    const struct attn_config *config = attn_model_config(x->model);
    const struct attn_weights *weights = &x->model->weights;
    const double scale = config->embed_scale > 0 ? config->embed_scale : 1;
    double *row = x->scratch + (size_t)worker * 2 * x->d;
    float *embedded = x->rows + (size_t)worker * x->d;

    for (size_t id = task * PART; id < (task + 1) * PART && id < x->n_token; id++) {
        attn_model_row(x->model, attn_kernels_find(ATTN_ISA_BEST), (int32_t)id, embedded);
        for (size_t k = 0; k < x->d; k++)
            row[k] = (double)embedded[k] / scale;
        find_values(x, LEFT, id, row);
        if (x->map == ATTN_HEAD_MAP_OV) {
            attn_matrix_column(&weights->unembed.weight, id, row);
            if (weights->ln_final.w.data)
                attn_readout_before_norm(config, &weights->ln_final, 1, 1, row + x->d, row);
        }
        find_values(x, RIGHT, id, row);
    }
}

/* Subtracts the mean over the vocabulary from what is written. */
static void subtract_means(const struct directions *x)
{
    for (size_t i = 0; i < x->n_shown; i++) {
        double *values = x->values[RIGHT] + i * x->n_token, sum = 0;

        for (size_t id = 0; id < x->n_token; id++)
            sum += values[id];
        for (size_t id = 0; id < x->n_token; id++)
            values[id] -= sum / (double)x->n_token;
    }
}

/* A token and its value. */
struct written {
    double value;
    size_t id;
};

static int by_value(const void *a, const void *b)
{
    const struct written *x = a, *y = b;
    const int order = attn_compare_numbers(-x->value, -y->value);

    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

/* Finds the N_TOP largest of VALUES [n], of equal ones the first. TOP [2 * n_top] */
static void find_top(const double *values, size_t n, struct written *top, size_t n_top)
{
    double least = -(double)INFINITY; /* only what is larger may be one of them */
    size_t n_found = 0;

    for (size_t id = 0; id < n; id++)
        if (n_found < n_top || values[id] > least) {
            if (n_found == 2 * n_top) {
                qsort(top, n_found, sizeof *top, by_value);
                n_found = n_top;
                least = top[n_top - 1].value;
            }
            top[n_found++] = (struct written){values[id], id};
        }
    qsort(top, n_found, sizeof *top, by_value);
}

/* --- The table -------------------------------------------------------------------------------- */

enum { DIRECTION, SINGULAR, SHARE, GAP, SIDE, PLACE, ID, TOKEN, VALUE, ROW_TYPE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [DIRECTION] =
        ATTN_COLUMN("direction", INTEGER,
                    .help = "number of the direction u_i, v_i of the map U diag(s) V^T, from 0"),
    [SINGULAR] = ATTN_COLUMN_REAL("singular", 4, NULL, POSITIVE, .help = "singular value s_i"),
    [SHARE] = ATTN_COLUMN_REAL("share", 4, NULL, SHARE, .traits = ATTN_TRAIT_LINEAR,
                               .help = "s_i^2 / sum of the squares of all, 0 to 1"),
    [GAP] = ATTN_COLUMN_REAL("gap", 4, NULL, SHARE, .traits = ATTN_TRAIT_LINEAR,
                             .help = "(s_i - s_i+1) / s_i, 0 to 1"),
    [SIDE] = ATTN_COLUMN(
        "side", TEXT, .help = "reads, W_E u, or writes, v W_U; of qk query, W_E u, or key, W_E v"),
    [PLACE] = ATTN_COLUMN("rank", INTEGER,
                          .help = "place of the token on this side, 1 for the largest value"),
    [ID] = ATTN_COLUMN_OF(ID, "id", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [VALUE] = ATTN_COLUMN_REAL("value", 4, NULL, SIGNED, .help = "value of the token on this side"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* Returns how much smaller the next singular value is, as a share of value I. */
static double gap_of(const struct directions *x, size_t i)
{
    return (x->s[i] - (i + 1 < x->n ? x->s[i + 1] : 0)) / x->s[i];
}

static enum attn_status append_side(struct directions *x, size_t i, int side,
                                    const struct written *top, struct attn_error *err)
{
    const struct attn_tokenizer *tokenizer;
    double squares = 0;

    (void)attn_host_tokenizer(x->frame.host, &tokenizer, NULL); /* NULL: tokens have no text */
    for (size_t k = 0; k < x->n; k++)
        squares += x->s[k] * x->s[k];
    for (size_t place = 0; place < x->n_top; place++) {
        const struct attn_cell row[N_COLUMN] = {
            [DIRECTION] = attn_cell_integer((int64_t)i),
            [SINGULAR] = attn_cell_real(x->s[i]),
            [SHARE] = attn_cell_real(x->s[i] * x->s[i] / squares),
            [GAP] = attn_cell_real(gap_of(x, i)),
            [SIDE] = attn_cell_string(sides[x->map][side]),
            [PLACE] = attn_cell_integer((int64_t)place + 1),
            [ID] = attn_cell_integer((int64_t)top[place].id),
            [TOKEN] = attn_cell_token(tokenizer, (int32_t)top[place].id),
            [VALUE] = attn_cell_real(top[place].value),
        };

        ATTN_TRY(attn_frame_append(&x->frame, row, err));
    }
    return ATTN_OK;
}

/* Allocates what the shown directions need, once their number is known. */
static enum attn_status allocate(struct directions *x, struct attn_error *err)
{
    struct attn_frame *frame = &x->frame;
    const size_t n_thread = (size_t)attn_pool_n_thread(attn_host_pool(frame->host, 1e9));

    x->s = attn_frame_alloc(frame, x->n, sizeof *x->s);
    x->scratch = attn_frame_alloc(frame, n_thread * 2 * x->d, sizeof *x->scratch);
    x->rows = attn_frame_alloc(frame, n_thread * x->d, sizeof *x->rows);
    for (int side = 0; side < N_SIDE; side++) {
        x->axes[side] = attn_frame_alloc(frame, x->n_shown * x->d, sizeof *x->axes[side]);
        x->values[side] = attn_frame_alloc(frame, x->n_shown * x->n_token, sizeof *x->values[side]);
    }
    return attn_frame_memory(frame, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct directions *x = state;
    struct attn_frame *frame = &x->frame;
    const struct attn_config *config = frame->config;
    const struct attn_heads_args *args = frame->args;
    const size_t n_top = args->weights.n_top > 0 ? args->weights.n_top : N_TOP;
    struct written *top;

    x->d = config->d_model;
    x->n = x->map == ATTN_HEAD_MAP_OV ? config->d_value : config->d_head;
    x->n_token = config->n_token < config->n_vocab ? config->n_token : config->n_vocab;
    x->n_shown = x->n_shown < x->n ? x->n_shown : x->n;
    x->n_top = n_top < x->n_token ? n_top : x->n_token;
    top = attn_frame_alloc(frame, 2 * x->n_top, sizeof *top);
    ATTN_TRY(allocate(x, err));
    ATTN_TRY(attn_layer_factors_create(frame, &x->factors, err));
    ATTN_TRY(attn_layer_factors_read(x->model, &x->parts.items->at, &x->factors, err));
    ATTN_TRY(decompose(x, err));
    attn_pool_run(attn_host_pool(frame->host, 1e9), (x->n_token + PART - 1) / PART, find_part, x);
    if (x->map == ATTN_HEAD_MAP_OV)
        subtract_means(x);
    for (size_t i = 0; i < x->n_shown && x->s[i] > 0; i++) {
        for (int side = 0; side < N_SIDE; side++) {
            find_top(x->values[side] + i * x->n_token, x->n_token, top, x->n_top);
            ATTN_TRY(append_side(x, i, side, top, err));
        }
        if (gap_of(x, i) < 0.01)
            attn_note(frame->request.on_note, frame->request.user, ATTN_NOTE_PLANE,
                      "direction %zu has nearly the same singular value as the next: both are any "
                      "two of their plane",
                      i);
    }
    return ATTN_OK;
}

const struct attn_procedure attn_head_svd_procedure = {
    .table.name = ATTN_TABLE_HEADS_SVD,
    ATTN_HEAD_WEIGHTS(struct directions),
    ATTN_PROCEDURE_COLUMNS(columns),
    .ask = ask,
};

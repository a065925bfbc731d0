/* heads_weights.c - `heads` from weights alone: a row for each head. */
#include "heads/heads_internal.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "frame/questions_internal.h"
#include "heads/head_maps.h"

struct weights {
    struct attn_frame frame; /* must be the first member */
    const struct attn_model *model;
    struct attn_parts parts; /* the heads that are shown */
    struct attn_vocabulary_products products;
    struct attn_layer_factors factors; /* of the layer that is read */
    struct attn_head_numbers *numbers; /* [n_head] of this layer */
    double *scratch;                   /* [threads, n_scratch] */
    size_t n_scratch;
};

enum attn_status attn_head_weights_list(struct attn_frame *frame, const char *heads,
                                        const char *label, struct attn_parts *parts,
                                        struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(frame->config, 1);
    const struct attn_head_list list = {.text = heads};
    struct attn_selection *selection = NULL;
    struct attn_parts found = {.n = 0};
    enum attn_status status;

    ATTN_TRY(attn_head_weights_check(attn_host_model(frame->host), err));
    ATTN_TRY(attn_error_in(attn_select_heads(&list, &dims, &selection, err), label, err));
    status = attn_parts_list(selection, ATTN_ALL_OF(ONLY, ATTN_SITE_PATTERN), 0, &found, err);
    attn_selection_free(selection);
    parts->items = attn_frame_alloc(frame, found.n, sizeof *parts->items);
    ATTN_THEN(status, attn_frame_memory(frame, err));
    for (size_t i = 0; status == ATTN_OK && i < found.n; i++)
        parts->items[parts->n++] = found.items[i];
    attn_free(found.items);
    return status;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct weights *weights = state;
    struct attn_frame *frame = &weights->frame;

    weights->model = attn_host_model(frame->host);
    return attn_head_weights_list(frame, frame->request.selection.heads, "heads", &weights->parts,
                                  err);
}

/* --- A row for each head ---------------------------------------------------------------------- */

enum {
    LAYER,
    HEAD,
    KV_HEAD,
    OV_NORM,
    OV_RANK,
    OV_TOP,
    COPYING,
    COPYING_MLP0,
    QK_NORM,
    QK_RANK,
    QK_TOP,
    MATCHING,
    MATCHING_MLP0,
    ROW_TYPE,
    N_COLUMN
};

#define SIZES_OF(first, map)                                                                       \
    [first] = ATTN_COLUMN_QUANTITY(map "_norm", 4, NULL, POSITIVE, "norm of the " map " map"),     \
    [(first) + 1] =                                                                                \
        ATTN_COLUMN_QUANTITY(map "_rank", 4, NULL, POSITIVE, "stable rank of the " map " map"),    \
    [(first) + 2] = ATTN_COLUMN_QUANTITY(map "_top", 4, NULL, POSITIVE,                            \
                                         "largest singular value of the " map " map")

static const struct attn_column columns[N_COLUMN] = {
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER),
    SIZES_OF(OV_NORM, "ov"),
    [COPYING] = ATTN_COLUMN_REAL("copying", 4, NULL, SIGNED,
                                 .help = "sum / sum of sizes of eigenvalues of W_E W_V W_O W_U"),
    [COPYING_MLP0] =
        ATTN_COLUMN_QUANTITY("copying_mlp0", 4, NULL, SIGNED, "copying after the MLP of layer 0"),
    SIZES_OF(QK_NORM, "qk"),
    [MATCHING] =
        ATTN_COLUMN_REAL("matching", 4, NULL, SIGNED, .help = "as copying, of W_E W_Q W_K^T W_E^T"),
    [MATCHING_MLP0] =
        ATTN_COLUMN_QUANTITY("matching_mlp0", 4, NULL, SIGNED, "matching after the MLP of layer 0"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* Computes the numbers of head TASK of the layer (attn_task_fn). */
static void find_numbers(void *context, size_t task, int worker)
{
    const struct weights *weights = context;

    attn_head_numbers_find(&weights->factors, &weights->products, task,
                           weights->scratch + (size_t)worker * weights->n_scratch,
                           &weights->numbers[task]);
}

static enum attn_status append_numbers(struct weights *weights, const struct attn_part *part,
                                       struct attn_error *err)
{
    const struct attn_config *config = weights->frame.config;
    const struct attn_head_numbers *numbers = &weights->numbers[part->at.head];
    const double *values[] = {numbers->copying, numbers->matching};
    const struct attn_map_sizes *maps[] = {&numbers->ov, &numbers->qk};
    struct attn_cell row[N_COLUMN] = {
        [LAYER] = attn_cell_integer(part->at.layer),
        [HEAD] = attn_cell_integer(part->at.head),
        [KV_HEAD] = attn_cell_integer(part->at.head / (int)(config->n_head / config->n_kv_head)),
    };

    for (int map = 0; map < 2; map++) {
        struct attn_cell *cell = row + (map == 0 ? OV_NORM : QK_NORM);

        cell[0] = attn_cell_real(maps[map]->norm);
        cell[1] = attn_cell_real_or_missing(maps[map]->rank);
        cell[2] = attn_cell_real(maps[map]->top);
        cell[3] = attn_cell_real_or_missing(values[map][ATTN_VOCABULARY_PLAIN]);
        cell[4] = attn_cell_real_or_missing(values[map][ATTN_VOCABULARY_MLP0]);
    }
    return attn_frame_append(&weights->frame, row, err);
}

static enum attn_status ask_heads(void *state, struct attn_error *err)
{
    struct weights *weights = state;
    struct attn_frame *frame = &weights->frame;
    struct attn_pool *pool = attn_host_pool(frame->host, 1e9);
    const struct attn_part *parts = weights->parts.items;

    ATTN_TRY(attn_layer_factors_create(frame, &weights->factors, err));
    weights->n_scratch = attn_head_numbers_scratch(&weights->factors);
    weights->scratch = attn_frame_alloc(
        frame, (size_t)attn_pool_n_thread(pool) * weights->n_scratch, sizeof *weights->scratch);
    weights->numbers = attn_frame_alloc(frame, frame->config->n_head, sizeof *weights->numbers);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_error_at(attn_vocabulary_products_find(frame, &weights->products, err),
                           ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < weights->parts.n; i++) {
        if (i == 0 || parts[i].at.layer != parts[i - 1].at.layer) {
            ATTN_TRY(attn_host_check_canceled(frame->host, err));
            ATTN_TRY(attn_layer_factors_read(weights->model, &parts[i].at, &weights->factors, err));
            attn_pool_run(pool, frame->config->n_head, find_numbers, weights);
        }
        ATTN_TRY(append_numbers(weights, &parts[i], err));
    }
    return ATTN_OK;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, HEAD, COPYING_MLP0), .traits = ATTN_VIEW_SORTED, .asked = "in each head"},
};

const struct attn_procedure attn_head_weights_procedure = {
    .table.name = ATTN_TABLE_HEADS_FROM_WEIGHTS,
    ATTN_HEAD_WEIGHTS(struct weights),
    ATTN_PROCEDURE_TABLE(columns, views),
    .ask = ask_heads,
};

/* similarity.c - see heads_extra.h. The pool's threads share the pairs; each pair is summed by
 * one thread, in the order of rows and keys. */
#include "heads/heads_extra.h"
#include "heads/heads_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "trace/capture.h"
#include "trials/trial.h"

#include <stdlib.h>

static const size_t largest_size = (size_t)1 << 30; /* maximum bytes of all patterns */

/* A head whose keys are positions. */
struct head {
    struct attn_location at;
    const float *pattern; /* [n, n] borrowed */
};

struct pair {
    size_t a, b; /* indices of the heads, a < b */
    double js;
};

struct similarity {
    struct attn_frame frame;
    struct head *heads;       /* [n_head] */
    struct pair *pairs;       /* [n_pair] */
    size_t n, n_head, n_pair; /* numbers of tokens, heads and pairs */
};

/* Records the patterns, and lists the pairs of heads. */
static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct similarity *similarity = state;
    struct attn_frame *frame = &similarity->frame;
    const struct attn_config *config = frame->config;
    const size_t n_token = attn_asked_n(frame->run), n_all = config->n_layer * config->n_head;
    const size_t n_byte = attn_size_mul(attn_size_mul(n_all, n_token), n_token * sizeof(float));
    const struct attn_watch watch = {.selection = attn_asked_selection(frame->run),
                                     .capture = &frame->capture};
    const struct attn_dims *dims = attn_asked_dims(frame->run);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    char size[ATTN_QUANTITY_SIZE];

    if (n_byte > largest_size) {
        return attn_refuse(
            err, ATTN_STAGE_INPUT,
            "the patterns of %zu tokens take %s, expected at most 1 GiB to compare heads", n_token,
            attn_quantity_bytes(n_byte, size));
    }
    ATTN_TRY(attn_watch(frame->run, &watch, err));
    similarity->n = n_token;
    similarity->heads = attn_frame_alloc(frame, n_all, sizeof *similarity->heads);
    similarity->pairs = attn_frame_alloc(frame, n_all * (n_all - 1) / 2, sizeof *similarity->pairs);
    ATTN_TRY(attn_frame_memory(frame, err));
    while (attn_dims_next_head(dims, &at))
        if (!attn_location_is_cross(dims, &at) && !attn_location_is_lacking(dims, &at))
            similarity->heads[similarity->n_head++] =
                (struct head){at, attn_capture_head(frame->capture, &at)};
    for (size_t a = 0; a < similarity->n_head; a++)
        for (size_t b = a + 1; b < similarity->n_head; b++)
            similarity->pairs[similarity->n_pair++] = (struct pair){.a = a, .b = b};
    return ATTN_OK;
}

static double divergence(const float *p, const float *q, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const double a = (double)p[i], b = (double)q[i], m = (a + b) / 2;

        if (a > 0)
            sum += a * attn_log(a / m);
        if (b > 0)
            sum += b * attn_log(b / m);
    }
    return sum / 2;
}

/* Compares one pair of heads (attn_task_fn). */
static void compare(void *context, size_t task, int worker)
{
    const struct similarity *similarity = context;
    struct pair *pair = &similarity->pairs[task];
    const float *a = similarity->heads[pair->a].pattern, *b = similarity->heads[pair->b].pattern;
    const volatile sig_atomic_t *cancel = attn_host_opened_with(similarity->frame.host)->cancel;
    double sum = 0;

    (void)worker;
    for (size_t row = 0; row < similarity->n && !attn_is_canceled(cancel); row++)
        sum += divergence(a + row * similarity->n, b + row * similarity->n, similarity->n);
    pair->js = sum / (double)similarity->n;
}

static int by_likeness(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    const int order = attn_compare_numbers(p->js, q->js);

    if (order != 0)
        return order;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

enum { JS = 8, ROW_TYPE, N_COLUMN }; /* the columns of both heads come first */

static const struct attn_column columns[N_COLUMN] = {
    ATTN_COLUMNS_HEAD(0, 0),
    ATTN_COLUMN_OF(NUMBER, "number", INTEGER),
    ATTN_COLUMN_STACK("other_stack"),
    ATTN_COLUMN_OF(OTHER_LAYER, "other_layer", INTEGER),
    ATTN_COLUMN_OF(OTHER_HEAD, "other_head", INTEGER),
    ATTN_COLUMN_OF(OTHER_NUMBER, "other_number", INTEGER),
    [JS] = ATTN_COLUMN_QUANTITY("js", 4, "nats", POSITIVE, "Jensen-Shannon divergence"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct similarity *similarity = state;
    struct attn_frame *frame = &similarity->frame;
    const struct attn_heads_args *args = frame->args;
    const size_t n_most = args && !args->sort ? args->n_most : 0; /* 0: all */
    const size_t n_head = frame->config->n_head;

    attn_pool_run(attn_host_pool(frame->host, 1e9), similarity->n_pair, compare, similarity);
    ATTN_TRY(attn_host_check_canceled(frame->host, err));
    ATTN_SORT(similarity->pairs, similarity->n_pair, by_likeness);
    for (size_t i = 0; i < similarity->n_pair && (n_most == 0 || i < n_most); i++) {
        const struct pair *pair = &similarity->pairs[i];
        struct attn_cell row[N_COLUMN] = {attn_cell_missing()}, *cell = row;

        for (int k = 0; k < 2; k++) {
            const struct head *head = &similarity->heads[k == 0 ? pair->a : pair->b];

            attn_location_put(&head->at, cell);
            cell += 2;
            *cell++ = attn_cell_integer(head->at.head);
            *cell++ = attn_cell_integer(head->at.layer * (int64_t)n_head + head->at.head);
        }
        *cell = attn_cell_real(pair->js);
        ATTN_TRY(attn_frame_append(frame, row, err));
    }
    return ATTN_OK;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(NUMBER, OTHER_NUMBER, JS), .traits = ATTN_VIEW_PAIRS,
     .asked = "of the patterns of two heads"},
};

const struct attn_question attn_question_similarity = {
    .name = "similarity",
    .summary = "which heads look at the same places",
    .procedure = &attn_similarity_procedure,
};

const struct attn_procedure attn_similarity_procedure = {
    .table.name = ATTN_TABLE_HEADS_BY_PAIR,
    .question = &attn_question_similarity,
    ATTN_PROCEDURE_TABLE(columns, views),
    .state_size = sizeof(struct similarity),
    .sites = "pattern",
    .prepare = prepare,
    .ask = ask,
};

enum attn_status attn_similarity(struct attn_host *host, const struct attn_request *request,
                                 size_t n_most, struct attn_table **table, struct attn_error *err)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    const struct attn_procedure_call call = {host, request, NULL, &args, table, NULL};

    args.n_most = n_most;
    return attn_procedure_perform(&attn_similarity_procedure, &call, err);
}

/* score_texts.c - see score_texts.h. */
#include "experiment/score_texts.h"

#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/text_means.h"
#include "run/many.h"

#include <math.h>

/* The texts on their way, and what was found so far. */
struct scoring {
    const struct attn_request *request;
    const struct attn_score_args *args;
    size_t n_given;
    struct attn_moments nats; /* a token, over the texts that had one to score */
    struct attn_score_sum sum;
};

/* An attn_next_fn. */
static enum attn_status give_text(void *user, struct attn_record *record, bool *is_over,
                                  struct attn_error *err)
{
    struct scoring *scoring = user;

    (void)err;
    *is_over = scoring->n_given == scoring->args->n_text;
    if (!*is_over)
        record->input = scoring->args->texts[scoring->n_given++];
    return ATTN_OK;
}

/* An attn_done_fn. */
static enum attn_status take_text(void *user, const struct attn_many_result *result,
                                  struct attn_error *err)
{
    struct scoring *scoring = user;
    const size_t i = result->record->number, n = scoring->args->n_text;
    double nats = 0;

    if (result->record->failure != ATTN_RECORD_FAILURE_NONE) {
        const enum attn_status status = attn_error_copy(err, &result->record->err);

        attn_error_hint(err, "in text %zu of %zu", i + 1, n);
        return attn_error_at(status, ATTN_STAGE_INPUT, err);
    }
    for (size_t k = 1; k < result->n_token; k++)
        nats += result->surprisal[k];
    scoring->sum.nats += nats;
    scoring->sum.n_token += result->n_token - 1;
    if (result->n_token > 1)
        attn_moments_add(&scoring->nats, nats / (double)(result->n_token - 1));
    if (scoring->request->on_progress)
        scoring->request->on_progress(scoring->request->user, i + 1, n);
    return ATTN_OK;
}

static enum attn_status tabulate(const struct scoring *scoring, struct attn_table **table,
                                 struct attn_error *err)
{
#define REAL(label, of)                                                                            \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = 4                                                                                \
    }
    static const struct attn_column columns[] = {{.name = "texts", .type = ATTN_VALUE_INTEGER},
                                                 {.name = "tokens", .type = ATTN_VALUE_INTEGER},
                                                 REAL("bits", "bits"),
                                                 REAL("bits_sd", "bits"),
                                                 REAL("nats", "nats"),
                                                 REAL("nats_sd", "nats")};
#undef REAL
    enum { N_COLUMN = sizeof columns / sizeof *columns };
    const double sd = sqrt(scoring->nats.squares / ((double)scoring->nats.n - 1));
    struct attn_cell row[N_COLUMN] = {attn_cell_integer((int64_t)scoring->nats.n),
                                      attn_cell_integer((int64_t)scoring->sum.n_token)};
    struct attn_table *made = NULL;
    enum attn_status status = attn_table_create("score", columns, N_COLUMN, &made, err);

    for (size_t i = 2; i < N_COLUMN; i++)
        row[i] = attn_cell_missing();
    if (scoring->nats.n > 0) {
        row[2] = attn_cell_real(scoring->nats.mean / M_LN2);
        row[4] = attn_cell_real(scoring->nats.mean);
    }
    if (scoring->nats.n > 1) {
        row[3] = attn_cell_real(sd / M_LN2);
        row[5] = attn_cell_real(sd);
    }
    if (status == ATTN_OK)
        status = attn_table_append(made, row, N_COLUMN, err);
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

static enum attn_status check_args(const struct attn_score_args *args, struct attn_error *err)
{
    if (args->stride == 0 && !args->merges_words)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "--stride and --merge-words need one text, not many");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_score_texts(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_score_args *args, struct attn_table **table,
                                  struct attn_score_sum *sum, struct attn_error *err)
{
    struct scoring scoring = {.request = request, .args = args};
    const struct attn_many_calls calls = {.next = give_text, .done = take_text, .user = &scoring};
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    enum attn_status status = check_args(args, err);

    options.request = request;
    options.has_surprisal = true;
    if (status == ATTN_OK)
        status = attn_run_many(host, &options, &calls, err);
    if (status == ATTN_OK)
        status = tabulate(&scoring, table, err);
    if (status == ATTN_OK)
        *sum = scoring.sum;
    return status;
}

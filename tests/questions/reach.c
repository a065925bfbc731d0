/* reach.c - attn-cli reach: how far back a head looks. A question that
 * tests/tools/check_question.sh adds to the library: this file, as lib/questions/reach/reach.c, and
 * a row of ATTN_QUESTION_MAP. */
#include "frame/questions_internal.h"

#include "base/status_internal.h"
#include "frame/frame.h"
#include "trace/capture.h"
#include "trials/trial.h"

#include <math.h>
#include <stddef.h>

enum { STACK, LAYER, HEAD, REACH, ROW_TYPE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    /* as if version 1.1 added it: beside a label `reach` of the items it is called attn.reach */
    [REACH] =
        ATTN_COLUMN_QUANTITY("reach", 3, "tokens", POSITIVE, "mean distance of keys", .since = 1),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, HEAD, REACH), .asked = "of each head"},
};

struct attn_reach_args {
    size_t size;
    const struct attn_study_args *study;
    size_t n_skipped;
};

static const struct attn_param param_rows[] = {
    ATTN_PARAM(COUNT, "skip", "K", struct attn_reach_args, n_skipped,
               "leave out the first K tokens, to which many heads attend for want of better ones; "
               "default: 0",
               .most = INT32_MAX, .aliases = "omit|skip-first"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Reach", param_rows);
static const struct attn_param_part parts[] = {{&params, 0}};

struct reach {
    struct attn_frame frame;
};

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct reach *reach = state;

    (void)err;
    attn_question_choose_nothing(&reach->frame.request);
    reach->frame.request.selection.sites = "pattern";
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_frame *frame = &((struct reach *)state)->frame;
    const struct attn_watch watch = {.selection = attn_asked_selection(frame->run),
                                     .capture = &frame->capture};

    return attn_watch(frame->run, &watch, err);
}

/* The mean distance of keys in PATTERN [n, n], by their weights, without the first N_SKIPPED; NaN
 * if no keys are left. */
static double measure(const float *pattern, size_t n, size_t n_skipped)
{
    double sum = 0, total = 0;

    for (size_t query = n_skipped; query < n; query++)
        for (size_t key = n_skipped; key < n; key++) {
            const double weight = (double)pattern[query * n + key];

            sum += weight * (double)(query > key ? query - key : key - query);
            total += weight;
        }
    return total > 0 ? sum / total : (double)NAN;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_frame *frame = &((struct reach *)state)->frame;
    const struct attn_reach_args *args = frame->args;
    const struct attn_dims *dims = attn_asked_dims(frame->run);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_head(dims, &at)) {
        const float *pattern = attn_capture_head(frame->capture, &at);
        struct attn_cell row[N_COLUMN] = {[HEAD] = attn_cell_integer(at.head)};

        if (attn_location_is_cross(dims, &at))
            continue;
        row[REACH] =
            attn_cell_real_or_missing(measure(pattern, attn_asked_n(frame->run), args->n_skipped));
        attn_location_put(&at, &row[STACK]);
        ATTN_TRY(attn_frame_append(frame, row, err));
    }
    return ATTN_OK;
}

extern const struct attn_question attn_question_reach;

static const struct attn_procedure procedure = {
    .table = {.name = "reach",
              .columns = columns,
              .n_column = N_COLUMN,
              .views = views,
              .n_view = sizeof views / sizeof *views},
    .question = &attn_question_reach,
    .state_size = sizeof(struct reach),
    .items.study = offsetof(struct attn_reach_args, study),
    .choose = choose,
    .prepare = prepare,
    .ask = ask,
};

const struct attn_question attn_question_reach = {
    .name = "reach",
    .summary = "how far back each head looks",
    .description =
        "Prints for each head the mean distance in tokens between a query and its keys,\n"
        "by their weights. `skip` leaves out the first tokens.\n"
        "\n"
        "A large number does not say that a head needs what is far away.\n",
    .examples = "  attn-cli reach -m fable \"The keys to the cabinet\"\n"
                "  attn-cli reach -m fable `skip` 1 `sort` reach \"The keys to the cabinet\"\n",
    .parts = parts,
    .n_part = 1,
    ATTN_QUESTION_ARGS(struct attn_reach_args, .size = sizeof(struct attn_reach_args)),
    .procedure = &procedure,
};

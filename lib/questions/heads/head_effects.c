/* head_effects.c - the reader of `heads` for what each head does for an answer: its direct effect,
 * the change without it, and the change when it is taken from the run of another text. The numbers
 * are those of the questions `attribute`, `ablate` and `patch`. `attribute` and `patch` are asked
 * about the same input, and their rows of heads are copied. */
#include "heads/heads_columns.h"

#include "attribute/attribute.h"
#include "base/text/list.h"
#include "circuit/patch_internal.h"
#include "frame/questions.h"
#include "frame/questions_internal.h"
#include "params/param_internal.h"
#include "tables/table_internal.h"
#include "trace/location_extra.h"

#include <math.h>
#include <string.h>

enum { BASE_ROW = 0, SOURCE_ROW = 1 }; /* the first rows of `patch` */

bool attn_head_effects_read(const char *list, unsigned *effects, char *rest)
{
    static const char names[] = "direct|ablated|patched|weight";
    size_t n_rest = 0;

    *effects = 0;
    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        const int effect = attn_param_find_word(names, item.text, item.size);

        if (effect >= 0) {
            *effects |= 1U << effect;
        } else { /* a comma after each name, as in LIST, of which the last one is replaced */
            memcpy(rest + n_rest, item.text, item.size);
            n_rest += item.size;
            rest[n_rest++] = ',';
        }
    }
    rest[n_rest - (n_rest > 0)] = '\0';
    return n_rest > 0;
}

/* Copies the numbers in COLUMN of TABLE to column TO of their heads. */
static void copy_heads(const struct attn_heads_run *heads, const struct attn_table *table,
                       const char *column, int to)
{
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER),
                 head = attn_table_find_role(table, ATTN_ROLE_HEAD),
                 value = attn_table_find(table, column);

    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell of_head = attn_table_cell(table, row, head),
                               cell = attn_table_cell(table, row, value);
        struct attn_location at;
        size_t i;

        if (of_head.type == ATTN_VALUE_MISSING || cell.type == ATTN_VALUE_MISSING ||
            !attn_location_read(table, row, layer, &at))
            continue;
        at.site = ATTN_SITE_PATTERN;
        at.head = (int)of_head.integer;
        if ((i = attn_parts_find(&heads->parts, &at)) < heads->parts.n)
            heads->found[i * ATTN_N_HEAD_COLUMN + (size_t)to] = cell.real;
    }
}

static enum attn_status find_direct(const struct attn_heads_run *heads,
                                    const struct attn_request *request, struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *table;

    args.answer = heads->args->answer;
    args.answer.metric = ATTN_ANSWER_AUTO; /* a logit has none */
    args.sides = ATTN_SIDES_NONE;
    ATTN_TRY(attn_attribute(heads->frame.host, request, &args, &table, err));
    copy_heads(heads, table, "attribution", ATTN_HEAD_DIRECT);
    attn_table_free(table);
    return ATTN_OK;
}

/* Counts the runs of `patch` after those without heads. */
static void on_progress(void *user, size_t done, size_t total)
{
    const struct attn_frame *frame = user;
    const size_t n_before = frame->trials.n_feed;

    attn_frame_report(frame, n_before + done, n_before + total);
}

static enum attn_status find_patched(struct attn_heads_run *heads, struct attn_request request,
                                     struct attn_error *err)
{
    const struct attn_item *item = heads->frame.item;
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;
    size_t value;
    double base;

    args.corrupted = heads->args->corrupted;
    args.answer = heads->args->answer;
    args.site = attn_site_name(ATTN_SITE_Z);
    request.selection.heads = heads->frame.request.selection.heads;
    request.on_progress = on_progress;
    request.on_part = NULL; /* it is of another user, and these runs are counted */
    request.user = &heads->frame;
    if (item) {
        ATTN_TRY(attn_question_patch.procedure->items.take_item(&args, &request, item, err));
        request.selection.queries = item->queries;
    }
    ATTN_TRY(attn_patch(heads->frame.host, &request, &args, &table, &sum, err));
    value = attn_table_find(table, "value");
    base = attn_table_cell(table, BASE_ROW, value).real;
    heads->whole = attn_table_cell(table, SOURCE_ROW, value).real - base;
    copy_heads(heads, table, "value", ATTN_HEAD_PATCHED);
    copy_heads(heads, table, "effect", ATTN_HEAD_PATCHED_SHARE);
    for (size_t i = 0; i < heads->parts.n; i++)
        heads->found[i * ATTN_N_HEAD_COLUMN + ATTN_HEAD_PATCHED] -= base;
    attn_table_free(table);
    return ATTN_OK;
}

/* Switches head number I off (attn_part_edit_fn). */
static enum attn_status add_edit(void *user, size_t i, struct attn_part_edits *edits,
                                 struct attn_error *err)
{
    const struct attn_heads_run *heads = user;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at = heads->parts.items[i].at;
    edit.at.site = ATTN_SITE_Z;
    return attn_part_edits_add(edits, &edit, err);
}

/* Switches each head off in turn. */
static enum attn_status find_ablated(struct attn_heads_run *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    const size_t n = heads->parts.n;
    struct attn_trial_outcome *outcomes = attn_frame_alloc(frame, n, sizeof *outcomes);

    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_trial_check_host(frame->host, err));
    ATTN_TRY(attn_frame_find_answer(frame, &heads->args->answer, &heads->answer, err));
    ATTN_TRY(attn_trials_start(frame->run, &heads->answer, ATTN_SITE_Z, &frame->trials, err));
    frame->trials.n_expected = (1 + n) * (heads->args->effects & ATTN_HEADS_PATCHED ? 2 : 1);
    ATTN_TRY(attn_parts_try(&frame->trials, n, add_edit, heads, outcomes, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_reply *reply = &outcomes[i].reply;
        const struct attn_cell right = attn_reply_right(&heads->answer, reply->right);
        double *found = heads->found + i * ATTN_N_HEAD_COLUMN;

        found[ATTN_HEAD_CHANGE] = found[ATTN_HEAD_ABLATED] =
            reply->value - frame->trials.base.value;
        if (heads->has_right && right.type != ATTN_VALUE_MISSING)
            found[ATTN_HEAD_RIGHT] = right.real;
    }
    return ATTN_OK;
}

static enum attn_status choose(struct attn_heads_run *heads, struct attn_error *err)
{
    (void)err;
    heads->has_right = heads->args->has_effect && heads->frame.is_one_of_many &&
                       attn_metric_has_right(heads->args->answer.metric);
    return ATTN_OK;
}

/* Sets what a foil decides for the item, as all items must agree. */
static void report_metric(const struct attn_heads_run *heads)
{
    const struct attn_answer_args *answer = &heads->args->answer;
    const bool has_foil = answer->foil || answer->foil_id;

    if (heads->frame.answer &&
        (answer->metric == ATTN_ANSWER_AUTO || (heads->args->effects & ATTN_HEADS_DIRECT)))
        heads->frame.answer->chosen =
            attn_answer_metric_name(has_foil ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOG_PROB);
}

static enum attn_status finish(struct attn_heads_run *heads, void *reading, struct attn_error *err)
{
    const unsigned effects = heads->args->effects;
    struct attn_request request = heads->frame.request;

    (void)reading;
    attn_question_choose_nothing(&request);
    request.on_note = NULL; /* the run of the frame sends the same notes */
    request.on_counted = NULL;
    heads->whole = (double)NAN;
    if (attn_heads_have_ablation(heads->args))
        ATTN_TRY(find_ablated(heads, err));
    if (attn_heads_have_answer(heads->args))
        report_metric(heads);
    if (effects & ATTN_HEADS_DIRECT)
        ATTN_TRY(find_direct(heads, &request, err));
    return effects & ATTN_HEADS_PATCHED ? find_patched(heads, request, err) : ATTN_OK;
}

const struct attn_head_reader attn_head_effects_reader = {.choose = choose, .finish = finish};

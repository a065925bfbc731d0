/* head_effects.c - see head_effects.h. Each effect is a question of its own about the same input;
 * its rows of heads are copied from its table. */
#include "questions/head_effects.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "params/param_internal.h"
#include "questions/attribute.h"
#include "questions/patch.h"
#include "questions/questions.h"
#include "questions/questions_internal.h"
#include "tables/table_internal.h"
#include "trace/location_internal.h"

#include <math.h>
#include <string.h>

enum { BASE_ROW = 0, SOURCE_ROW = 1 }; /* the first rows of `patch` */

void attn_head_effects_read(const char *list, unsigned *effects, char *rest)
{
    static const char names[] = "direct|ablated|patched|weight";
    size_t n_rest = 0, size;

    *effects = 0;
    for (const char *item = list;; item += size + 1) {
        const int effect = attn_param_find_word(names, item, size = strcspn(item, ","));

        if (effect >= 0) {
            *effects |= 1U << effect;
        } else {
            if (n_rest > 0 || size == 0) /* an empty name is an error of the rest */
                rest[n_rest++] = ',';
            memcpy(rest + n_rest, item, size);
            n_rest += size;
        }
        if (item[size] == '\0')
            break;
    }
    rest[n_rest] = '\0';
}

enum attn_status attn_head_effects_check(const struct attn_heads_args *args, struct attn_error *err)
{
    const struct attn_answer_args *answer = &args->answer;
    const bool has_answer = args->has_effect || (args->effects & ATTN_HEADS_OF_ANSWER) != 0;
    const bool has_other = attn_input_is_given(&args->corrupted);
    const char *unused = answer->target || answer->target_id      ? "target"
                         : answer->foil || answer->foil_id        ? "foil"
                         : attn_number_list_is_given(&answer->at) ? "at"
                         : answer->metric != ATTN_ANSWER_AUTO     ? "metric"
                                                                  : NULL;

    if (unused && !has_answer)
        return attn_error_set(err, ATTN_INVALID,
                              "`%s` needs `effect`, or one of direct, ablated and patched in "
                              "`measures`",
                              unused);
    if (answer->metric != ATTN_ANSWER_AUTO && !args->has_effect &&
        (args->effects & ATTN_HEADS_OF_ANSWER) == ATTN_HEADS_DIRECT)
        return attn_error_set(err, ATTN_INVALID,
                              "`metric` has no effect: direct is a part of a logit");
    if ((args->effects & ATTN_HEADS_PATCHED) && !has_other && !args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` patched needs `corrupted`, the other text");
    if (has_other && !(args->effects & ATTN_HEADS_PATCHED))
        return attn_error_set(err, ATTN_INVALID, "`corrupted` needs `measures` patched");
    return ATTN_OK;
}

/* What is asked for an input. */
struct finding {
    const struct attn_frame *frame;
    struct attn_request request; /* that of the frame, without what it selects */
    const struct attn_heads_args *args;
    const struct attn_parts *parts;
    struct attn_head_effect *effects; /* [parts->n] */
};

/* Copies the numbers in COLUMN of TABLE to the field at offset FIELD of the effects of their heads.
 */
static void copy_heads(const struct finding *finding, const struct attn_table *table,
                       const char *column, size_t field)
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
        if ((i = attn_parts_find(finding->parts, &at)) < finding->parts->n)
            memcpy((char *)&finding->effects[i] + field, &cell.real, sizeof cell.real);
    }
}

static enum attn_status find_direct(const struct finding *finding, struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *table;

    args.answer = finding->args->answer;
    args.answer.metric = ATTN_ANSWER_AUTO; /* a logit has none */
    ATTN_TRY(attn_attribute(finding->frame->host, &finding->request, &args, &table, err));
    copy_heads(finding, table, "value", offsetof(struct attn_head_effect, direct));
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

/* WHOLE is that of attn_head_effects_find. */
static enum attn_status find_patched(const struct finding *finding, double *whole,
                                     struct attn_error *err)
{
    const struct attn_item *item = finding->frame->item;
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_request request = finding->request;
    struct attn_table *table;
    size_t value;
    double base;

    args.corrupted = finding->args->corrupted;
    args.answer = finding->args->answer;
    args.site = attn_site_name(ATTN_SITE_Z);
    request.selection.heads = finding->frame->request.selection.heads;
    request.on_progress = on_progress;
    request.user = (void *)(uintptr_t)finding->frame;
    if (item) {
        ATTN_TRY(attn_question_patch.procedure->items.take_item(&args, &request, item, err));
        request.selection.queries = item->queries;
    }
    ATTN_TRY(attn_patch(finding->frame->host, &request, &args, &table, &sum, err));
    value = attn_table_find(table, "value");
    base = attn_table_cell(table, BASE_ROW, value).real;
    *whole = attn_table_cell(table, SOURCE_ROW, value).real - base;
    copy_heads(finding, table, "value", offsetof(struct attn_head_effect, patched));
    copy_heads(finding, table, "effect", offsetof(struct attn_head_effect, share));
    for (size_t i = 0; i < finding->parts->n; i++)
        finding->effects[i].patched -= base;
    attn_table_free(table);
    return ATTN_OK;
}

enum attn_status attn_head_effects_find(const struct attn_frame *frame,
                                        const struct attn_heads_args *args,
                                        const struct attn_parts *parts,
                                        struct attn_head_effect *effects, double *whole,
                                        struct attn_error *err)
{
    struct finding finding = {frame, frame->request, args, parts, effects};

    attn_frame_choose_nothing(&finding.request);
    finding.request.on_note = NULL; /* the run of the frame sends the same notes */
    finding.request.on_counted = NULL;
    for (size_t i = 0; i < parts->n; i++)
        effects[i] = (struct attn_head_effect){(double)NAN, (double)NAN, (double)NAN};
    *whole = (double)NAN;
    if (args->effects & ATTN_HEADS_DIRECT)
        ATTN_TRY(find_direct(&finding, err));
    return args->effects & ATTN_HEADS_PATCHED ? find_patched(&finding, whole, err) : ATTN_OK;
}

#include "spans/spans.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "figures/table_axis.h"
#include "frame/questions.h"
#include "frame/questions_internal.h"
#include "measures/parks.h"
#include "predict/answer_internal.h"
#include "spans/spans_internal.h"
#include "talk/chat.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Effects ---------------------------------------------------------------------------------- */

/* How an answer changes when the queries do not see a span: a run for each. */

/* Appends edits by which the flagged ROWS lose the keys COL0 to COL1 - 1 in AT. A row keeps itself,
 * unless the keys are of the source. */
static enum attn_status mask_columns(const struct attn_spans_run *spans,
                                     const struct attn_location *at, size_t col0, size_t col1,
                                     struct attn_part_edits *edits, struct attn_error *err)
{
    for (size_t row = 0, end; row < spans->n; row = end) {
        const bool is_own = !spans->is_of_source && row >= col0 && row < col1;

        end = row + 1;
        if (!spans->rows[row])
            continue;
        while (!is_own && end < spans->n && spans->rows[end] &&
               (spans->is_of_source || end < col0 || end >= col1))
            end++;
        for (int side = 0; side < (is_own ? 2 : 1); side++) {
            struct attn_edit edit = ATTN_EDIT_DEFAULT;

            edit.at = *at;
            edit.at.site = ATTN_SITE_ATTN_SCORES;
            edit.op = ATTN_EDIT_MASK;
            edit.row0 = row;
            edit.row1 = end;
            edit.col0 = side == 0 ? col0 : row + 1;
            edit.col1 = is_own && side == 0 ? row : col1;
            if (edit.col0 < edit.col1)
                ATTN_TRY(attn_part_edits_add(edits, &edit, err));
        }
    }
    return ATTN_OK;
}

/* Appends the edits by which the flagged rows lose SPAN in HEAD. */
static enum attn_status mask_span(const struct attn_spans_run *spans,
                                  const struct attn_location *head, const struct attn_span *span,
                                  struct attn_part_edits *edits, struct attn_error *err)
{
    for (size_t first = span->first, end; first <= span->last; first = end) {
        end = first + 1;
        if (!span->flags[first])
            continue;
        while (end <= span->last && span->flags[end])
            end++;
        ATTN_TRY(mask_columns(spans, head, first, end, edits, err));
    }
    return ATTN_OK;
}

/* Whether the queries see a key that is not in SPAN. */
static bool sees_other(const struct attn_spans_run *spans, const struct attn_span *span)
{
    for (size_t t = 0; t < spans->keys.n; t++)
        if (!span->flags[t] && spans->keys.is_seen[t])
            return true;
    return false;
}

/* Returns the number of trials of a span: one for each head in which the queries do not see it; or
 * one for all heads, and one in which no other token sees it in them. */
static size_t n_trial_of(const struct attn_spans_run *spans)
{
    return spans->args->by == ATTN_SPANS_BY_HEAD ? spans->heads.n : 2;
}

/* Appends the edits of trial number I (attn_part_edit_fn). */
static enum attn_status add_trial(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct attn_spans_run *spans = user;
    const size_t n_each = n_trial_of(spans), k = i % n_each;
    const bool is_by_head = spans->args->by == ATTN_SPANS_BY_HEAD,
               is_of_others = !is_by_head && k > 0;
    const struct attn_span *span = &spans->items[i / n_each];

    memset(spans->rows, 0, spans->n);
    for (size_t q = 0; q < spans->n_query; q++)
        spans->rows[spans->queries[q]] = 1;
    for (size_t t = 0; is_of_others && t < spans->n; t++)
        spans->rows[t] = spans->is_of_source || !span->flags[t];
    for (size_t head = is_by_head ? k : 0; head < (is_by_head ? k + 1 : spans->heads.n); head++)
        ATTN_TRY(mask_span(spans, &spans->heads.items[head].at, span, edits, err));
    return ATTN_OK;
}

/* Finds which of MEASURED [n_span] has the largest change; k that differ by rounding alone have 1/k
 * each. */
static void find_largest(const struct attn_spans_run *spans, struct attn_span_numbers *measured)
{
    for (size_t i = 0; i < spans->n_span; i++) {
        size_t n_equal = 0;

        measured[i].largest = 1;
        for (size_t k = 0; k < spans->n_span; k++) {
            const double verdict = attn_verdict(fabs(measured[i].change), fabs(measured[k].change));

            n_equal += isnan(verdict);
            measured[i].largest = verdict == 0 ? 0 : measured[i].largest;
        }
        measured[i].largest /= (double)n_equal; /* at least itself */
    }
}

/* Runs the trials, and takes what each changes. */
static enum attn_status run_trials(struct attn_spans_run *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const double sign = spans->n_prompt == spans->n ? 1 : -1; /* of an answer -ln p is computed */
    const size_t n_row = spans->n_span + ATTN_SPANS_N_MORE, n_each = n_trial_of(spans),
                 n = spans->n_span * n_each;
    const bool is_by_head = spans->args->by == ATTN_SPANS_BY_HEAD;
    struct attn_trial_outcome *outcomes = attn_frame_alloc(frame, n, sizeof *outcomes);

    spans->rows = attn_frame_alloc(frame, spans->n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(
        attn_trials_start(spans->run, &spans->answer, ATTN_SITE_ATTN_SCORES, &frame->trials, err));
    attn_frame_report_base(frame, &spans->answer, &frame->trials.base);
    ATTN_TRY(attn_parts_try(&frame->trials, n, add_trial, spans, outcomes, err));
    for (size_t i = 0; i < n; i++) {
        const double change = sign * (outcomes[i].reply.value - frame->trials.base.value);
        struct attn_span_numbers *measured =
            spans->measured + (is_by_head ? i % n_each * n_row : 0) + i / n_each;

        *(is_by_head || i % n_each == 0 ? &measured->change : &measured->cut) = change;
    }
    for (size_t i = 0; i < (is_by_head ? spans->heads.n : 1); i++)
        find_largest(spans, spans->measured + i * n_row);
    return ATTN_OK;
}

/* Whether weight is parked on key T; of a source on the first, and on the last that is seen. */
static bool is_parked_on(const struct attn_spans_run *spans, size_t t)
{
    size_t last = spans->keys.n - 1;

    if (spans->parks[0])
        return attn_parks_has(spans->parks[0], t);
    while (last > 0 && !spans->keys.is_seen[last])
        last--;
    return t == 0 || t == last;
}

/* Notes what the effects cost, and the spans where weight is parked. */
static void note_effects(const struct attn_spans_run *spans, size_t n_trial)
{
    const struct attn_request *request = &spans->frame.request;

    if (spans->frame.is_one_of_many)
        return;
    attn_note(request->on_note, request->user, ATTN_NOTE_RUNS,
              "`effect` runs the model %zu times, and hides spans in %zu of %zu heads", n_trial + 1,
              spans->args->by == ATTN_SPANS_BY_HEAD ? 1 : spans->heads.n,
              (size_t)(spans->frame.config->n_layer * spans->frame.config->n_head));
    for (size_t i = 0; i < spans->n_span; i++) {
        const struct attn_span *span = &spans->items[i];
        size_t sink = spans->keys.n;

        for (size_t t = 0; t < spans->keys.n && sink == spans->keys.n; t++)
            if (span->flags[t] && is_parked_on(spans, t))
                sink = t;
        if (sink < spans->keys.n)
            attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                      "span '%s' holds position %zu, a sink where other tokens park weight: its "
                      "cut need not say anything about its text",
                      attn_quote_string(span->name).text, sink);
    }
}

/* Fills the effects of `measured`. */
static enum attn_status hide_spans(struct attn_spans_run *spans, struct attn_error *err)
{
    for (size_t i = 0; spans->is_of_source && i < spans->n_span; i++)
        if (!sees_other(spans, &spans->items[i]))
            return attn_refuse(
                err, ATTN_STAGE_OPTIONS,
                "`effect`: without '%s', the whole source, heads have no key to look at",
                attn_quote_string(spans->items[i].name).text);
    note_effects(spans, spans->n_span * n_trial_of(spans));
    return run_trials(spans, err);
}

enum {
    STACK,
    LAYER,
    HEAD,
    POSITION,
    TOKEN,
    NEXT,
    SPAN,
    TOKENS,
    SHARE,
    EVEN,
    LOOKBACK,
    FOCUS,
    COPIED,
    SCORE,
    RANK,
    BEST,
    CHANGE,
    CUT,
    LARGEST,
    POSITIONS,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_HEADS = 2,
    SHOW_STEPS = 4,
    SHOW_RANKS = 8,
    SHOW_EFFECT = 16,
    SHOW_CUT = 32,
    SHOW_TEXT = 64
};

static const struct attn_column columns[N_COLUMN] = {
    ATTN_COLUMNS_HEAD(STACK, SHOW_HEADS),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_STEPS),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_STEPS),
    [NEXT] = ATTN_COLUMN("next", TEXT, .shown = SHOW_STEPS, .help = "token after the query"),
    [SPAN] = ATTN_COLUMN("span", TEXT, .quantity = "span"),
    [TOKENS] = ATTN_COLUMN_WHOLE("n_token", "tokens"),
    [SHARE] = ATTN_COLUMN_QUANTITY("share", 4, NULL, SHARE, "share of the weight"),
    [EVEN] = ATTN_COLUMN_REAL("even", 4, NULL, SHARE,
                              .help = "the share if all keys had the same weight, 0 to 1"),
    [LOOKBACK] = ATTN_COLUMN_REAL(
        "lookback", 4, NULL, SHARE,
        .help = "m / (m + m'), mean weights in the span and after all spans, 0 to 1"),
    [FOCUS] = ATTN_COLUMN_REAL("focus", 4, NULL, SHARE,
                               .help = "share / sum of the shares of all spans, 0 to 1"),
    [COPIED] = ATTN_COLUMN_REAL(
        "copied", 4, NULL, POSITIVE,
        .help = "sum of 1 / n_token over rows with most weight on the next token in the span"),
    [SCORE] = ATTN_COLUMN_REAL("score", 4, NULL, SIGNED, .shown = SHOW_RANKS,
                               .help = "share, or with `neutral` weight beyond the neutral text's"),
    [RANK] = ATTN_COLUMN_WHOLE("rank", "rank of the span", .shown = SHOW_RANKS),
    [BEST] =
        ATTN_COLUMN_RATE("best", 4, "share of items whose best span it is", 0, .shown = SHOW_RANKS),
    [CHANGE] = ATTN_COLUMN_QUANTITY("change", 4, NULL, SIGNED, "change of @", .shown = SHOW_EFFECT),
    [CUT] = ATTN_COLUMN_REAL("cut", 4, NULL, SIGNED, .shown = SHOW_CUT,
                             .help = "change of the answer if nothing outside the span sees it"),
    [LARGEST] = ATTN_COLUMN_RATE("largest", 4, "share of items whose largest change it has", 0,
                                 .shown = SHOW_EFFECT),
    [POSITIONS] =
        ATTN_COLUMN("positions", TEXT, .shown = SHOW_TEXT, .help = "positions of the span, 0-2,4"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(CHOICE, "by", NULL, struct attn_spans_args, by,
               "rows: head (default), a row for each head and span; span, means over the heads, "
               "and the sum of their scores; step, a row for each query",
               .words = "head|span|step"),
    ATTN_PARAM(LIST, "spans", "NAME,...", struct attn_spans_args, spans,
               "the names of `positions` that are spans, or globs: d*; default: all of them. A "
               "conversation without `positions` has its messages: 0_system, 1_user"),
    ATTN_PARAM_QUERIES(
        "the rows that are measured, positions or words; default: -1, the last. An item "
        "may have its own",
        .keys = "queries"),
    ATTN_PARAM_HEADS(
        "the heads that are measured: 2.5,3.* or 0-3 of each layer; default: all, with a "
        "source those of cross-attention"),
    ATTN_PARAM(INPUT, "neutral", "TEXT", struct attn_spans_args, neutral,
               "rank spans by the weight that the queries add to that of TEXT in their place, "
               "such as N/A",
               .second = offsetof(struct attn_spans_args, neutral.n_text), .keys = "neutral"),
    ATTN_PARAM(IDS, "neutral_ids", "LIST", struct attn_spans_args, neutral.ids, NULL,
               .of = "neutral",
               .prefix = "ids:", .second = offsetof(struct attn_spans_args, neutral.n_id),
               .keys = "neutral", .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(TEXT, "continuation", "TEXT", struct attn_spans_args, continuation,
               "put this answer behind the text: the queries are the tokens that write it",
               .keys = "continuation"),
    ATTN_PARAM(COUNT, "generated", "N", struct attn_spans_args, n_generated,
               "the same with the N most probable tokens that follow the text", .least = 1,
               .most = INT32_MAX),
    ATTN_PARAM(
        FLAG, "effect", NULL, struct attn_spans_args, has_effect,
        "add columns: how the answer changes when the queries do not see the span (change), by "
        "span also when no token outside of it does (cut), both in the heads of `heads`; and how "
        "often its change is the largest (largest)"),
    ATTN_PARAM(CHOICE, "hide", NULL, struct attn_spans_args, hides,
               "positions that are in no span: parks (default), where heads park weight that they "
               "do not need. They are the row parked, other numbers are of the weight that is "
               "left, and effects leave them visible; or none",
               .words = "parks|none"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Spans", param_rows);

static const struct attn_param_part parts[] = {
    {&params, 0},
    ATTN_QUESTION_ANSWER(struct attn_spans_args),
};

static const struct attn_param_rule rules[] = {
    {.given = "target|target_id|foil|foil_id|at|metric",
     .needs = "effect",
     .message = "`target`, `foil`, `at` and `metric` need `effect`"},
    {.given = "effect",
     .excludes = "by:step",
     .message = "`effect` is of all queries together, and `by step` of each"},
    {.given = "generated", .excludes = "continuation"},
    {.given = "generated|continuation",
     .excludes = "queries|neutral|neutral_ids|target|target_id|at",
     .message = "@ has its own queries and its own metric, and takes no #"},
    {.given = "neutral|neutral_ids",
     .excludes = "by:step",
     .message = "@ is for scores, and `by step` has none"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_spans = {
    .name = "spans",
    .lacks = "continuation", /* it has one of its own */
    .summary = "which part of the context was used",
    .description =
        "Names parts of the text by `positions NAME=SPEC`, and prints how much each head\n"
        "looks at them: the share of its weight, the share if all keys were equal (even),\n"
        "the weight of a token of the span beside that of new tokens (lookback), the part\n"
        "of the weight on all spans (focus), and whether tokens are copied from there.\n"
        "score is the share, or with `neutral` the weight that the queries add, by which\n"
        "spans are ranked. rest is what is in no span, parked the positions where heads\n"
        "park weight (`attn-cli sinks` with `by park`): no share counts them.\n"
        "\n"
        "If the text has a source, spans are parts of the source and heads those of\n"
        "cross-attention, unless `heads` has heads of self-attention alone.\n"
        "\n"
        "A share says where heads look. It does not say that what is there is used: long\n"
        "spans have large shares.\n"
        "`effect` says what changes when the queries do not see a span (change) or no\n"
        "other token does (cut). Over `items` the numbers are means, and rows gold are\n"
        "those of the span that the key gold of an item names. They alone have best and\n"
        "largest then: how often that span has the highest score, and the largest change.\n",
    .examples = "  attn-cli spans -m fable `positions` key='\"The keys\"' `positions` to=2-3 \\\n"
                "    `by` span `effect` `target` ' are' \"The keys to the cabinet\"\n"
                "  attn-cli spans -m fable `positions` all=0-2 `continuation` ' are' \\\n"
                "    \"The keys to the cabinet\"\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_spans_args, .size = sizeof(struct attn_spans_args)),
    .has_place_rows = true,
    .choose = choose_procedure,
};

/* --- The run ---------------------------------------------------------------------------------- */

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_spans_run *spans = state;
    struct attn_frame *frame = &spans->frame;
    const char *heads = frame->request.selection.heads;
    struct attn_number_list queries = frame->request.selection.queries;

    if (frame->item)
        queries = attn_number_list_or(frame->item->queries, queries);
    spans->args = frame->args;
    if (spans->args->continuation && !frame->request.input.continuation) {
        frame->request.input.continuation = spans->args->continuation;
        frame->request.input.n_continuation = strlen(spans->args->continuation);
    }
    spans->has_queries = queries.n > 0 || queries.text;
    if (spans->args->by == ATTN_SPANS_BY_STEP && spans->args->study && !spans->args->study->each)
        return attn_error_set(err, ATTN_INVALID,
                              "`by step` of `items` needs `each`: steps of different texts have no "
                              "mean");
    attn_question_choose_nothing(&frame->request);
    frame->request.selection.sites = "pattern";
    frame->request.selection.heads = heads;
    frame->request.selection.queries =
        attn_number_list_or(queries, (struct attn_number_list){.text = "-1"});
    return ATTN_OK;
}

/* Appends the answer to the text, and prepares the run of both. */
static enum attn_status continue_text(struct attn_spans_run *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const struct attn_spans_args *args = spans->args;
    struct attn_request request = frame->request;
    size_t first;

    spans->run = frame->run;
    spans->n = spans->n_prompt = attn_asked_n(frame->run);
    if (attn_asked_text(spans->run)->seen.n_picture > 0)
        spans->n_prompt = attn_asked_text(spans->run)->seen.n_prompt;
    if (args->n_generated == 0) {
        first = attn_chat_answer(attn_asked_chat(frame->run), attn_asked_text(frame->run));
        spans->n_prompt = first > 0 && !spans->has_queries ? first : spans->n_prompt;
        return ATTN_OK;
    }
    spans->made = ATTN_GENERATION_DEFAULT;
    ATTN_TRY(attn_attribute_continue(frame->host, &frame->request, args->n_generated, NULL,
                                     &spans->made, err));
    request.input.continuation_ids = spans->made.ids + spans->made.n_prompt;
    request.input.n_continuation_id = spans->made.n;
    request.selection.queries = (struct attn_number_list){0};
    request.on_note = NULL; /* the first run sent the same notes */
    ATTN_TRY(attn_run_open(frame->host, NULL, &request, &frame->other, err));
    spans->run = frame->other;
    spans->n = attn_asked_n(spans->run);
    return ATTN_OK;
}

/* Lists the heads: those that attend to the source, if one of them is selected. */
static enum attn_status list_heads(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_selection *selection = attn_asked_selection(spans->frame.run);
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_parts *heads = &spans->heads;
    size_t n = 0;

    ATTN_TRY(attn_parts_list(selection, ATTN_ALL_OF(DECODER, ATTN_SITE_PATTERN), 0, heads, err));
    for (size_t i = 0; i < heads->n; i++)
        spans->is_of_source |= attn_location_is_cross(dims, &heads->items[i].at);
    for (size_t i = 0; i < heads->n; i++)
        if (attn_location_is_cross(dims, &heads->items[i].at) == spans->is_of_source)
            heads->items[n++] = heads->items[i];
    heads->n = n;
    if (n > 0)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "`heads` are those of the encoder, expected heads that look at the text or "
                       "at its source");
}

/* Lists the queries and the heads. */
static enum attn_status list_rows(struct attn_spans_run *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const bool has_answer = spans->n_prompt < spans->n;

    ATTN_TRY(list_heads(spans, err));
    spans->keys.n = attn_spans_keys(spans, spans->run)->n;
    spans->queries = attn_frame_alloc(frame, spans->n, sizeof *spans->queries);
    spans->keys.rest = attn_frame_alloc(frame, spans->keys.n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    memset(spans->keys.rest, 1, spans->keys.n);
    for (size_t i = 0; i < spans->n; i++)
        if (has_answer
                ? i + 1 >= spans->n_prompt && i + 1 < spans->n
                : attn_selection_has_query(attn_asked_selection(frame->run), ATTN_STACK_ONLY, i))
            spans->queries[spans->n_query++] = i;
    spans->n_step = spans->args->by == ATTN_SPANS_BY_STEP ? spans->n_query : 1;
    return ATTN_OK;
}

/* Resolves the answer whose change is measured. */
static enum attn_status find_answer(struct attn_spans_run *spans, struct attn_error *err)
{
    struct attn_answer_args args = spans->args->answer;

    if (!spans->args->has_effect)
        return ATTN_OK;
    if (spans->n_prompt == spans->n && !args.target && !args.target_id && !args.metric)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`effect` needs `target`, or an answer by `continuation`, "
                           "`generated`, or the last of `messages`");
    if (spans->n_prompt == spans->n)
        return attn_frame_find_answer(&spans->frame, &args, &spans->answer, err);
    args.metric = ATTN_ANSWER_CE;
    ATTN_TRY(attn_run_find_answer(spans->run, &args, &spans->answer, err));
    spans->answer.first_token = spans->n_prompt;
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_spans_run *spans = state;
    struct attn_frame *frame = &spans->frame;

    ATTN_TRY(continue_text(spans, err));
    ATTN_TRY(list_rows(spans, err));
    ATTN_TRY(attn_spans_find(spans, err));
    ATTN_TRY(find_answer(spans, err));
    const size_t n_row = spans->n_span + ATTN_SPANS_N_MORE;

    spans->sums =
        attn_frame_alloc(frame, spans->heads.n * spans->n_step * n_row, sizeof *spans->sums);
    spans->measured = attn_frame_alloc(frame, spans->heads.n * n_row, sizeof *spans->measured);
    spans->keys.row = attn_frame_alloc(frame, spans->keys.n, sizeof *spans->keys.row);
    spans->keys.visible = attn_frame_alloc(frame, spans->keys.n, 1);
    spans->weights =
        attn_frame_alloc(frame, spans->heads.n * spans->keys.n, sizeof *spans->weights);
    spans->keys.is_seen = attn_frame_alloc(frame, spans->keys.n, 1);
    spans->keys.parked = attn_frame_alloc(frame, spans->keys.n, 1);
    return attn_frame_memory(frame, err);
}

static void release(void *state)
{
    struct attn_spans_run *spans = state;

    for (size_t i = 0; i < spans->n_span; i++)
        attn_free(spans->items[i].flags);
    attn_free(spans->items);
    for (int i = 0; i < 2; i++)
        attn_parks_free(spans->parks[i]);
    attn_free(spans->heads.items);
    attn_generation_release(&spans->made);
}

/* --- The table -------------------------------------------------------------------------------- */

/* Appends the positions with FLAGS [n]: "0-2,4". */
static void append_positions(struct attn_buffer *out, const unsigned char *flags, size_t n)
{
    for (size_t t = 0, end; t < n; t = end + 1) {
        for (end = t; end < n && flags[end];)
            end++;
        if (end > t)
            attn_buffer_append_format(out, "%s%zu", out->size > 0 ? "," : "", t);
        if (end > t + 1)
            attn_buffer_append_format(out, "-%zu", end - 1);
    }
}

/* Appends the row of span number I, or of the rest or the parked positions, with the numbers of
 * SUMS and, unless it is NULL, of MEASURED. ROW has the keys. */
static enum attn_status append(struct attn_spans_run *spans, struct attn_cell *row, size_t i,
                               const struct attn_span_sums *sums,
                               const struct attn_span_numbers *measured, struct attn_error *err)
{
    const struct attn_span *span = i < spans->n_span ? &spans->items[i] : NULL;
    const unsigned char *flags = span                                   ? span->flags
                                 : i == spans->n_span + ATTN_SPANS_REST ? spans->keys.rest
                                                                        : spans->keys.parked;
    const bool is_best = !spans->gold || row[SPAN].type != ATTN_VALUE_MISSING;
    struct attn_buffer positions = {0};
    enum attn_status status;
    size_t n_token = 0;

    for (size_t t = 0; t < spans->keys.n; t++)
        n_token += flags[t];
    if (row[SPAN].type == ATTN_VALUE_MISSING)
        row[SPAN] = attn_cell_string(span                          ? span->name
                                     : flags == spans->keys.parked ? "parked"
                                                                   : "rest");
    row[TOKENS] = attn_cell_real((double)n_token);
    for (int k = 0; k < ATTN_SPANS_N_MEASURE; k++)
        row[SHARE + k] = attn_cell_real_or_missing(attn_spans_mean(sums, k));
    if (measured && span) {
        row[SCORE] = attn_cell_real_or_missing(measured->score);
        row[RANK] = attn_cell_real_or_missing(measured->rank);
        row[BEST] = is_best ? attn_cell_real_or_missing(measured->best) : attn_cell_missing();
        row[CHANGE] = attn_cell_real(measured->change);
        row[CUT] = attn_cell_real(measured->cut);
        row[LARGEST] = is_best ? attn_cell_real(measured->largest) : attn_cell_missing();
    }
    append_positions(&positions, flags, attn_spans_keys(spans, spans->frame.run)->n);
    row[POSITIONS] = attn_cell_text(positions.data, positions.size);
    status = attn_buffer_check(&positions, err);
    ATTN_THEN(status, attn_frame_append(&spans->frame, row, err));
    attn_buffer_release(&positions);
    return status;
}

/* Appends the rows of MEASURED [n_span + ATTN_SPANS_N_MORE], of HEAD or, if it is NULL, of all
 * heads. */
static enum attn_status append_group(struct attn_spans_run *spans, const struct attn_location *head,
                                     const struct attn_span_numbers *measured,
                                     struct attn_error *err)
{
    const size_t gold = spans->n_span,
                 n_row = spans->n_span + ATTN_SPANS_REST + 1 + (spans->keys.n_parked > 0);

    for (size_t k = 0; k < n_row + 1; k++) {
        const size_t i = k < gold ? k : k > gold ? k - 1 : (size_t)(spans->gold - spans->items);
        struct attn_cell row[N_COLUMN] = {[SPAN] = attn_cell_missing()};

        if (k == gold && !spans->gold)
            continue;
        if (head) {
            attn_location_put(head, &row[STACK]);
            row[HEAD] = attn_cell_integer(head->head);
        }
        if (k == gold)
            row[SPAN] = attn_cell_string("gold");
        ATTN_TRY(append(spans, row, i, &measured[i].sums, &measured[i], err));
    }
    return ATTN_OK;
}

/* Appends a row for each head, query and span. */
static enum attn_status append_steps(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_sequence *text = attn_asked_text(spans->run);
    const size_t n_row = spans->n_span + ATTN_SPANS_N_MORE;

    for (size_t k = 0; k < spans->heads.n * spans->n_step * n_row; k++) {
        const struct attn_location *head = &spans->heads.items[k / n_row / spans->n_step].at;
        const size_t query = spans->queries[k / n_row % spans->n_step];
        struct attn_cell row[N_COLUMN] = {
            [HEAD] = attn_cell_integer(head->head), [POSITION] = attn_cell_integer((int64_t)query)};

        if (k % n_row == spans->n_span + ATTN_SPANS_PARKED && spans->keys.n_parked == 0)
            continue;
        attn_location_put(head, &row[STACK]);
        row[TOKEN] = attn_cell_position(&text->tokens, query);
        if (query + 1 < spans->n)
            row[NEXT] = attn_cell_position(&text->tokens, query + 1);
        ATTN_TRY(append(spans, row, k % n_row, &spans->sums[k], NULL, err));
    }
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_spans_run *spans = state;
    const enum attn_spans_by by = spans->args->by;

    if (spans->args->has_effect && by == ATTN_SPANS_BY_SPAN && spans->frame.config->mixer)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`effect` hides a span from attention, and layers of '%s' mix tokens by "
                           "a state or a convolution, too: `by head` has the effect of each head",
                           attn_quote_string(attn_model_name(attn_asked_model(spans->run))).text);
    ATTN_TRY(attn_spans_read(spans, err));
    if (by == ATTN_SPANS_BY_STEP)
        return append_steps(spans, err);
    ATTN_TRY(attn_spans_score(spans, err));
    if (spans->args->has_effect)
        ATTN_TRY(hide_spans(spans, err));
    if (by == ATTN_SPANS_BY_SPAN)
        return append_group(spans, NULL, spans->measured, err);
    for (size_t i = 0; i < spans->heads.n; i++)
        ATTN_TRY(append_group(spans, &spans->heads.items[i].at,
                              spans->measured + i * (spans->n_span + ATTN_SPANS_N_MORE), err));
    return ATTN_OK;
}

static uint64_t shows(const void *state)
{
    const struct attn_spans_run *spans = state;
    const struct attn_spans_args *args = spans->frame.args;
    const bool is_by_span = args->by == ATTN_SPANS_BY_SPAN;

    return (is_by_span ? 0 : SHOW_HEADS) |
           (args->by == ATTN_SPANS_BY_STEP ? SHOW_STEPS : SHOW_RANKS) |
           (args->has_effect ? SHOW_EFFECT | (is_by_span ? SHOW_CUT : 0) : 0) |
           (is_by_span && !args->study && !spans->is_of_source ? SHOW_TEXT : 0);
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Leaves out how often other spans than gold were the best, where items name one
 * (attn_fold_derive_fn). */
static enum attn_status derive(const void *args, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    bool has_gold = false;

    (void)args;
    (void)err;
    for (size_t i = 0; i < means->n_row; i++) {
        const struct attn_cell *row = means->rows + i * N_COLUMN;

        has_gold |=
            attn_cell_word(&row[SPAN], "gold") == 0 && row[TOKENS].type != ATTN_VALUE_MISSING;
    }
    for (size_t i = 0; has_gold && i < means->n_row; i++) {
        struct attn_cell *row = means->rows + i * N_COLUMN;

        if (attn_cell_word(&row[SPAN], "gold") != 0)
            row[BEST] = row[LARGEST] = attn_cell_missing();
    }
    return ATTN_OK;
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_spans_args *given = args;
    const bool may_end_with_it = item->messages && !item->answer.target && !item->answer.target_id;

    if (attn_input_is_given(&item->neutral))
        given->neutral = item->neutral;
    return given->has_effect && !request->input.continuation && !given->continuation &&
                   given->n_generated == 0 && !may_end_with_it
               ? attn_item_answer(item, &given->answer, err)
               : ATTN_OK;
}

/* --- The procedures --------------------------------------------------------------------------- */

static const struct attn_table_view head_views[] = {
    {.rows = ATTN_ROLE_LAYER,
     .detail = ATTN_ROLE_HEAD,
     .columns = ATTN_TABLE_COLUMN(SPAN),
     .values = ATTN_TABLE_COLUMN(SHARE),
     .asked = "on each span"},
};

static const struct attn_table_view span_views[] = {
    {.rows = ATTN_TABLE_COLUMN(SPAN),
     .columns = ATTN_TABLE_COLUMN(SPAN),
     .texts = ATTN_TABLE_COLUMN(POSITIONS),
     .values = ATTN_TABLE_COLUMN(SHARE),
     .traits = ATTN_VIEW_TOKENS | ATTN_VIEW_SPANS},
};

static const struct attn_table_view step_views[] = {
    {.rows = ATTN_TABLE_COLUMN(SPAN),
     .columns = ATTN_ROLE_POSITION,
     .texts = ATTN_ROLE_TOKEN,
     .values = ATTN_TABLE_COLUMN(SHARE),
     .traits = ATTN_VIEW_TOKENS,
     .asked = "at each step"},
};

/* Whether HOST, which may be NULL, has a model with attention to a source. */
static bool reads_source(const struct attn_host *host)
{
    const struct attn_config *config = host ? attn_model_config(attn_host_model(host)) : NULL;

    for (size_t layer = 0; config && layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return true;
    return false;
}

/* Describes the picture. That of spans names the heads. Without a common text it shows their
 * effects, if there are any, as bars. That of steps shows one head, the last, and names it. */
static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_spans_args *args = given;
    const struct attn_table *table = drawn->table;
    const size_t n = table ? attn_table_n_row(table) : 0;

    drawn->has_answer = args->has_effect;
    if (args->by == ATTN_SPANS_BY_SPAN) {
        const char *heads = drawn->request ? drawn->request->selection.heads : NULL;

        const bool has_text =
            !args->study && (!table || attn_table_find(table, columns[POSITIONS].name) < SIZE_MAX);

        if (!has_text)
            drawn->picture->view = (struct attn_table_view){
                .rows = ATTN_TABLE_COLUMN(SPAN),
                .columns = ATTN_TABLE_COLUMN(SPAN),
                .values = ATTN_TABLE_COLUMN(args->has_effect ? CHANGE : SHARE)};
        attn_drawn_ask(drawn, "%s %s%s",
                       args->has_effect && !has_text ? "without each span in" : "on each span in",
                       heads                       ? "the heads "
                       : reads_source(drawn->host) ? "all heads of cross-attention"
                                                   : "all heads",
                       heads ? heads : "");
    }
    if (args->by == ATTN_SPANS_BY_STEP && n > 0) {
        struct attn_location at;

        attn_table_read_head(table, n - 1, &at);
        attn_drawn_ask(drawn, "in head %s at each step", attn_location_name(&at).text);
    }
}

#define PROCEDURE                                                                                  \
    .table.name = ATTN_TABLE_SPANS, .question = &attn_question_spans,                              \
    ATTN_PROCEDURE_COLUMNS(columns), .reads_turns = true,                                          \
    .state_size = sizeof(struct attn_spans_run),                                                   \
    .items.study = offsetof(struct attn_spans_args, study), .items.derive = derive,                \
    .items.take_item = take_item, .choose = choose, .prepare = prepare, .shows = shows,            \
    .draw = draw, .ask = ask, .release = release

static const struct attn_procedure procedures[] = {
    [ATTN_SPANS_BY_HEAD] = {PROCEDURE, ATTN_PROCEDURE_VIEWS(head_views), .items.is_keyed = true},
    [ATTN_SPANS_BY_SPAN] = {PROCEDURE, ATTN_PROCEDURE_VIEWS(span_views), .items.is_keyed = true},
    [ATTN_SPANS_BY_STEP] = {PROCEDURE, ATTN_PROCEDURE_VIEWS(step_views), .items.is_listed = true,
                            .items.is_ragged = true},
};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_spans_args *args = given;

    return &procedures[args->by <= ATTN_SPANS_BY_STEP ? args->by : ATTN_SPANS_BY_HEAD];
}

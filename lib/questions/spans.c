/* spans.c - see spans.h. The patterns are summed by span while they are computed; a neutral text is
 * a second run, and each effect a run without the scores of a span. */
#include "questions/spans.h"

#include "base/escape.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "input/position.h"
#include "measures/parks.h"
#include "pictures/table_axis.h"
#include "predict/answer_internal.h"
#include "questions/attribute_generated.h"
#include "questions/attribute_internal.h"
#include "questions/parts.h"
#include "questions/questions.h"
#include "questions/questions_internal.h"
#include "stream/items_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define NUMBER(label, numbers, ...)                                                                \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_WHOLE,                 \
        .range = ATTN_RANGE_##numbers, .quantity = __VA_ARGS__                                     \
    }

enum {
    SHOW_HEADS = 2,
    SHOW_STEPS = 4,
    SHOW_RANKS = 8,
    SHOW_EFFECT = 16,
    SHOW_CUT = 32,
    SHOW_TEXT = 64
};

static const struct attn_column columns[N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack", .shown = SHOW_HEADS),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_HEADS),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_STEPS),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_STEPS),
    [NEXT] = ATTN_COLUMN("next", TEXT, .shown = SHOW_STEPS),
    [SPAN] = {.name = "span", .type = ATTN_VALUE_TEXT, .quantity = "span"},
    [TOKENS] = NUMBER("tokens", POSITIVE, "tokens"),
    [SHARE] = ATTN_COLUMN_QUANTITY("share", 4, NULL, SHARE, "share of the weight"),
    [EVEN] = ATTN_COLUMN_REAL("even", 4, NULL, SHARE),
    [LOOKBACK] = ATTN_COLUMN_REAL("lookback", 4, NULL, SHARE),
    [FOCUS] = ATTN_COLUMN_REAL("focus", 4, NULL, SHARE),
    [COPIED] = ATTN_COLUMN_REAL("copied", 4, NULL, POSITIVE),
    [SCORE] = ATTN_COLUMN_REAL("score", 4, NULL, SIGNED, .shown = SHOW_RANKS),
    [RANK] = NUMBER("rank", POSITIVE, "rank of the span", .shown = SHOW_RANKS),
    [BEST] =
        ATTN_COLUMN_RATE("best", 4, "share of items whose best span it is", 0, .shown = SHOW_RANKS),
    [CHANGE] = ATTN_COLUMN_QUANTITY("change", 4, NULL, SIGNED, "change of @", .shown = SHOW_EFFECT),
    [CUT] = ATTN_COLUMN_REAL("cut", 4, NULL, SIGNED, .shown = SHOW_CUT),
    [LARGEST] = ATTN_COLUMN_RATE("largest", 4, "share of items whose largest change it has", 0,
                                 .shown = SHOW_EFFECT),
    [POSITIONS] = ATTN_COLUMN("positions", TEXT, .shown = SHOW_TEXT),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* The numbers of a row, from SHARE on. */
enum { N_MEASURE = COPIED - SHARE + 1 };

/* Rows after those of the spans: the tokens in no span, and the positions where weight is parked.
 */
enum { REST, PARKED, N_MORE };

/* The means of a head and a span over some rows. */
struct sums {
    double sum[N_MEASURE];
    size_t n[N_MEASURE];
};

/* A named part of the text or of the source. */
struct span {
    const char *name;
    struct attn_number_list spec;
    unsigned char *flags; /* [n_key] owns; its tokens, without parked ones */
    size_t n_token, first, last;
    bool has_score; /* lies before the first query, or in the source */
};

/* What is measured of a span, in a head or in all of them. */
struct measured {
    struct sums sums;
    double score, rank, best, change, largest, cut; /* NaN: none */
};

struct spans {
    struct attn_frame frame; /* `other` runs the text with its answer */
    const struct attn_spans_args *args;
    struct attn_generation made; /* owns */
    const struct attn_run *run;  /* the run that is measured */
    struct span *items;          /* [n_span] owns */
    const struct span *gold;     /* the right one, which the item names; or NULL */
    size_t n_span, n, n_prompt;  /* n: tokens of the run; n_prompt: without the answer */
    bool is_of_source;           /* the heads attend to the source, and spans are in it */
    size_t n_key;                /* n, or tokens of the source */
    unsigned char *rest;         /* [n_key] tokens in no span, without parked ones */
    unsigned char *parked;       /* [n_key] parked positions that have a row of their own */
    size_t n_parked;             /* their number */
    struct attn_parks *parks[2]; /* own; of the text, or NULL: unknown; and unused */
    size_t *queries;             /* [n_query] ascending */
    size_t n_query, n_step;      /* n_step: rows that are kept apart: n_query, or 1 */
    struct attn_parts heads;     /* owns */
    struct sums *sums;           /* [heads.n, n_step, n_span + N_MORE] */
    struct measured *measured;   /* [heads.n, n_span + N_MORE] or, by span, [n_span + N_MORE] */
    float *row;                  /* [n_key] */
    unsigned char *visible;      /* [n_key] keys that the row sees */
    unsigned char *rows;         /* [n] rows that lose keys */
    double *weights;             /* [heads.n, n_key] mean weight of the queries, less that of the
                                    neutral tokens */
    unsigned char *is_seen;      /* [n_key] keys that some row sees */
    struct attn_answer answer;
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
    ATTN_PARAM(LIST, "queries", "SPEC", struct attn_request, selection.queries,
               "the rows that are measured, positions or words; default: -1, the last. An item "
               "may have its own",
               .home = ATTN_PARAM_OF_REQUEST,
               .second = offsetof(struct attn_request, selection.queries.n), .keys = "queries"),
    ATTN_PARAM(LIST, "heads", "SPEC", struct attn_request, selection.heads,
               "the heads that are measured: 2.5,3.* or 0-3 of each layer; default: all, with a "
               "source those of cross-attention",
               .home = ATTN_PARAM_OF_REQUEST),
    ATTN_PARAM(INPUT, "neutral", "TEXT", struct attn_spans_args, neutral,
               "rank spans by the weight that the queries add to that of TEXT in their place, "
               "such as N/A. An item may have its own",
               .second = offsetof(struct attn_spans_args, neutral.n_text), .keys = "neutral"),
    ATTN_PARAM(IDS, "neutral_ids", "LIST", struct attn_spans_args, neutral.ids,
               "the same by the ids of its tokens",
               .second = offsetof(struct attn_spans_args, neutral.n_id), .keys = "neutral_ids",
               .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(TEXT, "continuation", "TEXT", struct attn_spans_args, continuation,
               "put this answer behind the text: the queries are the tokens that write it"),
    ATTN_PARAM(COUNT, "generated", "N", struct attn_spans_args, n_generated,
               "the same with the N most probable tokens that follow the text", .least = 1,
               .most = INT32_MAX),
    ATTN_PARAM(
        FLAG, "effect", NULL, struct attn_spans_args, has_effect,
        "add columns: how the answer changes when the queries do not see the span (change), by "
        "span also when no token outside of it does (cut), both in the heads of `heads`; and how "
        "often its change is the largest (largest)"),
    ATTN_PARAM(CHOICE, "parked", NULL, struct attn_spans_args, parked,
               "positions of the text where heads park weight that they do not need, the first "
               "among them: show (default), as a row parked, while all other numbers are of the "
               "weight that is left, and effects leave these positions visible; hide: as tokens of "
               "their spans",
               .words = "show|hide"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Spans", param_rows);

static const struct attn_param_part parts[] = {
    {&params, 0},
    {&attn_target_params, offsetof(struct attn_spans_args, answer)},
    {&attn_foil_params, offsetof(struct attn_spans_args, answer)},
    {&attn_at_params, offsetof(struct attn_spans_args, answer)},
    {&attn_metric_params, offsetof(struct attn_spans_args, answer)},
};

static const struct attn_param_rule rules[] = {
    {.given = "target|target_id|foil|foil_id|at|metric",
     .needs = "effect",
     .message = "`target`, `foil`, `at` and `metric` need `effect`"},
    {.given = "effect",
     .needs = "target|target_id|metric|continuation|generated|items",
     .message = "`effect` needs `target`, or an answer by `continuation` or `generated`"},
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
    {.given = "neutral", .excludes = "neutral_ids"},
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

/* --- Spans ------------------------------------------------------------------------------------ */

/* Whether NAME is one of the spans that are asked for. */
static bool is_span(const char *list, const char *name)
{
    for (size_t n; list; list = list[n] == ',' ? list + n + 1 : NULL) {
        n = strcspn(list, ",");
        if (attn_glob_matches(list, n, name))
            return true;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct span *)a)->name, ((const struct span *)b)->name);
}

/* Appends the places of the list ITEMS [n]. A name that is there already only gets another SPEC. */
static enum attn_status add_places(struct spans *spans, const struct attn_item_place *items,
                                   size_t n, size_t *capacity, struct attn_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;

        while (at < spans->n_span && strcmp(spans->items[at].name, items[i].name) != 0)
            at++;
        if (at < spans->n_span) {
            spans->items[at].spec = items[i].spec;
            continue;
        }
        ATTN_TRY(attn_grow(&spans->items, capacity, at + 1, sizeof *spans->items, err));
        spans->items[spans->n_span++] = (struct span){.name = items[i].name, .spec = items[i].spec};
    }
    return ATTN_OK;
}

/* Appends the regions of a text with a picture that `spans` names; without `spans`, and without
 * other places, the picture and the question. */
static enum attn_status add_regions(struct spans *spans, size_t *capacity, struct attn_error *err)
{
    const char *list = spans->args->spans ? spans->args->spans : "picture,question";

    if (spans->frame.run->text.seen.n_picture == 0 || (!spans->args->spans && spans->n_span > 0))
        return ATTN_OK;
    for (enum attn_region region = 0; region < ATTN_N_REGION; region++) {
        const char *name = attn_region_name(region);
        const struct attn_item_place place = {name, {.text = name}};
        size_t i = 0;

        while (i < spans->n_span && strcmp(spans->items[i].name, name) != 0)
            i++;
        if (i == spans->n_span && is_span(list, name))
            ATTN_TRY(add_places(spans, &place, 1, capacity, err));
    }
    return ATTN_OK;
}

/* Returns the place of message I of a conversation, called `1_user`: its tokens; none if they are
 * unknown. */
static enum attn_status find_message(struct spans *spans, size_t i, struct attn_item_place *place,
                                     struct attn_error *err)
{
    enum { NAME_SIZE = ATTN_ROLE_SIZE + 24 };
    const struct attn_run *run = spans->frame.run;
    const struct attn_talk_span *message = &run->chat.messages[i];
    char *name = attn_frame_alloc(&spans->frame, NAME_SIZE, 1);
    int64_t *tokens = attn_frame_alloc(&spans->frame, run->text.encoding.n, sizeof *tokens);

    ATTN_TRY(attn_frame_memory(&spans->frame, err));
    snprintf(name, NAME_SIZE, "%zu_%s", i, *message->role ? message->role : "message");
    *place = (struct attn_item_place){
        name,
        {.items = tokens, .n = attn_chat_tokens(&run->text, message->begin, message->end, tokens)}};
    return ATTN_OK;
}

/* Appends the messages of a conversation that `spans` names; without `spans`, and without other
 * places, all. */
static enum attn_status add_messages(struct spans *spans, size_t *capacity, struct attn_error *err)
{
    const struct attn_run *run = spans->frame.run;
    const char *list = spans->args->spans;
    struct attn_item_place place;

    if (spans->is_of_source || run->text.seen.n_picture > 0 || (!list && spans->n_span > 0))
        return ATTN_OK;
    for (size_t i = 0; i < run->chat.n; i++) {
        ATTN_TRY(find_message(spans, i, &place, err));
        if (place.spec.n > 0 && (!list || is_span(list, place.name)))
            ATTN_TRY(add_places(spans, &place, 1, capacity, err));
    }
    return ATTN_OK;
}

/* Lists the named places: those of the request, then those of the item, from a to z, messages, and
 * regions. */
static enum attn_status list_places(struct spans *spans, struct attn_error *err)
{
    const struct attn_item *item = spans->frame.item;
    const struct attn_places *places = spans->frame.request.reading.places;
    size_t capacity = 0, n;

    for (; places; places = places->others)
        if (!item || (places->items != item->places &&
                      (places->n == 0 || strncmp(places->items[0].name, ATTN_PLACE_KEY,
                                                 strlen(ATTN_PLACE_KEY)) != 0)))
            ATTN_TRY(add_places(spans, places->items, places->n, &capacity, err));
    n = spans->n_span;
    if (item)
        ATTN_TRY(add_places(spans, item->places, item->n_place, &capacity, err));
    if (spans->n_span > n)
        qsort(spans->items + n, spans->n_span - n, sizeof *spans->items, by_name);
    ATTN_TRY(add_messages(spans, &capacity, err));
    return add_regions(spans, &capacity, err);
}

/* Drops the places that are no spans. */
static enum attn_status choose_spans(struct spans *spans, struct attn_error *err)
{
    const char *list = spans->args->spans;
    size_t n = 0;

    for (size_t i = 0; i < spans->n_span; i++)
        if (!list || is_span(list, spans->items[i].name))
            spans->items[n++] = spans->items[i];
    for (size_t size; list; list = list[size] == ',' ? list + size + 1 : NULL) {
        size_t i = 0;

        size = strcspn(list, ",");
        while (i < n && !attn_glob_matches(list, size, spans->items[i].name))
            i++;
        if (i == n)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`spans` has '%s', and no place is called so",
                               attn_quote(list, size).text);
    }
    spans->n_span = n;
    if (n > 0)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "no part of the text has a name, expected `positions`");
    attn_error_hint(err, "`positions doc=0-5`, or `positions doc='\"The keys\"'`");
    return ATTN_INVALID;
}

/* Finds the span that the item names as the right one, and refuses names of other rows. */
static enum attn_status find_gold(struct spans *spans, struct attn_error *err)
{
    const struct attn_item_label *gold =
        spans->frame.item ? attn_item_label(spans->frame.item, "gold") : NULL;
    const char *right = gold ? gold->text : NULL;

    for (size_t i = 0; i < spans->n_span; i++) {
        const char *name = spans->items[i].name;

        if (strcmp(name, "rest") == 0 || strcmp(name, "parked") == 0 ||
            (right && strcmp(name, "gold") == 0))
            return attn_refuse(err, ATTN_STAGE_INPUT,
                               "a span is called '%s', as the row of %s: expected another name",
                               name,
                               *name == 'g'   ? "the right span"
                               : *name == 'p' ? "parked positions"
                                              : "all other tokens");
        if (right && strcmp(name, right) == 0)
            spans->gold = &spans->items[i];
    }
    if (!right || spans->gold)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_INPUT, "'gold' is '%s', expected the name of a span",
                       attn_quote_string(right).text);
}

/* Returns the sequence of RUN in which the keys are. */
static const struct attn_sequence *keys_of(const struct spans *spans, const struct attn_run *run)
{
    return spans->is_of_source ? &run->source : &run->text;
}

/* Finds the tokens of each span in the source, or in the text without its answer. */
static enum attn_status find_spans(struct spans *spans, struct attn_error *err)
{
    const struct attn_sequence *keys = keys_of(spans, spans->frame.run);

    ATTN_TRY(list_places(spans, err));
    ATTN_TRY(choose_spans(spans, err));
    for (size_t i = 0; i < spans->n_span; i++) {
        struct span *span = &spans->items[i];

        span->flags = NULL;
        ATTN_TRY(ATTN_ALLOC(span->flags, spans->n_key, err));
        ATTN_TRY(attn_error_in(attn_positions_find(keys, &span->spec, span->flags, err), span->name,
                               err));
        span->first = spans->n_key;
        for (size_t t = 0; t < keys->n; t++) {
            if (!span->flags[t])
                continue;
            span->first = span->n_token++ == 0 ? t : span->first;
            span->last = t;
            spans->rest[t] = 0;
        }
        span->has_score =
            span->n_token > 0 && (spans->is_of_source || span->last < spans->queries[0]);
    }
    return find_gold(spans, err);
}

/* --- The run ---------------------------------------------------------------------------------- */

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct spans *spans = state;
    struct attn_frame *frame = &spans->frame;
    const char *heads = frame->request.selection.heads;
    struct attn_number_list queries = frame->request.selection.queries;

    if (frame->item)
        queries = attn_number_list_or(frame->item->queries, queries);
    spans->args = frame->args;
    if (spans->args->by == ATTN_SPANS_BY_STEP && spans->args->study && !spans->args->study->each)
        return attn_error_set(err, ATTN_INVALID,
                              "`by step` of `items` needs `each`: steps of different texts have no "
                              "mean");
    attn_frame_choose_nothing(&frame->request);
    frame->request.selection.sites = "pattern";
    frame->request.selection.heads = heads;
    frame->request.selection.queries =
        attn_number_list_or(queries, (struct attn_number_list){.text = "-1"});
    return ATTN_OK;
}

/* Appends the answer to the text, and prepares the run of both. */
static enum attn_status continue_text(struct spans *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const struct attn_spans_args *args = spans->args;
    struct attn_request request = frame->request;

    spans->run = frame->run;
    spans->n = spans->n_prompt = frame->run->text.n;
    if (spans->run->text.seen.n_picture > 0)
        spans->n_prompt = spans->run->text.seen.n_prompt;
    if (!args->continuation && args->n_generated == 0)
        return ATTN_OK;
    spans->made = ATTN_GENERATION_DEFAULT;
    ATTN_TRY(attn_attribute_continue(frame->host, &frame->request, args->n_generated,
                                     args->continuation, &spans->made, err));
    request.input = attn_generation_input(&frame->request.input, &spans->made);
    request.selection.queries = (struct attn_number_list){0};
    request.on_note = NULL; /* the first run sent the same notes */
    ATTN_TRY(attn_run_prepare(frame->host, &request, &frame->other, err));
    if (args->continuation) /* a generation sends the notes about idle edits itself */
        frame->other->request.on_note = frame->request.on_note;
    spans->run = frame->other;
    spans->n = spans->run->text.n;
    return ATTN_OK;
}

/* Lists the heads: those that attend to the source, if one of them is selected. */
static enum attn_status list_heads(struct spans *spans, struct attn_error *err)
{
    const struct attn_selection *selection = spans->frame.run->selection;
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
static enum attn_status list_rows(struct spans *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const bool has_answer = spans->n_prompt < spans->n;

    ATTN_TRY(list_heads(spans, err));
    spans->n_key = keys_of(spans, spans->run)->n;
    spans->queries = attn_frame_alloc(frame, spans->n, sizeof *spans->queries);
    spans->rest = attn_frame_alloc(frame, spans->n_key, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    memset(spans->rest, 1, spans->n_key);
    for (size_t i = 0; i < spans->n; i++)
        if (has_answer ? i + 1 >= spans->n_prompt && i + 1 < spans->n
                       : attn_selection_has_query(frame->run->selection, ATTN_STACK_ONLY, i))
            spans->queries[spans->n_query++] = i;
    spans->n_step = spans->args->by == ATTN_SPANS_BY_STEP ? spans->n_query : 1;
    return ATTN_OK;
}

/* Resolves the answer whose change is measured. */
static enum attn_status find_answer(struct spans *spans, struct attn_error *err)
{
    struct attn_answer_args args = spans->args->answer;

    if (!spans->args->has_effect)
        return ATTN_OK;
    if (spans->n_prompt == spans->n)
        return attn_frame_find_answer(&spans->frame, &args, &spans->answer, err);
    args.metric = ATTN_ANSWER_CE;
    ATTN_TRY(attn_run_find_answer(spans->run, &args, &spans->answer, err));
    spans->answer.first_token = spans->n_prompt;
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct spans *spans = state;
    struct attn_frame *frame = &spans->frame;

    ATTN_TRY(continue_text(spans, err));
    ATTN_TRY(list_rows(spans, err));
    ATTN_TRY(find_spans(spans, err));
    ATTN_TRY(find_answer(spans, err));
    const size_t n_row = spans->n_span + N_MORE;

    spans->sums =
        attn_frame_alloc(frame, spans->heads.n * spans->n_step * n_row, sizeof *spans->sums);
    spans->measured = attn_frame_alloc(frame, spans->heads.n * n_row, sizeof *spans->measured);
    spans->row = attn_frame_alloc(frame, spans->n_key, sizeof *spans->row);
    spans->visible = attn_frame_alloc(frame, spans->n_key, 1);
    spans->weights = attn_frame_alloc(frame, spans->heads.n * spans->n_key, sizeof *spans->weights);
    spans->is_seen = attn_frame_alloc(frame, spans->n_key, 1);
    spans->parked = attn_frame_alloc(frame, spans->n_key, 1);
    return attn_frame_memory(frame, err);
}

static void release(void *state)
{
    struct spans *spans = state;

    for (size_t i = 0; i < spans->n_span; i++)
        attn_free(spans->items[i].flags);
    attn_free(spans->items);
    for (int i = 0; i < 2; i++)
        attn_parks_free(spans->parks[i]);
    attn_free(spans->heads.items);
    attn_generation_release(&spans->made);
}

/* --- A row ------------------------------------------------------------------------------------ */

/* Adds X, unless it is NaN. */
static void add(struct sums *sums, int column, double x)
{
    if (isnan(x))
        return;
    sums->sum[column - SHARE] += x;
    sums->n[column - SHARE]++;
}

/* Returns the mean of COLUMN; NaN without numbers. The column `copied` is a sum. */
static double mean_of(const struct sums *sums, int column)
{
    const size_t n = sums->n[column - SHARE];

    return n == 0             ? (double)NAN
           : column == COPIED ? sums->sum[column - SHARE]
                              : sums->sum[column - SHARE] / (double)n;
}

/* Returns the sum of the row over the tokens of FLAGS; *SEEN is how many of them it sees. */
static double sum_of(const struct spans *spans, const unsigned char *flags, size_t *seen)
{
    double sum = 0;

    *seen = 0;
    for (size_t j = 0; j < spans->n_key; j++)
        if (flags[j]) {
            sum += (double)spans->row[j];
            *seen += spans->visible[j];
        }
    return sum;
}

/* Returns the mean weight of the keys behind all spans, up to QUERY; NaN without any, as in a
 * source. */
static double weight_of_new(const struct spans *spans, size_t query)
{
    size_t last = 0, n = 0;
    double sum = 0;

    for (size_t i = 0; i < spans->n_span; i++)
        last = spans->items[i].last > last ? spans->items[i].last : last;
    for (size_t j = last + 1; !spans->is_of_source && j <= query; j++)
        if (spans->visible[j]) {
            sum += (double)spans->row[j];
            n++;
        }
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* Returns the key with the largest weight, the first of equals. */
static size_t largest_of(const struct spans *spans)
{
    size_t largest = 0;

    for (size_t j = 1; j < spans->n_key; j++)
        largest = spans->row[j] > spans->row[largest] ? j : largest;
    return largest;
}

/* Whether KEY, a token of the text or of the source, is the token after QUERY. */
static bool is_next(const struct spans *spans, size_t key, size_t query)
{
    const struct attn_sequence *text = &spans->run->text;
    const struct attn_token_bytes *keys = &spans->run->source.tokens, *tokens = &text->tokens;

    if (!spans->is_of_source)
        return text->ids[key] == text->ids[query + 1];
    return keys->sizes[key] == tokens->sizes[query + 1] &&
           memcmp(keys->bytes[key], tokens->bytes[query + 1], keys->sizes[key]) == 0;
}

/* Takes the weight on parked positions out of the row, and scales the rest of it to 1. Adds the
 * weight to SUMS of the parked. */
static void take_parked(struct spans *spans, struct sums *sums)
{
    size_t n_visible = 0, n_parked;
    const double parked = sum_of(spans, spans->parked, &n_parked);
    double left = 0;

    for (size_t j = 0; j < spans->n_key; j++) {
        n_visible += spans->visible[j];
        if (spans->parked[j])
            spans->row[j] = spans->visible[j] = 0;
        left += (double)spans->row[j];
    }
    for (size_t j = 0; j < spans->n_key; j++)
        spans->row[j] = (float)((double)spans->row[j] / left);
    add(sums, SHARE, parked);
    add(sums, EVEN, (double)n_parked / (double)n_visible);
}

/* Measures the row of QUERY, whose largest weight is on LARGEST, and adds it to SUMS
 * [n_span + N_MORE]. */
static void measure(const struct spans *spans, size_t query, size_t largest, struct sums *sums)
{
    const bool has_tokens = spans->is_of_source
                                ? spans->run->source.tokens.bytes && spans->run->text.tokens.bytes
                                : spans->run->text.ids != NULL;
    const double new = weight_of_new(spans, query);
    size_t n_visible = 0, seen;
    double total = 0, share;

    for (size_t j = 0; j < spans->n_key; j++)
        n_visible += spans->visible[j];
    for (size_t i = 0; i < spans->n_span; i++)
        total += sum_of(spans, spans->items[i].flags, &seen);
    for (size_t i = 0; i <= spans->n_span; i++) {
        const struct span *span = i < spans->n_span ? &spans->items[i] : NULL;
        double mean;

        share = sum_of(spans, span ? span->flags : spans->rest, &seen);
        add(&sums[i], SHARE, share);
        add(&sums[i], EVEN, (double)seen / (double)n_visible);
        if (!span)
            continue;
        mean = share / (double)span->n_token;
        if (mean + new > 0)
            add(&sums[i], LOOKBACK, mean / (mean + new));
        if (total > 0)
            add(&sums[i], FOCUS, share / total);
        if (has_tokens && query + 1 < spans->n)
            add(&sums[i], COPIED,
                span->flags[largest] && is_next(spans, largest, query) ? 1 / (double)span->n_token
                                                                       : 0);
    }
}

/* Copies row R of EVENT, and flags the keys that it sees. */
static void take_row(struct spans *spans, const struct attn_trace_event *event, size_t r)
{
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;
    const int32_t *mask = keys_of(spans, spans->run)->key_mask;

    attn_event_copy_row(event, r, spans->row, spans->n_key);
    memset(spans->visible, 0, spans->n_key);
    while (attn_row_next(&row, &cells))
        memset(spans->visible + cells.first, 1, cells.n);
    for (size_t j = 0; mask && j < spans->n_key; j++)
        spans->visible[j] &= mask[j] != 0;
    for (size_t j = 0; j < spans->n_key; j++)
        spans->is_seen[j] |= spans->visible[j];
}

/* Measures the rows of the queries (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct spans *spans = user;
    const size_t head = attn_parts_find(&spans->heads, &event->at);

    (void)err;
    for (size_t r = 0, q = 0; head < spans->heads.n && r < event->n_row; r++) {
        const size_t query = event->row0 + r;
        struct sums *sums;
        size_t largest;

        while (q < spans->n_query && spans->queries[q] < query)
            q++;
        if (!spans->args->has_effect && (q == spans->n_query || spans->queries[q] > query))
            continue;
        take_row(spans, event, r);
        if (q == spans->n_query || spans->queries[q] > query)
            continue;
        sums = spans->sums +
               (head * spans->n_step + (spans->n_step > 1 ? q : 0)) * (spans->n_span + N_MORE);
        largest = largest_of(spans);
        if (spans->n_parked > 0)
            take_parked(spans, &sums[spans->n_span + PARKED]);
        measure(spans, query, largest, sums);
        for (size_t j = 0; j < spans->n_key; j++)
            spans->weights[head * spans->n_key + j] +=
                (double)spans->row[j] / (double)spans->n_query;
    }
    return ATTN_OK;
}

static struct attn_watch watch_of(const struct attn_head_list *heads, attn_trace_fn on_event,
                                  void *user)
{
    return (struct attn_watch){.sites = ATTN_SITES(ATTN_SITE_PATTERN),
                               .heads = heads,
                               .takes_rows = true,
                               .on_event = on_event,
                               .user = user};
}

/* --- The neutral text ------------------------------------------------------------------------- */

/* The run of the neutral text, whose tokens `first` to `last` stand for the queries. */
struct neutral {
    struct spans *spans;
    struct attn_run *run;    /* owns */
    struct attn_buffer text; /* owns */
    int32_t *ids;            /* owns */
    float *row;              /* [n_key] of its own run; owns */
    size_t n_key;
    size_t first, last;
};

static bool is_neutral(const struct spans *spans)
{
    return spans->args->neutral.text || spans->args->neutral.ids;
}

/* Takes the weight on parked positions out of the row, and returns the sum of the rest. Tokens
 * before and after the neutral ones are those of the text. */
static double take_neutral_parked(const struct neutral *neutral)
{
    const struct spans *spans = neutral->spans;
    double left = 0;

    for (size_t j = 0; j < neutral->n_key; j++) {
        if (j < neutral->first  ? spans->parked[j]
            : j > neutral->last ? spans->parked[spans->n_key - (neutral->n_key - j)]
                                : 0)
            neutral->row[j] = 0;
        left += (double)neutral->row[j];
    }
    return left;
}

/* Subtracts the rows of the neutral tokens (attn_trace_fn). */
static enum attn_status on_neutral(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    const struct neutral *neutral = user;
    struct spans *spans = neutral->spans;
    const size_t head = attn_parts_find(&spans->heads, &event->at);
    const size_t n_key = spans->is_of_source ? spans->n_key : spans->queries[0];
    const double n = (double)(neutral->last - neutral->first + 1);
    double left;

    (void)err;
    for (size_t r = 0; head < spans->heads.n && r < event->n_row; r++) {
        if (event->row0 + r < neutral->first || event->row0 + r > neutral->last)
            continue;
        attn_event_copy_row(event, r, neutral->row, neutral->n_key);
        left = spans->n_parked > 0 ? take_neutral_parked(neutral) : 1;
        for (size_t j = 0; j < n_key && left > 0; j++)
            spans->weights[head * spans->n_key + j] -= (double)neutral->row[j] / left / n;
    }
    return ATTN_OK;
}

/* Puts ids in place of the queries. */
static enum attn_status replace_ids(struct neutral *neutral, struct attn_input *input,
                                    struct attn_error *err)
{
    const struct spans *spans = neutral->spans;
    const struct attn_input *given = &spans->args->neutral;
    const int32_t *ids = spans->run->text.ids;
    const size_t first = spans->queries[0], end = spans->queries[spans->n_query - 1] + 1;
    const size_t n_id = given->n_id;

    if (!ids)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral_ids` needs tokens, the input has none");
    ATTN_TRY(ATTN_ALLOC(neutral->ids, spans->n + n_id, err));
    memcpy(neutral->ids, ids, first * sizeof *ids);
    memcpy(neutral->ids + first, given->ids, n_id * sizeof *ids);
    memcpy(neutral->ids + first + n_id, ids + end, (spans->n - end) * sizeof *ids);
    *input = (struct attn_input){.ids = neutral->ids, .n_id = spans->n - (end - first) + n_id};
    neutral->last = first + n_id - 1;
    return n_id > 0 ? ATTN_OK : attn_refuse(err, ATTN_STAGE_OPTIONS, "`neutral_ids` has no token");
}

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Puts the text in place of the queries; white space at their edges stays. *AT and *END become the
 * bytes of the new text. */
static enum attn_status replace_text(struct neutral *neutral, struct attn_input *input, size_t *at,
                                     size_t *end, struct attn_error *err)
{
    const struct spans *spans = neutral->spans;
    const struct attn_input *given = &spans->args->neutral, *old = spans->run->text.input;
    const struct attn_encoding *encoding = &spans->run->text.encoding;
    size_t from, to;

    if (encoding->n == 0 || old->pair)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` needs one text, and the input is none; `neutral_ids` takes "
                           "ids");
    from = encoding->begin[spans->queries[0]];
    to = encoding->end[spans->queries[spans->n_query - 1]];
    while (from < to && is_white(old->text[from]))
        from++;
    while (to > from && is_white(old->text[to - 1]))
        to--;
    attn_buffer_append(&neutral->text, old->text, from);
    attn_buffer_append(&neutral->text, given->text, given->n_text);
    attn_buffer_append(&neutral->text, old->text + to, old->n_text - to);
    *input = *old;
    input->text = neutral->text.data;
    input->n_text = neutral->text.size;
    *at = from;
    *end = from + given->n_text;
    return attn_buffer_check(&neutral->text, err);
}

/* Checks that the queries are neighbours, and prepares the run of the neutral text. */
static enum attn_status prepare_neutral(struct neutral *neutral, struct attn_error *err)
{
    struct spans *spans = neutral->spans;
    struct attn_request request = spans->frame.request;
    const size_t first = spans->queries[0];
    const int32_t *ids = spans->run->text.ids;
    size_t at = 0, end = 0;

    if (spans->queries[spans->n_query - 1] - first + 1 != spans->n_query)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` takes the place of the queries, which are not neighbours");
    if (spans->run->text.seen.n_picture > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` takes the place of the queries of a text, and this one has a "
                           "picture");
    neutral->first = first;
    ATTN_TRY(spans->args->neutral.ids ? replace_ids(neutral, &request.input, err)
                                      : replace_text(neutral, &request.input, &at, &end, err));
    request.selection.queries = (struct attn_number_list){0};
    request.on_note = NULL;
    ATTN_TRY(attn_run_prepare(spans->frame.host, &request, &neutral->run, err));
    const struct attn_sequence *text = &neutral->run->text;

    if (text->n <= first || (ids && memcmp(ids, text->ids, first * sizeof *ids) != 0))
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "with the neutral text, the tokens in front of the queries are others");
    for (size_t i = first; end > 0 && i < text->n; i++)
        if (text->encoding.begin[i] < end && text->encoding.begin[i] < text->encoding.end[i])
            neutral->last = i;
    neutral->n_key = keys_of(spans, neutral->run)->n;
    return ATTN_ALLOC(neutral->row, neutral->n_key, err);
}

static enum attn_status run_neutral(struct spans *spans, struct attn_error *err)
{
    const struct attn_head_list heads = {.text = spans->frame.request.selection.heads};
    struct neutral neutral = {.spans = spans};
    struct attn_watch watch = watch_of(&heads, on_neutral, &neutral);
    enum attn_status status = prepare_neutral(&neutral, err);

    watch.is_silent = true;

    if (status == ATTN_OK)
        status = attn_watch(neutral.run, &watch, err);
    attn_run_free(neutral.run);
    attn_buffer_release(&neutral.text);
    attn_free(neutral.ids);
    attn_free(neutral.row);
    return status;
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Returns the sum of WEIGHTS over the tokens of SPAN, without those that are two standard
 * deviations below their mean, or more. */
static double filtered_sum(const struct span *span, const double *weights)
{
    struct attn_moments moments = {.n = 0};
    double sum = 0, least;

    for (size_t t = span->first; t <= span->last; t++)
        if (span->flags[t])
            attn_moments_add(&moments, weights[t]);
    least = moments.n < 2 ? -(double)INFINITY : moments.mean - 2 * attn_moments_sd(&moments);
    for (size_t t = span->first; t <= span->last; t++)
        if (span->flags[t] && weights[t] > least)
            sum += weights[t];
    return sum;
}

/* Ranks the spans of MEASURED [n_span] by their scores. Equal scores share a mean rank, and k that
 * are equally high have 1/k of the first place each. */
static void rank(const struct spans *spans, struct measured *measured)
{
    for (size_t i = 0; i < spans->n_span; i++) {
        size_t n_above = 0, n_equal = 0;

        for (size_t k = 0; k < spans->n_span; k++) {
            n_above += measured[k].score > measured[i].score;
            n_equal += measured[k].score == measured[i].score;
        }
        const bool has_score = n_equal > 0; /* NaN is not equal to itself */

        measured[i].rank = has_score ? (double)n_above + ((double)n_equal + 1) / 2 : (double)NAN;
        measured[i].best = !has_score ? (double)NAN : n_above > 0 ? 0 : 1 / (double)n_equal;
    }
}

/* Finds which of MEASURED [n_span] has the largest change; k that differ by rounding alone have 1/k
 * each. */
static void find_largest(const struct spans *spans, struct measured *measured)
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

/* Finds the scores of MEASURED, of head HEAD or, if it is heads.n, of the sum of all heads. */
static void find_scores(struct spans *spans, size_t head, struct measured *measured)
{
    double *weights = spans->weights + (head < spans->heads.n ? head * spans->n_key : 0);

    if (head == spans->heads.n)
        for (size_t i = spans->n_key; i < spans->heads.n * spans->n_key; i++)
            weights[i % spans->n_key] += weights[i];
    for (size_t i = 0; i < spans->n_span + N_MORE; i++) {
        const bool has_score = i < spans->n_span && spans->items[i].has_score;
        const size_t n = head < spans->heads.n ? 1 : spans->heads.n;

        measured[i].score = !has_score          ? (double)NAN
                            : is_neutral(spans) ? filtered_sum(&spans->items[i], weights)
                                                : mean_of(&measured[i].sums, SHARE) * (double)n;
    }
    rank(spans, measured);
}

/* Adds the means of each head to MEASURED, of all heads. */
static void add_heads(const struct spans *spans, struct measured *measured)
{
    for (size_t head = 0; head < spans->heads.n; head++)
        for (size_t i = 0; i < spans->n_span + N_MORE; i++) {
            const struct sums *sums = &spans->sums[head * (spans->n_span + N_MORE) + i];

            for (int column = SHARE; column <= COPIED; column++)
                add(&measured[i].sums, column, mean_of(sums, column));
        }
    for (size_t i = 0; i < spans->n_span + N_MORE; i++) /* `copied` is a mean over heads, too */
        if (measured[i].sums.n[COPIED - SHARE] > 0)
            measured[i].sums.sum[COPIED - SHARE] /= (double)measured[i].sums.n[COPIED - SHARE];
}

static void find_measured(struct spans *spans)
{
    const size_t n_row = spans->n_span + N_MORE;

    if (spans->args->by == ATTN_SPANS_BY_SPAN) {
        add_heads(spans, spans->measured);
        find_scores(spans, spans->heads.n, spans->measured);
    }
    for (size_t i = 0; spans->args->by == ATTN_SPANS_BY_HEAD && i < spans->heads.n; i++) {
        for (size_t k = 0; k < n_row; k++)
            spans->measured[i * n_row + k].sums = spans->sums[i * n_row + k];
        find_scores(spans, i, spans->measured + i * n_row);
    }
}

/* --- Effects ---------------------------------------------------------------------------------- */

/* Appends edits by which the flagged ROWS lose the keys COL0 to COL1 - 1 in AT. A row keeps itself,
 * unless the keys are of the source. */
static enum attn_status mask_columns(const struct spans *spans, const struct attn_location *at,
                                     size_t col0, size_t col1, struct attn_part_edits *edits,
                                     struct attn_error *err)
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
static enum attn_status mask_span(const struct spans *spans, const struct attn_location *head,
                                  const struct span *span, struct attn_part_edits *edits,
                                  struct attn_error *err)
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
static bool sees_other(const struct spans *spans, const struct span *span)
{
    for (size_t t = 0; t < spans->n_key; t++)
        if (!span->flags[t] && spans->is_seen[t])
            return true;
    return false;
}

/* Returns the number of trials of a span: one for each head in which the queries do not see it; or
 * one for all heads, and one in which no other token sees it in them. */
static size_t n_trial_of(const struct spans *spans)
{
    return spans->args->by == ATTN_SPANS_BY_HEAD ? spans->heads.n : 2;
}

/* Appends the edits of trial number I (attn_part_edit_fn). */
static enum attn_status add_trial(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct spans *spans = user;
    const size_t n_each = n_trial_of(spans), k = i % n_each;
    const bool is_by_head = spans->args->by == ATTN_SPANS_BY_HEAD,
               is_of_others = !is_by_head && k > 0;
    const struct span *span = &spans->items[i / n_each];

    memset(spans->rows, 0, spans->n);
    for (size_t q = 0; q < spans->n_query; q++)
        spans->rows[spans->queries[q]] = 1;
    for (size_t t = 0; is_of_others && t < spans->n; t++)
        spans->rows[t] = spans->is_of_source || !span->flags[t];
    for (size_t head = is_by_head ? k : 0; head < (is_by_head ? k + 1 : spans->heads.n); head++)
        ATTN_TRY(mask_span(spans, &spans->heads.items[head].at, span, edits, err));
    return ATTN_OK;
}

/* Runs the trials, and takes what each changes. */
static enum attn_status run_trials(struct spans *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const double sign = spans->n_prompt == spans->n ? 1 : -1; /* of an answer -ln p is computed */
    const size_t n_row = spans->n_span + N_MORE, n_each = n_trial_of(spans),
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
        struct measured *measured =
            spans->measured + (is_by_head ? i % n_each * n_row : 0) + i / n_each;

        *(is_by_head || i % n_each == 0 ? &measured->change : &measured->cut) = change;
    }
    for (size_t i = 0; i < (is_by_head ? spans->heads.n : 1); i++)
        find_largest(spans, spans->measured + i * n_row);
    return ATTN_OK;
}

/* Whether weight is parked on key T; of a source on the first, and on the last that is seen. */
static bool is_parked_on(const struct spans *spans, size_t t)
{
    size_t last = spans->n_key - 1;

    if (spans->parks[0])
        return attn_parks_has(spans->parks[0], t);
    while (last > 0 && !spans->is_seen[last])
        last--;
    return t == 0 || t == last;
}

/* Notes what the effects cost, and the spans where weight is parked. */
static void note_effects(const struct spans *spans, size_t n_trial)
{
    const struct attn_request *request = &spans->frame.request;

    if (spans->frame.is_one_of_many)
        return;
    attn_note(request->on_note, request->user, ATTN_NOTE_RUNS,
              "`effect` runs the model %zu times, and hides spans in %zu of %zu heads", n_trial + 1,
              spans->args->by == ATTN_SPANS_BY_HEAD ? 1 : spans->heads.n,
              (size_t)(spans->frame.config->n_layer * spans->frame.config->n_head));
    for (size_t i = 0; i < spans->n_span; i++) {
        const struct span *span = &spans->items[i];
        size_t sink = spans->n_key;

        for (size_t t = 0; t < spans->n_key && sink == spans->n_key; t++)
            if (span->flags[t] && is_parked_on(spans, t))
                sink = t;
        if (sink < spans->n_key)
            attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                      "span '%s' holds position %zu, a sink where other tokens park weight: its "
                      "cut need not say anything about its text",
                      attn_quote_string(span->name).text, sink);
    }
}

static enum attn_status find_effects(struct spans *spans, struct attn_error *err)
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
static enum attn_status append(struct spans *spans, struct attn_cell *row, size_t i,
                               const struct sums *sums, const struct measured *measured,
                               struct attn_error *err)
{
    const struct span *span = i < spans->n_span ? &spans->items[i] : NULL;
    const unsigned char *flags = span                        ? span->flags
                                 : i == spans->n_span + REST ? spans->rest
                                                             : spans->parked;
    const bool is_best = !spans->gold || row[SPAN].type != ATTN_VALUE_MISSING;
    struct attn_buffer positions = {0};
    enum attn_status status;
    size_t n_token = 0;

    for (size_t t = 0; t < spans->n_key; t++)
        n_token += flags[t];
    if (row[SPAN].type == ATTN_VALUE_MISSING)
        row[SPAN] = attn_cell_string(span                     ? span->name
                                     : flags == spans->parked ? "parked"
                                                              : "rest");
    row[TOKENS] = attn_cell_real((double)n_token);
    for (int column = SHARE; column <= COPIED; column++)
        row[column] = attn_cell_real_or_missing(mean_of(sums, column));
    if (measured && span) {
        row[SCORE] = attn_cell_real_or_missing(measured->score);
        row[RANK] = attn_cell_real_or_missing(measured->rank);
        row[BEST] = is_best ? attn_cell_real_or_missing(measured->best) : attn_cell_missing();
        row[CHANGE] = attn_cell_real(measured->change);
        row[CUT] = attn_cell_real(measured->cut);
        row[LARGEST] = is_best ? attn_cell_real(measured->largest) : attn_cell_missing();
    }
    append_positions(&positions, flags, keys_of(spans, spans->frame.run)->n);
    row[POSITIONS] = attn_cell_text(positions.data, positions.size);
    status = attn_buffer_check(&positions, err);
    if (status == ATTN_OK)
        status = attn_frame_append(&spans->frame, row, err);
    attn_buffer_release(&positions);
    return status;
}

/* Appends the rows of MEASURED [n_span + N_MORE], of HEAD or, if it is NULL, of all heads. */
static enum attn_status append_group(struct spans *spans, const struct attn_location *head,
                                     const struct measured *measured, struct attn_error *err)
{
    const size_t gold = spans->n_span, n_row = spans->n_span + REST + 1 + (spans->n_parked > 0);

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
static enum attn_status append_steps(struct spans *spans, struct attn_error *err)
{
    const struct attn_sequence *text = &spans->run->text;
    const size_t n_row = spans->n_span + N_MORE;

    for (size_t k = 0; k < spans->heads.n * spans->n_step * n_row; k++) {
        const struct attn_location *head = &spans->heads.items[k / n_row / spans->n_step].at;
        const size_t query = spans->queries[k / n_row % spans->n_step];
        struct attn_cell row[N_COLUMN] = {
            [HEAD] = attn_cell_integer(head->head), [POSITION] = attn_cell_integer((int64_t)query)};

        if (k % n_row == spans->n_span + PARKED && spans->n_parked == 0)
            continue;
        attn_location_put(head, &row[STACK]);
        row[TOKEN] = attn_cell_position(&text->tokens, query);
        if (query + 1 < spans->n)
            row[NEXT] = attn_cell_position(&text->tokens, query + 1);
        ATTN_TRY(append(spans, row, k % n_row, &spans->sums[k], NULL, err));
    }
    return ATTN_OK;
}

/* Notes how many positions are parked, and the spans that have no others. */
static void note_parked(const struct spans *spans)
{
    const struct attn_request *request = &spans->frame.request;

    if (spans->n_parked > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                  "heads park weight on %zu position%s, the row parked; `parked hide` counts %s in "
                  "the spans",
                  spans->n_parked, spans->n_parked == 1 ? "" : "s",
                  spans->n_parked == 1 ? "it" : "them");
    for (size_t i = 0; i < spans->n_span; i++)
        if (spans->n_parked > 0 && spans->items[i].n_token == 0)
            attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                      "span '%s' has no other positions than parked ones",
                      attn_quote_string(spans->items[i].name).text);
}

/* Gives the parked positions of the text to no span, before its rows come. */
static enum attn_status take_positions(void *user, struct attn_error *err)
{
    struct spans *spans = user;
    const bool is_shown = spans->args->parked == ATTN_SPANS_PARKED_SHOW;

    (void)err;
    for (size_t t = 0; t < spans->n_key && is_shown; t++) {
        if (!attn_parks_has(spans->parks[0], t))
            continue;
        spans->parked[t] = 1;
        spans->n_parked++;
        spans->rest[t] = 0;
        for (size_t i = 0; i < spans->n_span; i++) {
            spans->items[i].n_token -= spans->items[i].flags[t];
            spans->items[i].flags[t] = 0;
        }
    }
    for (size_t i = 0; i < spans->n_span; i++)
        spans->items[i].has_score &= spans->items[i].n_token > 0;
    if (!spans->frame.is_one_of_many)
        note_parked(spans);
    return ATTN_OK;
}

/* Measures the rows of the queries. Sources have no parked positions. */
static enum attn_status read_rows(struct spans *spans, struct attn_error *err)
{
    const struct attn_head_list heads = {.text = spans->frame.request.selection.heads};
    const size_t first = spans->queries[0];
    const bool is_shown = spans->args->parked == ATTN_SPANS_PARKED_SHOW;
    struct attn_watch watch = watch_of(&heads, on_rows, spans);

    if (spans->is_of_source && !is_shown)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`parked hide` is of positions of the text, and the spans are in its "
                           "source");
    if (!spans->is_of_source && (is_shown || spans->args->has_effect)) {
        watch.parks = spans->parks;
        watch.on_parks = take_positions;
    }
    /* the runs for effects send the same notes, and need the keys that all rows see */
    watch.is_silent = spans->args->has_effect;
    if (!spans->args->has_effect) {
        watch.first_query = first;
        watch.n_query = spans->queries[spans->n_query - 1] + 1 - first;
    }
    return attn_watch(spans->run, &watch, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct spans *spans = state;
    const enum attn_spans_by by = spans->args->by;

    ATTN_TRY(read_rows(spans, err));
    if (by == ATTN_SPANS_BY_STEP)
        return append_steps(spans, err);
    if (is_neutral(spans))
        ATTN_TRY(run_neutral(spans, err));
    find_measured(spans);
    if (spans->args->has_effect)
        ATTN_TRY(find_effects(spans, err));
    if (by == ATTN_SPANS_BY_SPAN)
        return append_group(spans, NULL, spans->measured, err);
    for (size_t i = 0; i < spans->heads.n; i++)
        ATTN_TRY(append_group(spans, &spans->heads.items[i].at,
                              spans->measured + i * (spans->n_span + N_MORE), err));
    return ATTN_OK;
}

static uint64_t shows(const void *state)
{
    const struct spans *spans = state;
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

    (void)request;
    if (attn_input_is_given(&item->neutral))
        given->neutral = item->neutral;
    return given->has_effect && !given->continuation && given->n_generated == 0
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
     .figure = ATTN_FIGURE_TOKENS,
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
                .values = ATTN_TABLE_COLUMN(args->has_effect ? CHANGE : SHARE),
                .figure = ATTN_FIGURE_BARS};
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
        attn_drawn_ask(drawn, "in head %s%s%d.%d at each step", attn_model_stack_name(at.stack),
                       at.stack == ATTN_STACK_ONLY ? "" : ":", at.layer, at.head);
    }
}

#define PROCEDURE                                                                                  \
    .name = "spans", .question = &attn_question_spans, .columns = columns, .n_column = N_COLUMN,   \
    .state_size = sizeof(struct spans), .items.study = offsetof(struct attn_spans_args, study),    \
    .items.derive = derive, .items.take_item = take_item, .choose = choose, .prepare = prepare,    \
    .shows = shows, .draw = draw, .ask = ask, .release = release
#define VIEWS(rows) .views = (rows), .n_view = sizeof(rows) / sizeof *(rows)

static const struct attn_procedure of_heads = {PROCEDURE, VIEWS(head_views),
                                               .items.is_keyed = true};
static const struct attn_procedure of_spans = {PROCEDURE, VIEWS(span_views),
                                               .items.is_keyed = true};
static const struct attn_procedure of_steps = {PROCEDURE, VIEWS(step_views),
                                               .items.is_listed = true, .items.is_ragged = true};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_spans_args *args = given;

    return args->by == ATTN_SPANS_BY_STEP   ? &of_steps
           : args->by == ATTN_SPANS_BY_SPAN ? &of_spans
                                            : &of_heads;
}

/* heads.c - see heads.h. Each text is run once, and its readers (heads_internal.h) get the pattern
 * as the trace emits it, or for short texts that run together, from stream/many.h. */
#include "heads/heads.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "frame/questions_internal.h"
#include "heads/examples_internal.h"
#include "heads/heads_columns.h"
#include "measures/analysis_internal.h"
#include "measures/head_cards_internal.h"
#include "tensors/view.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 1024 }; /* maximum rows of a long text per feed */

/* --- The question ----------------------------------------------------------------------------- */

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    char *rest;
    enum attn_status status = ATTN_OK;

    (void)param;
    (void)label;
    ATTN_TRY(ATTN_ALLOC(rest, strlen(text) + 1, err));
    if (attn_head_effects_read(text, &args->effects, rest))
        status =
            attn_error_at(attn_measures_parse(rest, &args->measures, err), ATTN_STAGE_OPTIONS, err);
    attn_free(rest);
    return status;
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM_HEADS("the heads: 2.5,3.* or L5H1; default: all"),
    ATTN_PARAM(OWN, "probe", "KIND", struct attn_heads_args, has_probe, "the probe",
               .words = "induction", .traits = ATTN_PARAM_NO_KEYWORD, .read = attn_probes_read),
    ATTN_PARAM(OWN, "sinks", "K:W", struct attn_heads_args, n_near,
               "add what a KV cache with the first K keys and the last W keys keeps and loses: "
               "sink_mass, the weight on the first K keys, mean over the rows after them, and "
               "distant, the weight on keys that are neither among these nor less than W away, "
               "mean over the rows that have such keys. 4:64 is usual (Xiao et al. "
               "2309.17453). It does not say that the answer needs the distant keys: "
               "`attention sink:K:W` runs without them",
               .read = attn_head_sinks_read),
    ATTN_PARAM(
        FLAG, "from_weights", NULL, struct attn_heads_args, weights.is_by_head,
        "instead of a text, read the weights: sizes of the maps W_V W_O (ov) and W_Q W_K^T "
        "(qk), and whether a head would copy the token that it reads (copying) or look at "
        "the token that it is at (matching), -1 to 1, with the MLP of layer 0 before it "
        "(mlp0: read this one above layer 0). Weights show how a head would act on any token "
        "that it attends to; they do not show which tokens it attends to"),
    ATTN_PARAM(CHOICE, "composition", NULL, struct attn_heads_args, weights.composition,
               "instead of a text, read the weights of pairs of heads: how much of what the "
               "earlier one writes lies where the queries (q), keys (k) or values (v) of the later "
               "one read, |A B| / (|A| |B|), and the root mean square of that for maps turned at "
               "random (baseline). The 20 largest. It compares sizes of maps; it does not show "
               "that the later head uses what the earlier one writes",
               .words = "none|q|k|v"),
    ATTN_PARAM(
        TEXT, "svd", "L.H[:ov|qk][:N]", struct attn_heads_args, weights.svd,
        "instead of a text, read the weights of one head: singular directions of its map "
        "W_V W_O (ov, default) or W_Q W_K^T (qk), and the tokens of the vocabulary that lie "
        "farthest along each side, of the N directions (5) with the largest singular values. "
        "The sign of a direction is that of its largest component on the first side"),
    ATTN_PARAM(COUNT, "top", "K", struct attn_heads_args, weights.n_top,
               "of `svd`: K tokens on each side; default: 5", .least = 1),
    ATTN_PARAM(COUNT, "runs", "N", struct attn_heads_args, probe.n,
               "make N probes with consecutive seeds, and print means and standard deviations",
               .least = 1, .most = INT32_MAX, .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(
        OWN, "measures", "LIST", struct attn_heads_args, measures,
        "print these measures, as in entropy,punctuation, or all; default: all but "
        "punctuation, next, separator and the counts of these. weight: that between two words "
        "alone. direct, ablated, patched: what heads do for an answer, as `attn-cli attribute`, "
        "ablate and patch find it",
        .read = read_measures),
    ATTN_PARAM(INPUT, "corrupted", "TEXT", struct attn_heads_args, corrupted,
               "for `measures` patched: the same text with a difference, as for `attn-cli patch`; "
               "TEXT is the clean one",
               .second = offsetof(struct attn_heads_args, corrupted.n_text)),
    ATTN_PARAM(ARRAY, "pattern", "FILE.npy", struct attn_heads_args, pattern,
               "compare patterns with an array P [T, T] of your own: mul, the share of the "
               "weight that lies on P, and abs, 1 minus the mean difference of a row from P",
               .least = 2),
    ATTN_PARAM(LIST, "from", "POS", struct attn_heads_args, from,
               "with `to`: how much these queries look at those keys; positions or words of the "
               "text",
               .keys = "from", .second = offsetof(struct attn_heads_args, from.n)),
    ATTN_PARAM(LIST, "to", "POS", struct attn_heads_args, to,
               "the keys that `from` looks at; in cross-attention layers they are in the source",
               .keys = "to", .second = offsetof(struct attn_heads_args, to.n)),
    ATTN_PARAM(FLAG, "renormalize", NULL, struct attn_heads_args, renormalizes,
               "measure what is left of each row without the keys where heads park weight, as "
               "`attn-cli sinks` with `by park` lists them, divided by its sum: entropy, max, "
               "distance and all shares, and the weight from `from` to `to`. Rows that see parks "
               "alone do not count. Without types, which are of the rest anyway"),
    ATTN_PARAM(
        FLAG, "effect", NULL, struct attn_heads_args, has_effect,
        "add a column: how the answer changes without the head, as `attn-cli ablate` measures it"),
    ATTN_PARAM(CHOICE, "by", NULL, struct attn_heads_args, by,
               "head (default); layer: of a picture beside a text, one row per layer, with the "
               "means over its heads; pair: instead of measures, pairs of heads, the most alike "
               "first, with js: the Jensen-Shannon divergence of their rows, mean over the rows. A "
               "small js does not say that the heads read and write the same things",
               .words = "head|layer|pair"),
    ATTN_PARAM(FLAG, "localize", NULL, struct attn_heads_args, picture.is_localized,
               "of a picture beside a text: rank the heads that look at one place of it (Kang et "
               "al. 2503.06287); kept are heads with a large share of it, from layer 2 on, that "
               "do not look at its last row (preview)"),
    ATTN_PARAM(COUNT, "keep", "N", struct attn_heads_args, picture.n_kept,
               "with `localize` over `items`, a head is selected in an item if its rank is at "
               "most N; default: 10",
               .least = 1),
    ATTN_PARAM(CHOICE, "tower", NULL, struct attn_heads_args, picture.tower,
               "of a decoder that reads pictures beside a text: measure the decoder (text, "
               "default), or its tower, which reads `image` alone (image)",
               .words = "text|image"),
    ATTN_PARAM(REAL, "threshold", "X", struct attn_heads_args, threshold,
               "the share of the weight beside parks above which one class names a head; "
               "default: 0.5",
               .most = 1, .traits = ATTN_PARAM_IS_OPEN | ATTN_PARAM_IS_CLOSED),
    ATTN_PARAM(FLAG, "shares", NULL, struct attn_heads_args, has_shares,
               "add the shares from which the type follows, of the weight beside parks: rest_self, "
               "rest_previous, ...; they add up to 1. `figure map`, which has them without "
               "`shares`, and the cards of an atlas draw them as bars"),
    ATTN_PARAM(TEXT, "sort", "COLUMN", struct attn_heads_args, sort,
               "sort by this column, the largest first", .traits = ATTN_PARAM_NO_OPTION),
    ATTN_PARAM(COUNT, "limit", "N", struct attn_heads_args, n_most, "return N rows; default: all",
               .least = 1, .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Heads", param_rows);

static const struct attn_param_part parts[] = {
    {&params, 0},
    ATTN_QUESTION_ANSWER(struct attn_heads_args),
    {&attn_sink_params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "heads|probe|items|measures|pattern|from|to|effect|threshold|renormalize",
     .excludes = "by:pair",
     .message = "`by pair` and @ do not go together: it compares the heads of one text"},
    {.given = "keep", .needs = "localize"},
    {.given = "measures|from|to|pattern|effect|threshold|by:layer|by:pair", .excludes = "localize"},
    {.given = "threshold|shares|by:layer|localize", .excludes = "renormalize"},
    {.given = "from_weights|composition|svd",
     .excludes =
         "probe|sinks|measures|corrupted|pattern|from|to|renormalize|effect|by:layer|by:pair|"
         "localize|tower|threshold|shares|items|target|target_id|foil|foil_id|at|metric|"
         "special|special_tokens|ablate|knockout|patch|steer|project|rescale|positions|attention|"
         "mask|key_mask|compute"},
    {.given = "from_weights", .excludes = "composition|svd"},
    {.given = "composition", .excludes = "svd"},
    {.given = "svd", .excludes = "heads"},
    {.given = "top", .needs = "svd"},
    {.given = "sinks", .excludes = "by:pair|by:layer|localize|renormalize|tower"},
    {.given = "shares", .excludes = "by:pair|by:layer|localize"},
    {.given = "runs", .needs = "probe"},
    {.given = "special",
     .excludes = "probe",
     .message = "@ is about a text, and # is given instead of one"},
    {.given = "target|target_id|foil|foil_id|at|metric",
     .needs = "effect|measures",
     .message = "`target`, `foil`, `at` and `metric` need `effect`"},
    {.given = "corrupted", .excludes = "items"},
};

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_heads = {
    .name = "heads",
    .summary = "where each head looks, and what type of head it is",
    .description =
        "Measures where every head looks in TEXT: how widely (entropy, max), how far\n"
        "(distance), at the token itself, at the token before, at the first token, at\n"
        "earlier places of the same token (duplicate), at what followed them (induction),\n"
        "elsewhere (far).\n"
        "\n"
        "Most heads of real models park weight that they do not need on the first token\n"
        "or another sink (park; `attn-cli sinks` lists the places). The type says what a\n"
        "head does with the rest, scaled to 1: self, previous, next, induction,\n"
        "duplicate, marks, start (after a full stop), near (2 to 4 away), sentence,\n"
        "elsewhere, or two of these; even or broad if it spreads; mixed; parks from .9\n"
        "on. Induction and duplicate are shares of the rest in the rows whose token stood\n"
        "before, at least 8. Most and share are the class with the largest part of the\n"
        "rest, and this part; `shares` adds all parts. A text of under 30 tokens has no\n"
        "types.\n"
        "\n"
        "The numbers say where a head looks in this text. They do not say what it takes\n"
        "from there, nor whether that matters: see `effect` and `attn-cli ablate`.\n"
        "Over `items` the numbers are means, and the type follows from the means. Items\n"
        "may name the words to look between (from, to), and with `effect` a target.\n"
        "'attn-cli help measures' explains each of them.\n"
        "\n"
        "`figure map` draws a cell for each head: its type, and its weight as a bar, the\n"
        "parked part pale.\n"
        "\n"
        "`html` over `items` is an atlas: points by any two measures, which open cards of\n"
        "heads, with the texts in which a head looks most strongly. Only `effect` costs\n"
        "more than one pass over the texts: a run for each head and text.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_heads_args, .size = sizeof(struct attn_heads_args)),
    .choose = choose_procedure,
};

/* --- One text --------------------------------------------------------------------------------- */

/* Gives the rows of an event to all readers (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct attn_heads_run *heads = user;

    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++) {
        const struct attn_head_reader *reader = attn_head_readers[i];

        if (heads->readings[i] && reader->add &&
            (reader->reads_all || event->at.site == ATTN_SITE_PATTERN))
            ATTN_TRY(reader->add(heads, heads->readings[i], event, err));
    }
    return ATTN_OK;
}

/* Measures the rows of EVENT, of a view, that have cells (attn_trace_fn): a row that only sees
 * parks has none. */
static enum attn_status on_narrowed(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    for (size_t r = 0, end; r < event->n_row; r = end) {
        struct attn_trace_event part = *event;

        for (end = r; end < event->n_row && (!event->n_kept || event->n_kept[end] > 0);)
            end++;
        part.row0 += r;
        part.n_row = end - r;
        part.data += r * event->ld;
        part.keys += event->keys ? r * event->ld : 0;
        part.n_kept += event->n_kept ? r : 0;
        end += end == r;
        if (part.n_row > 0)
            ATTN_TRY(on_rows(user, &part, err));
    }
    return ATTN_OK;
}

/* Gives the rows to the readers that count in a second pass (attn_trace_fn). */
static enum attn_status on_count(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_heads_run *heads = user;

    (void)err;
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (heads->readings[i] && attn_head_readers[i]->count &&
            event->at.site == ATTN_SITE_PATTERN)
            attn_head_readers[i]->count(heads->readings[i], event);
    return ATTN_OK;
}

static void forget_found(struct attn_heads_run *heads)
{
    for (size_t i = 0; i < heads->parts.n * ATTN_N_HEAD_COLUMN; i++)
        heads->found[i] = (double)NAN;
}

/* The view that leaves parks out. */
static const struct attn_view_options parks_left_out = {.hides = ATTN_HIDDEN_PARKS,
                                                        .renormalizes = true};

/* Takes the parks, which are known, before the first event. */
static enum attn_status on_parks(void *user, struct attn_error *err)
{
    struct attn_heads_run *heads = user;
    const bool *is_parked[2] = {attn_parks_find(heads->parks[0]),
                                heads->parks[1] ? attn_parks_find(heads->parks[1]) : NULL};

    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (heads->readings[i] && attn_head_readers[i]->park)
            attn_head_readers[i]->park(heads->readings[i], is_parked);
    attn_view_free(heads->view);
    heads->view = NULL;
    if (!heads->args->renormalizes)
        return ATTN_OK;
    heads->labels = *attn_run_labels(heads->frame.run);
    heads->labels.parks = is_parked[0];
    return attn_view_create(&heads->labels, parks_left_out, heads->of_view, heads, &heads->view,
                            err);
}

static enum attn_status on_viewed(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    return attn_view_event(((struct attn_heads_run *)user)->view, event, err);
}

/* Makes the pass WATCH, whose events ON_EVENT gets without parks if they are left out. */
static enum attn_status watch_rows(struct attn_heads_run *heads, struct attn_watch *watch,
                                   attn_trace_fn on_event, struct attn_error *err)
{
    const bool has_parks = heads->parks[0] != NULL;

    heads->of_view = on_event;
    watch->on_event = heads->args->renormalizes ? on_viewed : on_event;
    watch->user = heads;
    watch->parks = heads->needs_parks && !has_parks ? heads->parks : NULL;
    watch->on_parks = on_parks;
    if (has_parks)
        ATTN_TRY(on_parks(heads, err));
    return attn_watch(heads->frame.run, watch, err);
}

/* Computes the values of each head in one or two passes over the text. */
static enum attn_status read_text(struct attn_heads_run *heads, struct attn_error *err)
{
    const struct attn_head_reader *const *readers = attn_head_readers;
    struct attn_watch watch = {.selection = heads->frame.run->selection,
                               .of = heads->encoder ? ATTN_WATCH_BOTH : ATTN_WATCH_TEXT,
                               .n_piece = MOST_ROWS,
                               /* the first run for the effects sends the same notes */
                               .is_silent = attn_heads_have_ablation(heads->args)};

    heads->needs_parks = heads->args->renormalizes;
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (readers[i]->begin)
            ATTN_TRY(readers[i]->begin(heads, &heads->readings[i], err));
    ATTN_TRY(watch_rows(heads, &watch, heads->args->renormalizes ? on_narrowed : on_rows, err));
    watch.of = ATTN_WATCH_TEXT;
    watch.is_silent = true;
    if (heads->needs_count)
        ATTN_TRY(watch_rows(heads, &watch, on_count, err));
    forget_found(heads);
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++) {
        for (size_t k = 0; k < heads->parts.n && heads->readings[i] && readers[i]->find; k++)
            readers[i]->find(heads, heads->readings[i], k, heads->found + k * ATTN_N_HEAD_COLUMN);
        if (readers[i]->finish && (heads->readings[i] || !readers[i]->begin))
            ATTN_TRY(readers[i]->finish(heads, heads->readings[i], err));
    }
    return ATTN_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Returns what is measured of texts with a picture by default. */
static attn_measure_set measures_of_prompts(const struct attn_heads_args *args,
                                            const struct attn_request *request)
{
    const attn_measure_set shares =
        ~(ATTN_MEASURE_BIT(ATTN_MEASURE_SPATIAL_ENTROPY) | ATTN_MEASURE_BIT(ATTN_MEASURE_N_BLOB));

    return (attn_measures_with(ATTN_OF_USUAL_BESIDE) &
            (args->by == ATTN_HEADS_BY_LAYER ? shares : UINT64_MAX)) |
           (request->maps.drop_sinks > 0 ? ATTN_MEASURE_BIT(ATTN_MEASURE_PICTURE_SINKS) : 0) |
           (request->input.n_image > 1 ? attn_measures_of_images(request->input.n_image) : 0);
}

/* If the first item has `from`, all items have pairs of words: "" is missing. If it has a picture
 * beside its text, all items have one. */
static void meet_first(void *given, const struct attn_item *first,
                       const struct attn_request *request)
{
    static const struct attn_number_list missing = {.text = ""};
    struct attn_heads_args *args = given;

    if (attn_heads_have_picture(&request->input) && args->picture.tower == ATTN_TOWER_TEXT &&
        args->measures == 0 && args->effects == 0 && !args->picture.is_localized)
        args->measures = measures_of_prompts(args, request);
    if (attn_number_list_is_given(&first->from)) {
        args->from = attn_number_list_or(args->from, missing);
        args->to = attn_number_list_or(args->to, missing);
    }
}

static unsigned pairs(const void *args)
{
    return ((const struct attn_heads_args *)args)->effects & ATTN_HEADS_PATCHED
               ? ATTN_ITEM_BIT(CLEAN_CORRUPTED)
               : ATTN_ITEM_BIT(SINGLE);
}

static enum attn_status take_item(void *given, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_heads_args *args = given;

    (void)request;
    ATTN_TRY(attn_word_pairs_choose(args, item, &args->from, &args->to, err));
    if (args->effects & ATTN_HEADS_PATCHED)
        args->corrupted = item->other;
    return attn_heads_have_answer(args) ? attn_item_answer(item, &args->answer, err) : ATTN_OK;
}

/* Reads the next item (attn_next_fn). What it asks for at a position has no effect here. */
static enum attn_status next_item(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct attn_heads_run *heads = user;

    ATTN_TRY(attn_stream_next(heads->frame.stream, item, err));
    if (!*item)
        return ATTN_OK;
    (*item)->queries = (struct attn_number_list){0};
    (*item)->next = NULL;
    (*item)->n_next = (*item)->n_next_ids = 0;
    return ATTN_OK;
}

/* Appends the rows of an item (attn_answer_fn). */
static enum attn_status find_item(void *user, struct attn_item_result *result,
                                  struct attn_error *err)
{
    struct attn_heads_run *heads = user;
    struct attn_rows rows = heads->frame.rows;

    forget_found(heads);
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (attn_head_readers[i]->take)
            ATTN_TRY(attn_head_readers[i]->take(heads, result, err));
    ATTN_TRY(attn_rows_begin(&rows, attn_table_name(rows.table), &result->answer.rows, err));
    ATTN_TRY(attn_heads_append(heads, &rows, err));
    result->answer.n_beside = attn_heads_n_beside(heads);
    if (!result->answer.beside)
        ATTN_TRY(ATTN_ALLOC(result->answer.beside, result->answer.n_beside, err));
    attn_heads_fill_beside(heads, result->answer.beside);
    return ATTN_OK;
}

/* Runs the items, short ones together. */
static enum attn_status ask_items(struct attn_heads_run *heads, struct attn_error *err)
{
    const struct attn_frame *frame = &heads->frame;
    const struct attn_many_options options = {
        .request = &frame->request,
        .measures = heads->shown,
        .has_mixes = heads->mixes != NULL,
        .keeps_tensors = heads->has_pairs,
    };
    const struct attn_item_calls calls = {.next = next_item, .find = find_item, .user = heads};

    return attn_stream_run(frame->stream, frame->host, &options, &calls, err);
}

/* --- The procedure ---------------------------------------------------------------------------- */

/* Checks that ARGS have what their effects need, and no answer or text without an effect. */
static enum attn_status check_effects(const struct attn_heads_args *args, struct attn_error *err)
{
    const struct attn_answer_args *answer = &args->answer;
    const bool has_answer = attn_heads_have_answer(args);
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

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_heads_args *args = given;
    const bool is_from = attn_number_list_is_given(&args->from);

    if (!args->study && attn_number_list_is_given(&args->to) && !is_from)
        return attn_error_set(err, ATTN_INVALID, "`to` is given without `from`");
    if (args->has_probe && (is_from || args->pattern || args->has_effect))
        return attn_error_set(err, ATTN_INVALID,
                              "`from`, `pattern` and `has_effect` need one text, not a probe");
    if (args->effects != 0 &&
        (args->has_probe || args->picture.is_localized || args->by == ATTN_HEADS_BY_LAYER))
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` of an answer need one text or items, and a row per head");
    ATTN_TRY(check_effects(args, err));
    if (args->has_probe && args->cards)
        return attn_error_set(err, ATTN_INVALID, "cards are about texts, not about a probe");
    if (args->renormalizes && args->cards)
        return attn_error_set(err, ATTN_INVALID,
                              "cards have the weight of whole rows, and "
                              "`renormalize` leaves out a part of it");
    if (args->study && args->has_probe)
        return attn_error_set(err, ATTN_INVALID, "`items` and a probe are given, expected one");
    if (!(args->threshold >= 0 && args->threshold <= 1))
        return attn_error_set(err, ATTN_INVALID,
                              "`threshold` is %g, expected above 0 and at most 1", args->threshold);
    return ATTN_OK;
}

/* Lists the heads that have rows, those of the encoder first. */
static enum attn_status list_heads(struct attn_heads_run *heads, struct attn_error *err)
{
    const struct attn_dims encoder = attn_config_dims(heads->encoder, 1);
    struct attn_dims dims = attn_config_dims(heads->frame.config, 1);
    const struct attn_head_list list = {.text = heads->frame.request.selection.heads};
    struct attn_selection *selection = NULL;
    enum attn_status status = ATTN_OK;

    if (heads->encoder)
        dims.encoder = &encoder;
    ATTN_TRY(
        attn_error_at(attn_error_in(attn_select_heads(&list, &dims, &selection, err), "heads", err),
                      ATTN_STAGE_OPTIONS, err));
    if (attn_sites_have(dims.sites, ATTN_SITE_PATTERN))
        status = attn_selection_set_sites(selection, ATTN_SITES(ATTN_SITE_PATTERN), err);
    ATTN_THEN(status, attn_parts_list(selection, ATTN_ALL_OF(ONLY, ATTN_SITE_PATTERN), 0,
                                      &heads->parts, err));
    attn_selection_free(selection);
    if (status != ATTN_OK || heads->parts.n > 0)
        return status;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "no chosen layer has attention");
    return heads->frame.config->mixer
               ? attn_error_hint(err, "site 'mixing' of `attn-cli run` shows how they mix tokens")
               : ATTN_INVALID;
}

/* PROMPT has a picture beside its text, or is NULL: items have what the first one has. */
static attn_measure_set find_shown(const struct attn_heads_args *args,
                                   const struct attn_config *config,
                                   const struct attn_request *prompt)
{
    const bool is_picture = config->image.patch_height > 0;
    attn_measure_set shown = attn_measures_with(is_picture ? ATTN_OF_PATCHES : ATTN_OF_USUAL);

    if (args->picture.is_localized)
        return ATTN_MEASURE_BIT(ATTN_MEASURE_PICTURE) |
               ATTN_MEASURE_BIT(ATTN_MEASURE_SPATIAL_ENTROPY) |
               ATTN_MEASURE_BIT(ATTN_MEASURE_N_BLOB);
    if (args->measures != 0 || args->effects != 0 || args->probe.is_needle || args->probe.is_own)
        return args->measures;
    if (prompt)
        return measures_of_prompts(args, prompt);
    if (config->has_sinks)
        shown |= ATTN_MEASURE_BIT(ATTN_MEASURE_SINK);
    if (config->attention[0].mask != ATTN_MASK_CAUSAL && !is_picture)
        shown |= ATTN_MEASURE_BIT(ATTN_MEASURE_DISTANCE_ABS);
    return shown;
}

/* Refuses what needs a picture beside the text, unless HAS_PROMPT. */
static enum attn_status check_picture(const struct attn_heads_args *args,
                                      const struct attn_frame *frame, bool has_prompt,
                                      struct attn_error *err)
{
    const attn_measure_set of_prompts = attn_measures_with(ATTN_OF_BESIDE);
    const char *needing = args->picture.is_localized           ? "localize"
                          : args->by == ATTN_HEADS_BY_LAYER    ? "by layer"
                          : frame->request.maps.drop_sinks > 0 ? "drop_sinks"
                          : (args->measures & of_prompts) != 0 ? "measures"
                                                               : NULL;

    if (attn_number_list_is_given(&args->from) && !attn_number_list_is_given(&args->to) &&
        !args->study && !has_prompt)
        return attn_error_set(err, ATTN_INVALID, "`from` is given without `to`");
    if (args->renormalizes && has_prompt)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`renormalize` is about a text or a picture alone; beside a text, "
                           "`drop_sinks` leaves out the sinks in the picture");
    if (!needing || has_prompt)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` is about a picture beside a text, and %s", needing,
                frame->item ? "the item has none" : "none was given");
    return strcmp(needing, "drop_sinks") == 0
               ? attn_error_hint(err, "`renormalize` leaves out the sinks of a text")
               : ATTN_INVALID;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_heads_run *heads = state;
    struct attn_frame *frame = &heads->frame;
    const struct attn_heads_args *args = frame->args;
    const struct attn_model *model = attn_host_model(frame->host);
    const char *chosen = frame->request.selection.heads;
    const bool has_prompt = /* the input, or the first item, has a picture beside the text */
        frame->config->vision.family && attn_heads_have_picture(&frame->request.input);

    heads->args = args;
    ATTN_TRY(check_picture(args, frame, has_prompt, err));
    ATTN_TRY(attn_probes_check_causal(frame->host, args, err));
    heads->shown =
        find_shown(args, frame->config, has_prompt && !frame->item ? &frame->request : NULL);
    attn_question_choose_nothing(&frame->request);
    frame->request.selection.sites =
        frame->request.maps.drop_sinks > 0 ? "pattern,resid_pre" : "pattern";
    heads->drop_sinks = frame->request.maps.drop_sinks;
    frame->request.maps.drop_sinks = 0;
    frame->request.selection.heads = chosen;
    heads->has_pairs = attn_number_list_is_given(&args->to) ||
                       (attn_number_list_is_given(&args->from) && !has_prompt);
    attn_heads_narrow(heads);
    if (model->encoder && !heads->has_pairs && !args->pattern)
        heads->encoder = &model->encoder->config;
    ATTN_TRY(list_heads(heads, err));
    heads->found =
        attn_frame_alloc(frame, heads->parts.n * ATTN_N_HEAD_COLUMN, sizeof *heads->found);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (attn_head_readers[i]->choose)
            ATTN_TRY(attn_head_readers[i]->choose(heads, err));
    return ATTN_OK;
}

/* Reports the numbers beside the rows of an item. */
static enum attn_status report(struct attn_heads_run *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    const size_t n = attn_heads_n_beside(heads);
    double *more = attn_frame_alloc(frame, n, sizeof *more);

    ATTN_TRY(attn_frame_memory(frame, err));
    if (n > 0)
        attn_heads_fill_beside(heads, more);
    if (attn_heads_have_ablation(heads->args)) {
        attn_frame_report_base(frame, &heads->answer, &frame->trials.base);
        frame->answer->has_right &= heads->has_right && !isnan(frame->answer->right);
    }
    return n > 0 ? attn_frame_report_more(frame, more, n, err) : ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_heads_run *heads = state;

    if (heads->frame.stream)
        return ask_items(heads, err);
    ATTN_TRY(read_text(heads, err));
    ATTN_TRY(attn_heads_append(heads, &heads->frame.rows, err));
    return heads->frame.answer ? report(heads, err) : ATTN_OK;
}

static void release(void *state)
{
    struct attn_heads_run *heads = state;

    attn_free(heads->parts.items);
    for (size_t i = 0; i < ATTN_N_HEAD_READER; i++)
        if (heads->readings[i] && attn_head_readers[i]->release)
            attn_head_readers[i]->release(heads->readings[i]);
    attn_view_free(heads->view);
    for (int i = 0; i < 2; i++)
        attn_parks_free(heads->parks[i]);
}

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_HEADS,
    .question = &attn_question_heads,
    ATTN_PROCEDURE_TABLE(attn_head_columns, attn_head_views),
    .state_size = sizeof(struct attn_heads_run),
    .items.study = offsetof(struct attn_heads_args, study),
    .tower = offsetof(struct attn_heads_args, picture.tower),
    .items.meet_first = meet_first,
    .items.take_item = take_item,
    .items.pairs = pairs,
    .items.derive = attn_heads_derive,
    .choose = choose,
    .shows = attn_heads_shows,
    .draw = attn_heads_draw,
    .ask = ask,
    .perform = perform,
    .release = release,
};

/* Returns the procedure of another table; NULL: heads are measured. */
static const struct attn_procedure *choose_other(const struct attn_heads_args *args)
{
    return args->weights.svd                ? &attn_head_svd_procedure
           : args->weights.composition      ? &attn_head_composition_procedure
           : args->weights.is_by_head       ? &attn_head_weights_procedure
           : args->by == ATTN_HEADS_BY_PAIR ? &attn_similarity_procedure
                                            : NULL;
}

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_procedure *other = choose_other(given);

    return other ? other : &procedure;
}

/* Returns true if the items of ARGS can be run in packs: no item needs a run of its own. */
static bool is_packed(const struct attn_heads_args *args, const struct attn_host *host)
{
    const struct attn_model *model = attn_host_model(host);

    return args->study && !attn_heads_have_answer(args) && !args->pattern && !args->cards &&
           !args->renormalizes && !args->probe.is_needle && args->n_near == 0 && model &&
           !model->encoder && !attn_model_config(model)->vision.family;
}

/* Performs CALL, whose arguments are ARGS. PROBES receives the probes. */
static enum attn_status perform_with(const struct attn_procedure_call *call,
                                     struct attn_heads_args *args, struct attn_probes *probes,
                                     struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_heads_args random = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_procedure_call own = *call;
    struct attn_procedure way = procedure;

    ATTN_TRY(attn_error_at(check_args(args, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(
        attn_error_at(attn_options_read(call->request, &request, err), ATTN_STAGE_OPTIONS, err));
    args->has_shares |= args->probe.is_own;
    if (args->has_probe && args->probe.is_own) {
        random.has_probe = true;
        ATTN_TRY(attn_heads(call->host, &request, &random, &probes->random, err));
    }
    if (args->has_probe)
        ATTN_TRY(attn_probes_open(call->host, &request, args, probes, err));
    if (args->has_probe && (args->probe.n > 0 || args->probe.is_own)) {
        args->study = &probes->study;
    } else if (args->has_probe) { /* the table of one text has no deviations */
        ATTN_TRY(attn_items_next(probes->items, &probes->first, err));
        request.input = probes->first->input;
        own.request = &request;
    }
    own.given = args;
    way.makes_runs = is_packed(args, call->host);
    if (args->has_probe)
        way.table.name = ATTN_TABLE_PROBE;
    ATTN_TRY(attn_procedure_perform(&way, &own, err));
    if (!args->cards)
        return ATTN_OK;
    attn_head_cards_choose(args->cards);
    return attn_error_at(attn_head_cards_write(args->cards, call->host, err), ATTN_STAGE_MODEL,
                         err);
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_probes probes = {.ids = NULL};
    enum attn_status status;

    if (!call->host || !call->request || !call->table)
        return attn_procedure_perform(&procedure, call, err);
    ATTN_TRY(attn_error_at(attn_options_read(call->given, &args, err), ATTN_STAGE_OPTIONS, err));
    if (choose_other(&args))
        return attn_procedure_perform(choose_other(&args), call, err);
    status = perform_with(call, &args, &probes, err);
    attn_probes_release(&probes);
    return status;
}

ATTN_ASKS(heads)

enum attn_status attn_heads_keep_types(struct attn_host *host, const char *folder,
                                       struct attn_error *err)
{
    ATTN_NEED(err, host, folder);
    ATTN_TRY(attn_host_check_model(host, err));
    attn_free(host->model->types);
    return ATTN_NEW(host->model->types, attn_strndup(folder, strlen(folder), err));
}

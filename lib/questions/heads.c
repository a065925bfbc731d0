/* heads.c - see heads.h. Each text is run once, and the measures are computed from the pattern as
 * the trace emits it, or for short texts that run together, by stream/many.h. Probes are items. */
#include "questions/heads.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "measures/analysis_internal.h"
#include "measures/head_cards_internal.h"
#include "measures/head_kind.h"
#include "measures/head_pictures.h"
#include "params/param_internal.h"
#include "questions/examples_internal.h"
#include "questions/frame.h"
#include "questions/head_effects.h"
#include "questions/parts.h"
#include "questions/questions.h"
#include "questions/questions_internal.h"
#include "questions/word_pairs.h"
#include "run/host_internal.h"
#include "run/reply.h"
#include "stream/items_internal.h"
#include "stream/many.h"
#include "tables/table_internal.h"
#include "tensors/view.h"
#include "tokenizer/tokenizer_internal.h"
#include "trace/capture.h"
#include "trace/places_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns, in the order documented in heads.h: measures, then the type, then the optional
 * ones. */
enum {
    STACK,
    LAYER,
    HEAD,
    KV_HEAD,
#define OF_MEASURE(id, ...) OF_##id,
    ATTN_MEASURE_MAP(OF_MEASURE)
#undef OF_MEASURE
        TYPE,
    MUL, /* with a given pattern */
    ABS,
    DIRECT, /* with effects */
    ABLATED,
    PATCHED,
    PATCHED_SHARE,
    WEIGHT, /* with from and to */
    PERCENTILE,
    CHANGE,
    BOTTOM_ROW, /* with is_localized */
    KEPT,
    RANK,
    SELECTED,
    MOST, /* the class of the largest share of what is not parked */
    SHARE,
    PARK,
    REST,                            /* with has_shares, for each class of enum attn_mix_class */
    RIGHT = REST + ATTN_N_MIX_CLASS, /* over items */
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_HEAD = 512,
    SHOW_TYPE = 2,
    SHOW_PATTERN = 4,
    SHOW_WEIGHT = 8,
    SHOW_PERCENTILE = 16,
    SHOW_EFFECT = 32,
    SHOW_RIGHT = 64,
    SHOW_LOCALIZED = 128,
    SHOW_SELECTED = 256,
    SHOW_DIRECT = 1024,
    SHOW_ABLATED = 2048,
    SHOW_PATCHED = 4096,
    SHOW_MEASURES = 8192
};

#define SHOW_SHARES (UINT64_C(1) << 63) /* above those of the measures */

/* Entropies and distances are unbounded; shares are 0 to 1. */
#define MEASURE_RANGE(id, is_count)                                                                \
    ((is_count) || ATTN_MEASURE_##id == ATTN_MEASURE_ENTROPY ||                                    \
             ATTN_MEASURE_##id == ATTN_MEASURE_DISTANCE ||                                         \
             ATTN_MEASURE_##id >= ATTN_MEASURE_SPATIAL_ENTROPY ||                                  \
             ATTN_MEASURE_##id == ATTN_MEASURE_PATCH_DISTANCE                                      \
         ? ATTN_RANGE_POSITIVE                                                                     \
         : ATTN_RANGE_SHARE)
#define MEASURE_TRAITS(id, is_count)                                                               \
    ((is_count) ? ATTN_TRAIT_COUNT                                                                 \
     : ATTN_MEASURE_##id == ATTN_MEASURE_ENTROPY_NORM ||                                           \
             ATTN_MEASURE_##id == ATTN_MEASURE_DIAGONAL                                            \
         ? ATTN_TRAIT_LINEAR                                                                       \
         : 0)
#define MEASURE_COLUMN(id, number, label, metric, which, of, words, is_count, help)                \
    [OF_##id] = {.name = (label),                                                                  \
                 .type = (is_count) ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL,                        \
                 .quantity = (words),                                                              \
                 .unit = (of),                                                                     \
                 .notation = ATTN_NOTATION_FIXED,                                                  \
                 .digits = 4,                                                                      \
                 .range = MEASURE_RANGE(id, is_count),                                             \
                 .traits = MEASURE_TRAITS(id, is_count),                                           \
                 .shown = ATTN_MEASURE_BIT(ATTN_MEASURE_##id) * SHOW_MEASURES},

#define REST_COLUMN(class, name)                                                                   \
    [REST + ATTN_MIX_##class] = ATTN_COLUMN_QUANTITY(                                              \
        "rest_" name, 4, NULL, SHARE, "share in the weight beside parks: " name,                   \
        .traits = ATTN_TRAIT_DERIVED, .shown = SHOW_SHARES)

static const struct attn_column columns[N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEAD),
    [KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER, .shown = SHOW_HEAD),
    [TYPE] = ATTN_COLUMN_WITH("type", TEXT, DERIVED, .shown = SHOW_TYPE),
    [MOST] = ATTN_COLUMN_WITH("most", TEXT, DERIVED, .shown = SHOW_TYPE),
    [SHARE] = ATTN_COLUMN_QUANTITY("share", 4, NULL, SHARE, "share in the weight beside parks",
                                   .traits = ATTN_TRAIT_DERIVED, .shown = SHOW_TYPE),
    [PARK] =
        ATTN_COLUMN_QUANTITY("park", 4, NULL, SHARE, "weight that is parked", .shown = SHOW_TYPE),
    REST_COLUMN(SELF, "self"),
    REST_COLUMN(PREVIOUS, "previous"),
    REST_COLUMN(NEXT, "next"),
    REST_COLUMN(INDUCTION, "induction"),
    REST_COLUMN(DUPLICATE, "duplicate"),
    REST_COLUMN(MARKS, "marks"),
    REST_COLUMN(START, "start"),
    REST_COLUMN(NEAR, "near"),
    REST_COLUMN(SENTENCE, "sentence"),
    REST_COLUMN(ELSEWHERE, "elsewhere"),
    [MUL] = ATTN_COLUMN_REAL("mul", 4, NULL, SIGNED, .shown = SHOW_PATTERN),
    [ABS] = ATTN_COLUMN_REAL("abs", 4, NULL, SIGNED, .shown = SHOW_PATTERN),
    [DIRECT] =
        ATTN_COLUMN_QUANTITY("direct", 4, NULL, SIGNED, "part of the logit", .shown = SHOW_DIRECT),
    [ABLATED] =
        ATTN_COLUMN_QUANTITY("ablated", 4, NULL, SIGNED, "change of @", .shown = SHOW_ABLATED),
    [PATCHED] =
        ATTN_COLUMN_QUANTITY("patched", 4, NULL, SIGNED, "change of @", .shown = SHOW_PATCHED),
    [PATCHED_SHARE] = ATTN_COLUMN_WITH("patched_share", REAL, DERIVED, .digits = 4,
                                       .notation = ATTN_NOTATION_FIXED,
                                       .quantity = "share of @ restored", .shown = SHOW_PATCHED),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight", .shown = SHOW_WEIGHT),
    [PERCENTILE] = ATTN_COLUMN_RATE("percentile", 4, NULL, 0, .shown = SHOW_PERCENTILE),
    [CHANGE] = ATTN_COLUMN_QUANTITY("change", 4, NULL, SIGNED, "change of @", .shown = SHOW_EFFECT),
    [BOTTOM_ROW] = ATTN_COLUMN_REAL("bottom_row", 2, NULL, SHARE, .shown = SHOW_LOCALIZED),
    [KEPT] = ATTN_COLUMN_REAL("kept", 2, NULL, SHARE, .shown = SHOW_LOCALIZED),
    [RANK] = ATTN_COLUMN_REAL("rank", 2, NULL, POSITIVE, .shown = SHOW_LOCALIZED),
    [SELECTED] = ATTN_COLUMN_RATE("selected", 4, "share of items whose answer the head points at",
                                  0, .shown = SHOW_SELECTED),
    [RIGHT] = ATTN_COLUMN_RIGHT(SHOW_RIGHT),
    ATTN_MEASURE_MAP(MEASURE_COLUMN)[ROW_TYPE] = ATTN_COLUMN_ROW_TYPE};

static const int column_of[ATTN_N_MEASURE] = {
#define COLUMN_OF(id, ...) [ATTN_MEASURE_##id] = OF_##id,
    ATTN_MEASURE_MAP(COLUMN_OF)
#undef COLUMN_OF
};

enum {
    DEFAULT_LENGTH = 50,
    MOST_ROWS = 1024, /* maximum rows of a long text per feed */
};

/* The comparison of a head with the given pattern. */
struct match {
    double product, weight, difference; /* sums over the rows of A P, of A, and of |A - P| */
};

struct heads {
    struct attn_frame frame;
    const struct attn_heads_args *args;
    bool has_pairs;         /* `from` and `to` are given */
    attn_measure_set shown; /* set of ATTN_MEASURE_BIT: measures that have a column */
    struct attn_head_mixes *mixing, *of_encoder_mixing; /* own; set if types are shown, of a text */
    struct attn_head_mix *mixes;                        /* [parts.n] likewise */
    /* encoder of a model with two stacks, whose heads come first; NULL if only heads that read the
     * text are measured */
    const struct attn_config *encoder;
    struct attn_parts parts;   /* owns; the heads that the request selects */
    struct match *matches;     /* [parts.n] if a pattern is given */
    double *found;             /* [parts.n, N_COLUMN] values of the text; NaN: missing */
    struct attn_answer answer; /* with has_effect */
    double whole;              /* with PATCHED: difference of both texts */
    bool has_right;            /* the column `right` is shown */
    /* the sums over the rows of a text that runs by itself */
    struct attn_measure_group group;      /* owns */
    struct attn_measure_group of_encoder; /* owns; of the heads of the encoder */
    struct attn_selection *own_encoder;   /* owns; the selection of these heads, or NULL */
    struct attn_word_pairs *pairs;        /* owns; set if `from` and `to` are given */
    float *row;                           /* [T]; set if a pattern is given */
    struct attn_picture_maps *maps;       /* owns; of a text with a picture */
    double drop_sinks;                    /* of the request, whose own maps are not made */
    struct attn_card_reading *card;       /* owns; set if cards are filled */
    struct attn_parks *parks[2]; /* own; of text and encoder, if they are left out; or NULL */
    struct attn_view *view;      /* owns; leaves them out of all measures; or NULL */
    struct attn_labels labels;   /* of the view */
    attn_trace_fn of_view;       /* gets its events */
};

/* --- The question ----------------------------------------------------------------------------- */

/* Parses the next ":N" at *AT into NUMBER. At the end of the text NUMBER keeps its value. Returns
 * false on a syntax error. */
static bool read_number(const char **at, int64_t min, int64_t max, int64_t *number)
{
    const char *begin = *at + 1;
    size_t size;

    if (**at == '\0')
        return true;
    if (**at != ':')
        return false;
    size = strcspn(begin, ":");
    *at = begin + size;
    return attn_parse_int(begin, size, min, max, number);
}

static enum attn_status read_probe(const struct attn_param *param, void *home, const char *label,
                                   const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    int64_t length = 0, repeats = 0, seed = 0;
    const char *at = text + strcspn(text, ":");

    if (attn_param_find_word(param->words, text, (size_t)(at - text)) < 0 ||
        !read_number(&at, 1, INT32_MAX, &length) || !read_number(&at, 2, INT32_MAX, &repeats) ||
        !read_number(&at, 0, INT64_MAX, &seed) || *at)
        return attn_param_refuse(err, label, text,
                                 "induction[:LEN[:REPEATS[:SEED]]], with LEN from 1 and REPEATS "
                                 "from 2");
    args->has_probe = true;
    args->probe_length = (size_t)length;
    args->probe_repeats = (size_t)repeats;
    args->probe_seed = (uint64_t)seed;
    return ATTN_OK;
}

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    char *rest;
    enum attn_status status = ATTN_OK;

    (void)param;
    (void)label;
    ATTN_TRY(ATTN_ALLOC(rest, strlen(text) + 1, err));
    attn_head_effects_read(text, &args->effects, rest);
    if (*rest || args->effects == 0)
        status =
            attn_error_at(attn_measures_parse(rest, &args->measures, err), ATTN_STAGE_OPTIONS, err);
    attn_free(rest);
    return status;
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM(LIST, "heads", "SPEC", struct attn_request, selection.heads,
               "the heads: 2.5,3.* or L5H1; default: all", .home = ATTN_PARAM_OF_REQUEST),
    ATTN_PARAM(
        OWN, "probe", "induction[:LEN[:REPEATS[:SEED]]]", struct attn_heads_args, has_probe,
        "instead of a text, take LEN random tokens, repeated: the heads that find what "
        "followed the first time are induction heads; default: min(50, half the "
        "context, all tokens):2:0. A model whose texts begin with a token such as <bos> gets "
        "it in front of them; `special_tokens off` leaves it out",
        .words = "induction", .read = read_probe),
    ATTN_PARAM(COUNT, "repeats", "N", struct attn_heads_args, probe_repeats,
               "repeat the tokens of `probe` N times; default: 2", .least = 2,
               .traits = ATTN_PARAM_NO_OPTION),
    ATTN_PARAM(SEED, "seed", "SEED", struct attn_heads_args, probe_seed, "of the tokens of `probe`",
               .traits = ATTN_PARAM_NO_OPTION),
    ATTN_PARAM(COUNT, "runs", "N", struct attn_heads_args, n_probe,
               "make N probes with consecutive seeds, and print means and standard deviations",
               .least = 1, .most = INT32_MAX),
    ATTN_PARAM(
        OWN, "measures", "LIST", struct attn_heads_args, measures,
        "print these measures, as in entropy,punctuation, or all; default: all but "
        "punctuation, next, separator and the counts of these. weight: that from `from` "
        "to `to` alone, without the time for the others. Beside others, what heads do for an "
        "answer: direct, what `attn-cli attribute` finds; ablated, as `attn-cli ablate`; "
        "patched, as `attn-cli patch` with site z, and weight",
        .read = read_measures),
    ATTN_PARAM(INPUT, "corrupted", "TEXT", struct attn_heads_args, corrupted,
               "for `measures` patched: the same text with a difference, as for `attn-cli patch`; "
               "TEXT is the clean one",
               .second = offsetof(struct attn_heads_args, corrupted.n_text)),
    ATTN_PARAM(ARRAY, "pattern", "FILE.npy", struct attn_heads_args, pattern,
               "compare patterns with an array P [T, T] of your own: mul, the share of the "
               "weight that lies on P, and abs, 1 minus the mean difference of a row from P",
               .least = 2, .traits = ATTN_PARAM_IS_FILE),
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
    ATTN_PARAM_KEPT(FLAG, "pairs", NULL,
                    "instead of measures, print pairs of heads, the most alike first, with js: the "
                    "Jensen-Shannon divergence of their rows, mean over the rows. A small js does "
                    "not say that the heads read and write the same things. `similarity` without a "
                    "value is the old name of `pairs`",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(CHOICE, "by", NULL, struct attn_heads_args, by,
               "head (default), or layer: of a picture beside a text, one row per layer, with "
               "the means over its heads",
               .words = "head|layer"),
    ATTN_PARAM(FLAG, "localize", NULL, struct attn_heads_args, is_localized,
               "of a picture beside a text: rank the heads that look at one place of it (Kang et "
               "al. 2503.06287); kept are heads with a large share of it, from layer 2 on, that "
               "do not look at its last row"),
    ATTN_PARAM(COUNT, "keep", "N", struct attn_heads_args, n_kept,
               "with `localize` over `items`, a head is selected in an item if its rank is at "
               "most N; default: 10",
               .least = 1),
    ATTN_PARAM(CHOICE, "tower", NULL, struct attn_heads_args, tower,
               "of a decoder that reads pictures beside a text: measure the decoder (text, "
               "default), or its tower, which reads `image` alone (image)",
               .words = "text|image"),
    ATTN_PARAM(REAL, "threshold", "X", struct attn_heads_args, threshold,
               "the share of the weight beside parks above which one class names a head; "
               "default: 0.5"),
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
    {&attn_target_params, offsetof(struct attn_heads_args, answer)},
    {&attn_foil_params, offsetof(struct attn_heads_args, answer)},
    {&attn_at_params, offsetof(struct attn_heads_args, answer)},
    {&attn_metric_params, offsetof(struct attn_heads_args, answer)},
    {&attn_sink_params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "heads|probe|items|measures|pattern|from|to|effect|threshold|renormalize",
     .excludes = "pairs",
     .message = "`pairs` and @ do not go together: it compares the heads of one text"},
    {.given = "threshold:0", .message = "@ is 0, expected above 0 and at most 1"},
    {.given = "keep", .needs = "localize"},
    {.given = "measures|from|to|pattern|effect|threshold|by:layer", .excludes = "localize"},
    {.given = "threshold|shares|by:layer|localize", .excludes = "renormalize"},
    {.given = "shares", .excludes = "pairs|by:layer|localize"},
    {.given = "runs", .needs = "probe"},
    {.given = "special",
     .excludes = "probe",
     .message = "@ is about a text, and # is given instead of one"},
    {.given = "repeats|seed", .when = "keywords", .needs = "probe"},
    {.given = "target|target_id|foil|foil_id|at|metric",
     .needs = "effect|measures",
     .message = "`target`, `foil`, `at` and `metric` need `effect`"},
    {.given = "corrupted", .excludes = "items"},
};

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure procedure;

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
        "`measures punctuation` shows how much a head looks at commas, full stops and the\n"
        "like.\n"
        "\n"
        "The numbers say where a head looks in this text. They do not say what it takes\n"
        "from there, nor whether that matters: see `effect` and `attn-cli ablate`.\n"
        "Over `items` the numbers are means, and the type follows from the means. Items\n"
        "may name the words to look between (from, to), and with `effect` a target.\n"
        "'attn-cli help measures' explains each of them.\n"
        "\n"
        "`figure map` draws a cell for each head: its type, and all its weight as a bar,\n"
        "the parked part pale. Heads that share keys and values stand together.\n"
        "\n"
        "`html` over `items` is an atlas: points by any two measures, which open cards:\n"
        "five texts in which a head looks most strongly at another token than the first,\n"
        "five in the middle and five drawn by chance, distances, and the tokens that it\n"
        "writes. All heads share one pass over the texts. Only `effect` costs more there:\n"
        "a run for each head and text.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_heads_args, .size = sizeof(struct attn_heads_args)),
    .procedure = &procedure,
};

/* Whether only `weight` is measured, which saves the time for measures and percentiles. */
static bool is_weight(const struct attn_heads_args *args)
{
    return args->effects == ATTN_HEADS_WEIGHT && args->measures == 0;
}

/* Whether the table of ARGS has types. */
static bool has_types(const struct attn_heads_args *args)
{
    return !is_weight(args) && !args->is_localized && args->by != ATTN_HEADS_BY_LAYER &&
           !args->renormalizes;
}

/* Whether the answer of the model is measured. */
static bool has_answer(const struct attn_heads_args *args)
{
    return args->has_effect || (args->effects & ATTN_HEADS_OF_ANSWER) != 0;
}

static bool has_percentile(const struct attn_heads_args *args)
{
    return !(args->effects & ATTN_HEADS_WEIGHT);
}

/* Whether each head is switched off in turn. */
static bool has_ablation(const struct attn_heads_args *args)
{
    return args->has_effect || (args->effects & ATTN_HEADS_ABLATED) != 0;
}

/* --- One text --------------------------------------------------------------------------------- */

static void match_rows(const struct heads *heads, const struct attn_trace_event *event)
{
    const size_t n = heads->args->pattern->shape[1];
    struct match *match = &heads->matches[attn_parts_find(&heads->parts, &event->at)];

    for (size_t r = 0; r < event->n_row; r++) {
        const float *wanted = heads->args->pattern->data + (event->row0 + r) * n;

        attn_event_copy_row(event, r, heads->row, n);
        for (size_t key = 0; key < n; key++) {
            const double a = (double)heads->row[key], p = (double)wanted[key];

            match->product += a * p;
            match->weight += a;
            match->difference += fabs(a - p);
        }
    }
}

static void add_to_card(const struct heads *heads, const struct attn_trace_event *event)
{
    const struct attn_config *config =
        event->at.stack == ATTN_STACK_ENCODER ? heads->encoder : heads->frame.config;
    const size_t head = attn_head_cards_find(heads->args->cards, &event->at);

    if (head < SIZE_MAX)
        attn_card_reading_add(heads->card, head,
                              event->at.head / (int)(config->n_head / config->n_kv_head),
                              event->at.stack != ATTN_STACK_ENCODER &&
                                  attn_location_is_cross(
                                      attn_selection_dims(heads->frame.run->selection), &event->at),
                              event);
}

/* Measures the rows of an event (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct heads *heads = user;
    const bool is_encoder = event->at.stack == ATTN_STACK_ENCODER;

    if (heads->maps)
        attn_picture_maps_add(heads->maps, event);
    if (heads->mixing && (!is_encoder || heads->of_encoder_mixing))
        attn_head_mixes_add(is_encoder ? heads->of_encoder_mixing : heads->mixing, event);
    if (event->at.site == ATTN_SITE_RESID_PRE)
        return ATTN_OK;
    if (event->at.site == ATTN_SITE_V)
        return is_encoder ? ATTN_OK : attn_card_reading_keep(heads->card, event, err);
    attn_measure_group_add(is_encoder ? &heads->of_encoder : &heads->group, event);
    if (heads->card)
        add_to_card(heads, event);
    if (heads->row && !is_encoder)
        match_rows(heads, event);
    if (heads->pairs && !is_encoder)
        attn_word_pairs_add(heads->pairs, event);
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

/* Counts pairs of words in the second pass (attn_trace_fn). */
static enum attn_status on_pairs(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct heads *heads = user;

    (void)err;
    if (event->at.site == ATTN_SITE_PATTERN)
        attn_word_pairs_count(heads->pairs, event);
    return ATTN_OK;
}

/* Creates the maps of RUN, over a picture and a text, whose rows are the positions of the list
 * FROM; NULL: those that predict the answer. The caller frees *maps. */
static enum attn_status begin_maps(const struct attn_run *run, const struct attn_number_list *from,
                                   double drop_sinks, struct attn_picture_maps **maps,
                                   struct attn_error *err)
{
    struct attn_picture_maps_args args = {
        .text = &run->text, .selection = run->selection, .drop_sinks = drop_sinks};
    struct attn_number_list rows = from ? *from : (struct attn_number_list){0};
    struct attn_selection *chosen = NULL;
    char *numbers = NULL;
    enum attn_status status = ATTN_OK;

    if (attn_number_list_is_given(&rows)) {
        if (rows.n == 0)
            ATTN_TRY(attn_error_at(
                attn_error_in(attn_positions_number(&run->text, rows.text, &numbers, err), "from",
                              err),
                ATTN_STAGE_OPTIONS, err));
        rows.text = numbers;
        status = attn_selection_copy(run->selection, &chosen, err);
        if (status == ATTN_OK)
            status = attn_selection_choose_queries(chosen, ATTN_STACK_ONLY, &rows, err);
        args.selection = chosen;
    }
    if (status == ATTN_OK)
        status = attn_picture_maps_create(&args, maps, err);
    attn_selection_free(chosen);
    attn_free(numbers);
    return status;
}

/* Starts the sums over the rows of a text. */
static enum attn_status start_text(struct heads *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    const struct attn_run *run = frame->run;
    const struct attn_ndarray *pattern = heads->args->pattern;
    const struct attn_metric_settings settings = attn_run_metric_settings(run);
    const struct attn_sequence *source = &run->source;
    const struct attn_metric_settings of_source = {.n_recalled = 1,
                                                   .ids = source->ids,
                                                   .tokens = source->tokens.bytes,
                                                   .token_sizes = source->tokens.sizes,
                                                   .n_token = source->n,
                                                   .key_mask = source->key_mask};
    const size_t n = run->text.n;

    if (pattern && (pattern->rank != 2 || pattern->shape[0] != n || pattern->shape[1] != n)) {
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "'%s' is not [%zu, %zu], a cell for each pair of tokens",
                           attn_quote_string(pattern->name).text, n, n);
    }
    ATTN_TRY(attn_measure_group_create(heads->shown, &settings, run->selection, frame->host->pool,
                                       &heads->group, err));
    if (heads->mixes)
        ATTN_TRY(attn_head_mixes_create(&settings, run->selection, &heads->mixing, err));
    if (heads->encoder) {
        ATTN_TRY(attn_selection_copy_stack(run->selection, ATTN_STACK_ENCODER, &heads->own_encoder,
                                           err));
        ATTN_TRY(attn_measure_group_create(heads->shown, &of_source, heads->own_encoder,
                                           frame->host->pool, &heads->of_encoder, err));
        if (heads->mixes)
            ATTN_TRY(attn_head_mixes_create(&of_source, heads->own_encoder,
                                            &heads->of_encoder_mixing, err));
    }
    if (run->text.seen.n_picture > 0)
        ATTN_TRY(begin_maps(run, heads->has_pairs ? NULL : &heads->args->from, heads->drop_sinks,
                            &heads->maps, err));
    if (heads->has_pairs)
        ATTN_TRY(
            attn_word_pairs_create(run, &heads->args->from, &heads->args->to, &heads->pairs, err));
    if (heads->args->cards)
        ATTN_TRY(attn_card_reading_create(heads->args->cards, n > source->n ? n : source->n,
                                          source->key_mask, &heads->card, err));
    if (pattern) {
        heads->row = attn_frame_alloc(frame, n, sizeof *heads->row);
        heads->matches = attn_frame_alloc(frame, heads->parts.n, sizeof *heads->matches);
    }
    return attn_frame_memory(frame, err);
}

/* Computes what is measured of the picture in the text, in all heads. */
static enum attn_status find_pictures(struct heads *heads, struct attn_error *err)
{
    static const int shares[] = {
        [ATTN_SHARE_OTHER] = OF_OTHER,       [ATTN_SHARE_PICTURE] = OF_PICTURE,
        [ATTN_SHARE_QUESTION] = OF_QUESTION, [ATTN_SHARE_ANSWER] = OF_ANSWER,
        [ATTN_SHARE_SINKS] = OF_SINKS,
    };
    /* the share of the picture from which on heads are kept, in JSON */
    static const struct attn_column about_localized = ATTN_COLUMN_REAL("threshold", 4, NULL, SHARE);
    const size_t n = heads->parts.n, most = heads->args->n_kept > 0 ? heads->args->n_kept : 10;
    struct attn_head_picture *pictures = attn_frame_alloc(&heads->frame, n, sizeof *pictures);
    struct attn_location *ats = attn_frame_alloc(&heads->frame, n, sizeof *ats);
    double threshold;

    ATTN_TRY(attn_frame_memory(&heads->frame, err));
    for (size_t i = 0; i < n; i++) {
        ats[i] = heads->parts.items[i].at;
        ATTN_TRY(attn_head_pictures_find(heads->maps, &ats[i], &pictures[i], err));
    }
    ATTN_TRY(attn_head_pictures_rank(ats, pictures, n, &threshold, err));
    for (size_t i = 0; i < n; i++) {
        double *found = heads->found + i * N_COLUMN;

        for (size_t k = 0; k < ATTN_N_SHARE; k++)
            found[shares[k]] = pictures[i].shares[k];
        found[OF_SPATIAL_ENTROPY] = pictures[i].entropy;
        found[OF_BLOBS] = pictures[i].n_blob;
        found[BOTTOM_ROW] = pictures[i].bottom > 0.05;
        found[KEPT] = pictures[i].is_kept;
        found[RANK] = pictures[i].rank > 0 ? pictures[i].rank : (double)NAN;
        found[SELECTED] = pictures[i].rank > 0 && pictures[i].rank <= (double)most;
    }
    if (!heads->args->is_localized || heads->frame.item)
        return ATTN_OK;
    const struct attn_cell cell = attn_cell_real(threshold);

    return attn_table_set_about(heads->frame.rows.table, &about_localized, &cell, 1, err);
}

static void forget_found(struct heads *heads)
{
    for (size_t i = 0; i < heads->parts.n * N_COLUMN; i++)
        heads->found[i] = (double)NAN;
}

/* The view that leaves parks out. */
static const struct attn_picture_options parks_left_out = {.hides = ATTN_HIDDEN_SINKS,
                                                           .renormalizes = true};

/* Takes the parks, which are known, before the first event. */
static enum attn_status on_parks(void *user, struct attn_error *err)
{
    struct heads *heads = user;
    const bool *is_parked[2] = {attn_parks_find(heads->parks[0]),
                                heads->parks[1] ? attn_parks_find(heads->parks[1]) : NULL};

    if (heads->card)
        attn_card_reading_park(heads->card, is_parked);
    attn_view_free(heads->view);
    heads->view = NULL;
    if (!heads->args->renormalizes)
        return ATTN_OK;
    heads->labels = *attn_run_labels(heads->frame.run);
    heads->labels.parks = is_parked[0];
    return attn_view_create(&heads->labels, &parks_left_out, heads->of_view, heads, &heads->view,
                            err);
}

static enum attn_status on_viewed(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    return attn_view_event(((struct heads *)user)->view, event, err);
}

/* Makes the pass WATCH, whose events ON_EVENT gets without parks if they are left out. */
static enum attn_status watch_rows(struct heads *heads, struct attn_watch *watch,
                                   attn_trace_fn on_event, struct attn_error *err)
{
    const bool has_parks = heads->parks[0] != NULL;

    heads->of_view = on_event;
    watch->on_event = heads->args->renormalizes ? on_viewed : on_event;
    watch->user = heads;
    if ((heads->args->renormalizes || heads->card) && !has_parks) {
        watch->parks = heads->parks;
        watch->on_parks = on_parks;
    } else {
        watch->parks = NULL;
    }
    if (has_parks)
        ATTN_TRY(on_parks(heads, err));
    return attn_watch(heads->frame.run, watch, err);
}

/* Computes the values of each head in one or two passes over the text. */
static enum attn_status read_text(struct heads *heads, struct attn_error *err)
{
    const struct attn_run *run = heads->frame.run;
    struct attn_watch watch = {.selection = run->selection,
                               .of = heads->encoder ? ATTN_WATCH_BOTH : ATTN_WATCH_TEXT,
                               .n_piece = MOST_ROWS,
                               /* the first run for the effects sends the same notes */
                               .is_silent = has_ablation(heads->args)};

    ATTN_TRY(start_text(heads, err));
    ATTN_TRY(watch_rows(heads, &watch, heads->args->renormalizes ? on_narrowed : on_rows, err));
    watch.of = ATTN_WATCH_TEXT;
    watch.is_silent = true;
    if (heads->pairs && has_percentile(heads->args))
        ATTN_TRY(watch_rows(heads, &watch, on_pairs, err));
    forget_found(heads);
    for (size_t i = 0; i < heads->parts.n; i++) {
        const struct attn_location *at = &heads->parts.items[i].at;
        const struct attn_measure_group *group =
            at->stack == ATTN_STACK_ENCODER ? &heads->of_encoder : &heads->group;
        double *found = heads->found + i * N_COLUMN;

        for (int m = 0; m < ATTN_N_MEASURE; m++)
            if ((heads->shown & ATTN_MEASURE_BIT(m)) != 0)
                found[column_of[m]] = attn_measure_group_find(group, (enum attn_measure)m, at);
        if (heads->mixing)
            attn_head_mixes_find(at->stack == ATTN_STACK_ENCODER ? heads->of_encoder_mixing
                                                                 : heads->mixing,
                                 at, &heads->mixes[i]);
        if (heads->matches) {
            const struct match *match = &heads->matches[i];

            found[MUL] = match->product / match->weight;
            found[ABS] = 1 - match->difference / (double)run->text.n;
        }
        if (heads->pairs)
            attn_word_pairs_find(heads->pairs, at, &found[WEIGHT], &found[PERCENTILE]);
    }
    return heads->maps ? find_pictures(heads, err) : ATTN_OK;
}

/* Adds the text to the cards. */
static enum attn_status add_card(const struct heads *heads, struct attn_error *err)
{
    struct attn_card_text text = {.number = 0};
    enum attn_status status =
        attn_card_text_read(heads->frame.run, heads->frame.item, true, &text, err);

    if (status == ATTN_OK)
        status = attn_head_cards_add(heads->args->cards, heads->card, &text, err);
    attn_card_text_release(&text);
    return status;
}

/* --- Probes ----------------------------------------------------------------------------------- */

/* Repeated sequences of random ids: items. */
struct probes {
    int32_t *ids;  /* [n_id] owns; the ids from which to draw */
    size_t *order; /* [n_id] owns; scratch */
    size_t n_id, length, repeats;
    size_t n_front; /* 1 if BOS is in front of the random tokens, else 0 */
    int32_t bos;
    uint64_t seed;
    struct attn_items *items; /* owns */
    struct attn_item *first;  /* owns; or NULL */
    struct attn_study_args study;
};

static void release_probes(struct probes *probes)
{
    attn_item_free(probes->first);
    attn_items_free(probes->items);
    attn_free(probes->order);
    attn_free(probes->ids);
}

/* Finds the token that TOKENIZER puts in front of each text that a decoder reads. Models that were
 * trained with it park weight there, and without it their heads look elsewhere. */
static enum attn_status find_bos(const struct attn_model *model,
                                 const struct attn_tokenizer *tokenizer,
                                 const struct attn_request *request, struct probes *probes,
                                 struct attn_error *err)
{
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const bool is_off = request->reading.special_tokens == ATTN_SPECIAL_TOKENS_OFF;
    struct attn_encoding encoding = {0};

    if (tokenizer && !attn_model_config(model)->is_encoder)
        ATTN_TRY(attn_tokenizer_encode(tokenizer, "", 0, &options, &encoding, err));
    if (is_off && encoding.n_front == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special_tokens` is off, and a probe of '%s' has no special token "
                           "that it could leave out",
                           attn_quote_string(attn_model_name(model)).text);
    probes->n_front = encoding.n_front > 0 && !is_off;
    probes->bos = probes->n_front > 0 ? encoding.ids[0] : 0;
    attn_encoding_release(&encoding);
    return ATTN_OK;
}

/* Lists the ids from which to draw, and determines the size of a probe. */
static enum attn_status begin_probes(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_heads_args *args, struct probes *probes,
                                     struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const size_t n_token = attn_model_config(model)->n_token;
    size_t n_ctx = attn_model_config(model)->n_ctx, half;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const struct attn_tokenizer *tokenizer;
    size_t most;

    ATTN_TRY(ATTN_ALLOC(probes->ids, n_token, err));
    ATTN_TRY(ATTN_ALLOC(probes->order, n_token, err));
    attn_host_tokenizer(host, &tokenizer, NULL);
    ATTN_TRY(
        attn_error_at(find_bos(model, tokenizer, request, probes, err), ATTN_STAGE_INPUT, err));
    n_ctx -= probes->n_front;
    half = n_ctx / 2;
    for (size_t id = 0; id < n_token; id++)
        if (!tokenizer || (id < attn_tokenizer_n_vocab(tokenizer) &&
                           !attn_tokenizer_is_special(tokenizer, (int32_t)id)))
            probes->ids[probes->n_id++] = (int32_t)id;
    probes->seed = args->probe_seed;
    most = probes->n_id > 0 && probes->n_id < half ? probes->n_id : half;
    probes->length = args->probe_length > 0  ? args->probe_length
                     : most < DEFAULT_LENGTH ? most
                                             : DEFAULT_LENGTH;
    probes->repeats = args->probe_repeats > 0 ? args->probe_repeats : 2;
    if (probes->length > probes->n_id)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a probe draws %zu different tokens, '%s' has %zu", probes->length,
                           name.text, probes->n_id);
    if (probes->length == 0 || probes->repeats > n_ctx / probes->length)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "a probe of %zu tokens, %zu times, is too long for '%s', which takes %zu",
            probes->length, probes->repeats, name.text, n_ctx);
    return ATTN_OK;
}

/* Draws the ids of a probe (attn_item_make_fn). */
static enum attn_status draw_probe(void *user, struct attn_item *item, struct attn_error *err)
{
    const struct probes *probes = user;
    const size_t first = probes->n_front, n = first + probes->length * probes->repeats;
    int32_t *ids = attn_store_take(&item->store, n * sizeof *ids, err);
    struct attn_random random;

    if (!ids)
        return ATTN_NO_MEMORY;
    attn_random_seed(&random, probes->seed + item->number);
    attn_random_permutation(&random, probes->order, probes->n_id);
    ids[0] = probes->bos;
    for (size_t k = first; k < n; k++)
        ids[k] = probes->ids[probes->order[(k - first) % probes->length]];
    item->input = (struct attn_input){.ids = ids, .n_id = n};
    return ATTN_OK;
}

/* Opens the items PROBES. */
static enum attn_status open_probes(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_heads_args *args, struct probes *probes,
                                    struct attn_error *err)
{
    static const struct attn_input nothing;
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(begin_probes(host, request, args, probes, err));
    options.inputs = &nothing;
    options.n_input = args->n_probe > 0 ? args->n_probe : 1;
    ATTN_TRY(attn_items_open(&options, &probes->items, err));
    attn_items_make(probes->items, draw_probe, probes);
    probes->study = ATTN_STUDY_ARGS_DEFAULT;
    probes->study.max_failed = 0;
    probes->study.items = probes->items;
    return ATTN_OK;
}

/* --- Many texts ------------------------------------------------------------------------------- */

/* Copies the measures of RESULT to the values of the text. */
static void take_measures(struct heads *heads, const struct attn_item_result *result)
{
    /* [n_layer * n_head] values per measure, one measure after another */
    const double *exact = result->exact;
    const struct attn_dims *dims = attn_selection_dims(result->labels->selection);

    forget_found(heads);
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if ((heads->shown & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        for (size_t i = 0; i < heads->parts.n; i++)
            heads->found[i * N_COLUMN + (size_t)column_of[m]] =
                exact[attn_head_index(dims, &heads->parts.items[i].at)];
        exact += dims->n_layer * dims->n_head;
    }
    for (size_t i = 0; i < heads->parts.n && heads->mixes; i++)
        heads->mixes[i] = result->mixes[attn_head_index(dims, &heads->parts.items[i].at)];
}

/* --- The effect ------------------------------------------------------------------------------- */

/* Switches head number I off (attn_part_edit_fn). */
static enum attn_status add_edit(void *user, size_t i, struct attn_part_edits *edits,
                                 struct attn_error *err)
{
    const struct heads *heads = user;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at = heads->parts.items[i].at;
    edit.at.site = ATTN_SITE_Z;
    return attn_part_edits_add(edits, &edit, err);
}

static enum attn_status add_effects(struct heads *heads, struct attn_error *err)
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
        double *found = heads->found + i * N_COLUMN;

        found[CHANGE] = found[ABLATED] = reply->value - frame->trials.base.value;
        if (heads->has_right && right.type != ATTN_VALUE_MISSING)
            found[RIGHT] = right.real;
    }
    return ATTN_OK;
}

/* Sets the effects that other questions find. */
static enum attn_status add_other_effects(struct heads *heads, struct attn_error *err)
{
    const size_t n = heads->parts.n;
    struct attn_head_effect *effects = attn_frame_alloc(&heads->frame, n, sizeof *effects);

    ATTN_TRY(attn_frame_memory(&heads->frame, err));
    ATTN_TRY(attn_head_effects_find(&heads->frame, heads->args, &heads->parts, effects,
                                    &heads->whole, err));
    for (size_t i = 0; i < n; i++) {
        double *found = heads->found + i * N_COLUMN;

        found[DIRECT] = effects[i].direct;
        found[PATCHED] = effects[i].patched;
        found[PATCHED_SHARE] = effects[i].share;
    }
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

enum { OF_HEADS, OF_LAYERS };

static const struct attn_table_view views[] = {
    [OF_LAYERS] = {.rows = ATTN_ROLE_LAYER,
                   .columns = ATTN_ROLE_LAYER,
                   .values = ATTN_TABLE_COLUMN(OF_PICTURE),
                   .traits = ATTN_VIEW_SEQUENCE,
                   .figure = ATTN_FIGURE_CURVE},
    [OF_HEADS] = {.rows = ATTN_ROLE_LAYER,
                  .columns = ATTN_ROLE_HEAD,
                  .traits = ATTN_VIEW_SORTED,
                  .asked = "in each head"},
};

static bool has_picture(const struct attn_input *input)
{
    return (input->image || input->pixels) && attn_input_is_given(input);
}

/* Returns the column that a picture shows: the one by which the table is sorted; otherwise an
 * optional value that was requested; otherwise the first selected measure. Returns N_COLUMN if the
 * table is sorted by another column. */
static int find_drawn(const struct attn_heads_args *args, bool has_prompt)
{
    const bool is_from = attn_number_list_is_given(&args->from);
    int column = 0;

    if (args->sort) {
        const size_t n = strcspn(args->sort, ":");

        while (column < N_COLUMN && (strlen(columns[column].name) != n ||
                                     strncmp(columns[column].name, args->sort, n) != 0))
            column++;
        return column;
    }
    if (args->effects & ATTN_HEADS_OF_ANSWER)
        return args->effects & ATTN_HEADS_DIRECT    ? DIRECT
               : args->effects & ATTN_HEADS_ABLATED ? ABLATED
                                                    : PATCHED;
    if (args->has_effect || is_from || args->pattern)
        return args->has_effect ? CHANGE : is_from ? WEIGHT : MUL;
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (args->measures & ATTN_MEASURE_BIT(m))
            return column_of[m];
    if (has_prompt)
        return OF_PICTURE;
    return column_of[args->has_probe ? ATTN_MEASURE_INDUCTION : ATTN_MEASURE_ENTROPY_NORM];
}

static bool is_empty(const struct attn_number_list *list)
{
    return list->n == 0 && (!list->text || !*list->text);
}

/* Returns the text of LIST, or its numbers, which are written to NUMBERS. */
static const char *words_of(const struct attn_number_list *list, struct attn_quote *numbers)
{
    *numbers = attn_number_list_quote(list);
    return list->n > 0 ? numbers->text : list->text;
}

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_heads_args *args = given;
    struct attn_quote from, to;
    const int column =
        find_drawn(args, drawn->table ? attn_table_find(drawn->table, "picture") < SIZE_MAX
                                      : drawn->request && has_picture(&drawn->request->input));
    struct attn_table_view *view = &drawn->picture->view;

    if (args->by == ATTN_HEADS_BY_LAYER) {
        *view = views[OF_LAYERS];
        view->asked = "in each layer";
        view->quantity = !args->study && !args->sort ? "weight on each part" : NULL;
        view->traits |= view->quantity ? ATTN_VIEW_SHARES : 0;
    }
    drawn->has_answer = has_answer(args);
    view->values = column < N_COLUMN ? ATTN_TABLE_COLUMN(column) : 0;
    if (column == ABLATED || (column == CHANGE && args->has_effect))
        view->asked = "without each head";
    if (column == DIRECT)
        view->asked = "written by each head";
    if (column == PATCHED || column == PATCHED_SHARE)
        view->asked = "by each head of the clean text";
    if (column == WEIGHT && !is_empty(&args->from) && !is_empty(&args->to) && !args->study &&
        !attn_drawn_ask(drawn, "from %s to %s in each head", words_of(&args->from, &from),
                        words_of(&args->to, &to)))
        view->asked = views[0].asked; /* the full words are too long */
}

static uint64_t shows(const void *state)
{
    const struct heads *heads = state;
    const struct attn_heads_args *args = heads->args;

    return (args->by == ATTN_HEADS_BY_LAYER ? 0 : SHOW_HEAD) |
           (args->is_localized ? SHOW_LOCALIZED | (args->study ? SHOW_SELECTED : 0) : 0) |
           (has_types(args) ? SHOW_TYPE : 0) |
           (has_types(args) && args->has_shares ? SHOW_SHARES : 0) |
           (args->pattern ? SHOW_PATTERN : 0) |
           (!heads->has_pairs      ? 0
            : has_percentile(args) ? SHOW_WEIGHT | SHOW_PERCENTILE
                                   : SHOW_WEIGHT) |
           (args->effects & ATTN_HEADS_DIRECT ? SHOW_DIRECT : 0) |
           (args->effects & ATTN_HEADS_ABLATED ? SHOW_ABLATED : 0) |
           (args->effects & ATTN_HEADS_PATCHED ? SHOW_PATCHED : 0) |
           (args->has_effect ? SHOW_EFFECT : 0) | (heads->has_right ? SHOW_RIGHT : 0) |
           heads->shown * SHOW_MEASURES;
}

/* Fills the type of a head with MIX, and the columns that go with it. */
static void put_type(const struct attn_heads_args *args, const struct attn_head_mix *mix,
                     struct attn_cell *row)
{
    const struct attn_head_type type = attn_head_type_of(mix, args->threshold);

    row[TYPE] = attn_cell_string(type.name);
    row[MOST] = attn_cell_string(type.largest ? type.largest->name : NULL);
    row[SHARE] = attn_cell_real_or_missing(type.largest ? type.weight : (double)NAN);
    row[PARK] = attn_cell_real_or_missing(type.park);
    for (int k = 0; k < ATTN_N_MIX_CLASS; k++)
        row[REST + k] = attn_cell_real_or_missing(type.largest ? type.shares[k] : (double)NAN);
}

/* Fills the cells of ROW [N_COLUMN] with the numbers FOUND [N_COLUMN]. */
static void fill_cells(const double *found, struct attn_cell *row)
{
    for (int i = KV_HEAD + 1; i < ROW_TYPE; i++)
        if (columns[i].type == ATTN_VALUE_INTEGER)
            row[i] = attn_cell_integer(isnan(found[i]) ? 0 : (int64_t)found[i]);
        else
            row[i] = attn_cell_real_or_missing(found[i]);
}

static enum attn_status append_head(const struct heads *heads, const struct attn_rows *rows,
                                    size_t index, struct attn_error *err)
{
    const struct attn_location at = heads->parts.items[index].at;
    const struct attn_config *config =
        at.stack == ATTN_STACK_ENCODER ? heads->encoder : heads->frame.config;
    const double *found = heads->found + index * N_COLUMN;
    struct attn_cell row[N_COLUMN] = {
        [HEAD] = attn_cell_integer(at.head),
        [KV_HEAD] = attn_cell_integer(at.head / (int)(config->n_head / config->n_kv_head)),
    };

    attn_location_put(&at, &row[STACK]);
    fill_cells(found, row);
    if (heads->mixes)
        put_type(heads->args, &heads->mixes[index], row);
    return attn_rows_append(rows, row, err);
}

/* Appends a row for each layer, with the means over its heads. */
static enum attn_status append_layers(const struct heads *heads, const struct attn_rows *rows,
                                      struct attn_error *err)
{
    const struct attn_part *items = heads->parts.items;

    for (size_t i = 0, n; i < heads->parts.n; i += n) {
        struct attn_cell row[N_COLUMN] = {[HEAD] = attn_cell_missing()};
        double means[N_COLUMN] = {0};

        for (n = 0; i + n < heads->parts.n && items[i + n].at.layer == items[i].at.layer; n++)
            for (int k = 0; k < N_COLUMN; k++)
                means[k] += heads->found[(i + n) * N_COLUMN + (size_t)k];
        for (int k = 0; k < N_COLUMN; k++)
            means[k] /= (double)n;
        attn_location_put(&items[i].at, &row[STACK]);
        fill_cells(means, row);
        ATTN_TRY(attn_rows_append(rows, row, err));
    }
    return ATTN_OK;
}

static enum attn_status append_heads(const struct heads *heads, const struct attn_rows *rows,
                                     struct attn_error *err)
{
    if (heads->args->by == ATTN_HEADS_BY_LAYER)
        return append_layers(heads, rows, err);
    for (size_t i = 0; i < heads->parts.n; i++)
        ATTN_TRY(append_head(heads, rows, i, err));
    return ATTN_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Whether the last number is the difference of both texts. */
static bool has_whole(const struct attn_heads_args *args)
{
    return (args->effects & ATTN_HEADS_PATCHED) != 0;
}

static size_t count_beside(const struct heads *heads)
{
    return (heads->mixes ? heads->parts.n * ATTN_N_MIX_NUMBER : 0) + has_whole(heads->args);
}

/* Fills MORE [count_beside], the numbers of the text beside its rows: the sums of each head, which
 * add up over items. */
static void fill_beside(const struct heads *heads, double *more)
{
    for (size_t i = 0; i < heads->parts.n && heads->mixes; i++, more += ATTN_N_MIX_NUMBER)
        memcpy(more, &heads->mixes[i], sizeof heads->mixes[i]);
    if (has_whole(heads->args))
        *more = heads->whole;
}

/* Determines the types from the mean sums, and the shares from the mean changes
 * (attn_fold_derive_fn). */
static enum attn_status find_types(const void *args, const struct attn_fold_means *means,
                                   struct attn_error *err)
{
    (void)err;
    if (means->is_resample || means->is_paired || means->n_more == 0)
        return ATTN_OK;
    for (size_t row = 0; row < means->n_row; row++) {
        struct attn_cell *cells = means->rows + row * N_COLUMN, park = cells[PARK];
        const double whole = means->more[means->n_more - 1];
        double sums[ATTN_N_MIX_NUMBER];
        struct attn_head_mix mix;

        for (size_t i = 0; i < ATTN_N_MIX_NUMBER && has_types(args); i++)
            sums[i] = means->more[row * ATTN_N_MIX_NUMBER + i] * (double)means->n_item;
        if (has_types(args)) {
            memcpy(&mix, sums, sizeof mix);
            put_type(args, &mix, cells);
            cells[PARK] = park; /* a mean of items, as other columns */
        }
        if (has_whole(args) && whole != 0 && cells[PATCHED].type == ATTN_VALUE_REAL)
            cells[PATCHED_SHARE] = attn_cell_real(cells[PATCHED].real / whole + 0.0);
    }
    return ATTN_OK;
}

/* Whether each row has its sums, or none has (attn_fold_fits_fn). */
static bool fits(const void *args, size_t n_row, size_t n_more)
{
    return n_more == (has_types(args) ? n_row * ATTN_N_MIX_NUMBER : 0) + has_whole(args);
}

/* Sets FROM and TO to those of ITEM, by default those of ARGS; none is given if there are no pairs
 * of words. `to` alone belongs to another question. */
static enum attn_status find_words(const struct attn_heads_args *args, const struct attn_item *item,
                                   struct attn_number_list *from, struct attn_number_list *to,
                                   struct attn_error *err)
{
    const bool has_pairs =
        attn_number_list_is_given(&args->from) || attn_number_list_is_given(&args->to);

    *from = attn_number_list_or(item->from, args->from);
    *to = attn_number_list_or(item->to, args->to);
    if (has_pairs && (is_empty(from) || is_empty(to)))
        return attn_error_set(err, ATTN_INVALID, "no '%s'", is_empty(from) ? "from" : "to");
    if (has_pairs)
        return ATTN_OK;
    if (attn_number_list_is_given(from))
        return attn_error_set(err, ATTN_INVALID, "it has 'from', and the first item has none");
    *to = (struct attn_number_list){0};
    return ATTN_OK;
}

/* Returns what is measured of texts with a picture by default. */
static attn_measure_set measures_of_prompts(const struct attn_heads_args *args,
                                            const struct attn_request *request)
{
    const attn_measure_set shares = ATTN_MEASURE_BIT(ATTN_MEASURE_SPATIAL_ENTROPY) - 1;

    return (ATTN_MEASURES_OF_PROMPTS & (args->by == ATTN_HEADS_BY_LAYER ? shares : UINT64_MAX)) |
           (request->maps.drop_sinks > 0 ? ATTN_MEASURE_BIT(ATTN_MEASURE_SINKS) : 0);
}

/* If the first item has `from`, all items have pairs of words: "" is missing. If it has a picture
 * beside its text, all items have one. */
static void meet_first(void *given, const struct attn_item *first,
                       const struct attn_request *request)
{
    static const struct attn_number_list missing = {.text = ""};
    struct attn_heads_args *args = given;

    if (has_picture(&request->input) && args->tower == ATTN_TOWER_TEXT && args->measures == 0 &&
        args->effects == 0 && !args->is_localized)
        args->measures = measures_of_prompts(args, request);
    if (attn_number_list_is_given(&first->from)) {
        args->from = attn_number_list_or(args->from, missing);
        args->to = attn_number_list_or(args->to, missing);
    }
}

static unsigned pairs(const void *args)
{
    return has_whole(args) ? ATTN_ITEM_BIT(CLEAN_CORRUPTED) : ATTN_ITEM_BIT(SINGLE);
}

static enum attn_status take_item(void *given, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_heads_args *args = given;

    (void)request;
    ATTN_TRY(find_words(args, item, &args->from, &args->to, err));
    if (args->effects & ATTN_HEADS_PATCHED)
        args->corrupted = item->other;
    return has_answer(args) ? attn_item_answer(item, &args->answer, err) : ATTN_OK;
}

/* Returns the recorded pattern of the head AT of RESULT as an event of a run. */
static struct attn_trace_event event_of(const struct attn_item_result *result,
                                        const struct attn_location *at)
{
    size_t shape[3];

    attn_selection_shape(result->labels->selection, at, shape);
    return (struct attn_trace_event){.at = *at,
                                     .n_row = shape[1],
                                     .n_col = shape[2],
                                     .ld = shape[2],
                                     .data = attn_capture_head(result->capture, at)};
}

/* Computes how much the words `from` and `to` of the item look at each other. */
static enum attn_status take_pairs(struct heads *heads, const struct attn_item_result *result,
                                   struct attn_error *err)
{
    struct attn_word_pairs *pairs;
    struct attn_number_list from, to;

    ATTN_TRY(find_words(heads->args, result->item, &from, &to, err));
    if (!attn_number_list_is_given(&from))
        return ATTN_OK;
    ATTN_TRY(attn_word_pairs_create(result->run, &from, &to, &pairs, err));
    for (size_t i = 0; i < heads->parts.n; i++) {
        const struct attn_trace_event event = event_of(result, &heads->parts.items[i].at);
        double *found = heads->found + i * N_COLUMN;

        attn_word_pairs_add(pairs, &event);
        if (has_percentile(heads->args))
            attn_word_pairs_count(pairs, &event);
        attn_word_pairs_find(pairs, &event.at, &found[WEIGHT], &found[PERCENTILE]);
    }
    attn_word_pairs_free(pairs);
    return ATTN_OK;
}

/* Reads the next item (attn_next_fn). What it asks for at a position has no effect here. */
static enum attn_status next_item(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct heads *heads = user;

    ATTN_TRY(attn_stream_next(heads->frame.stream, item, err));
    if (!*item)
        return ATTN_OK;
    (*item)->queries = (struct attn_number_list){0};
    (*item)->next = NULL;
    (*item)->n_next = 0;
    return ATTN_OK;
}

/* Appends the rows of an item (attn_answer_fn). */
static enum attn_status find_item(void *user, struct attn_item_result *result,
                                  struct attn_error *err)
{
    struct heads *heads = user;
    struct attn_rows rows = heads->frame.rows;

    take_measures(heads, result);
    ATTN_TRY(take_pairs(heads, result, err));
    ATTN_TRY(attn_rows_begin(&rows, attn_table_name(rows.table), &result->rows, err));
    ATTN_TRY(append_heads(heads, &rows, err));
    result->n_beside = count_beside(heads);
    if (!result->beside)
        ATTN_TRY(ATTN_ALLOC(result->beside, result->n_beside, err));
    fill_beside(heads, result->beside);
    return ATTN_OK;
}

/* Runs the items, short ones together. */
static enum attn_status ask_items(struct heads *heads, struct attn_error *err)
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
        (args->has_probe || args->is_localized || args->by == ATTN_HEADS_BY_LAYER))
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` of an answer need one text or items, and a row per head");
    ATTN_TRY(attn_head_effects_check(args, err));
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
static enum attn_status list_heads(struct heads *heads, struct attn_error *err)
{
    const struct attn_dims encoder = attn_config_dims(heads->encoder, 1);
    struct attn_dims dims = attn_config_dims(heads->frame.config, 1);
    const struct attn_head_list list = {.text = heads->frame.request.selection.heads};
    struct attn_selection *selection;
    enum attn_status status;

    if (heads->encoder)
        dims.encoder = &encoder;
    ATTN_TRY(
        attn_error_at(attn_error_in(attn_select_heads(&list, &dims, &selection, err), "heads", err),
                      ATTN_STAGE_OPTIONS, err));
    status =
        attn_parts_list(selection, ATTN_ALL_OF(ONLY, ATTN_SITE_PATTERN), 0, &heads->parts, err);
    attn_selection_free(selection);
    return status;
}

/* Gives the cards the heads that have rows, before the first text, and selects what they need. */
static enum attn_status begin_cards(struct heads *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    struct attn_head_cards *cards = heads->args->cards;
    const size_t n_vector = attn_head_cards_vector(attn_host_model(frame->host));
    struct attn_location *ats;

    if (n_vector > 0)
        frame->request.selection.sites = "pattern,v,resid_pre";
    if (cards->n_head > 0) /* it is not the first text */
        return ATTN_OK;
    ats = attn_frame_alloc(frame, heads->parts.n, sizeof *ats);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < heads->parts.n; i++)
        ats[i] = heads->parts.items[i].at;
    return attn_head_cards_begin(cards, ats, heads->parts.n, n_vector, err);
}

/* Whether the input, or the first item, has a picture beside the text. */
static bool is_about_picture(const struct heads *heads)
{
    return heads->frame.config->vision.family != ATTN_VISION_NONE &&
           has_picture(&heads->frame.request.input);
}

/* PROMPT has a picture beside its text, or is NULL: items have what the first one has. */
static attn_measure_set find_shown(const struct attn_heads_args *args,
                                   const struct attn_config *config,
                                   const struct attn_request *prompt)
{
    const bool is_picture = config->image.patch_height > 0;
    attn_measure_set shown = is_picture ? ATTN_MEASURES_OF_PICTURES : ATTN_MEASURES_DEFAULT;

    if (args->is_localized)
        return ATTN_MEASURE_BIT(ATTN_MEASURE_PICTURE) |
               ATTN_MEASURE_BIT(ATTN_MEASURE_SPATIAL_ENTROPY) |
               ATTN_MEASURE_BIT(ATTN_MEASURE_BLOBS);
    if (args->measures != 0 || args->effects != 0)
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
    const attn_measure_set of_prompts =
        ATTN_MEASURES_OF_PROMPTS | ATTN_MEASURE_BIT(ATTN_MEASURE_SINKS);
    const char *needing = args->is_localized                   ? "localize"
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
    struct heads *heads = state;
    struct attn_frame *frame = &heads->frame;
    const struct attn_heads_args *args = frame->args;
    const struct attn_model *model = attn_host_model(frame->host);
    const char *chosen = frame->request.selection.heads;
    const bool has_prompt = is_about_picture(heads);

    heads->args = args;
    ATTN_TRY(check_picture(args, frame, has_prompt, err));
    heads->shown =
        find_shown(args, frame->config, has_prompt && !frame->item ? &frame->request : NULL);
    attn_frame_choose_nothing(&frame->request);
    frame->request.selection.sites =
        frame->request.maps.drop_sinks > 0 || (has_types(args) && !frame->stream)
            ? "pattern,resid_pre"
            : "pattern";
    heads->drop_sinks = frame->request.maps.drop_sinks;
    frame->request.maps.drop_sinks = 0;
    frame->request.selection.heads = chosen;
    heads->has_pairs = attn_number_list_is_given(&args->to) ||
                       (attn_number_list_is_given(&args->from) && !has_prompt);
    if (model->encoder && !heads->has_pairs && !args->pattern)
        heads->encoder = &model->encoder->config;
    ATTN_TRY(list_heads(heads, err));
    heads->found = attn_frame_alloc(frame, heads->parts.n * N_COLUMN, sizeof *heads->found);
    if (has_types(args))
        heads->mixes = attn_frame_alloc(frame, heads->parts.n, sizeof *heads->mixes);
    ATTN_TRY(attn_frame_memory(frame, err));
    if (args->cards)
        ATTN_TRY(begin_cards(heads, err));
    heads->has_right =
        args->has_effect && frame->is_one_of_many && attn_metric_has_right(args->answer.metric);
    return (args->effects & ATTN_HEADS_WEIGHT) && !heads->has_pairs
               ? attn_error_set(err, ATTN_INVALID, "`measures` weight needs `from` and `to`")
               : ATTN_OK;
}

/* Reports the numbers beside the rows of an item. */
static enum attn_status report(struct heads *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    const size_t n = count_beside(heads);
    double *more = attn_frame_alloc(frame, n, sizeof *more);

    ATTN_TRY(attn_frame_memory(frame, err));
    if (n > 0)
        fill_beside(heads, more);
    if (has_ablation(heads->args)) {
        attn_frame_report_base(frame, &heads->answer, &frame->trials.base);
        frame->answer->has_right &= heads->has_right && !isnan(frame->answer->right);
    }
    return n > 0 ? attn_frame_report_more(frame, more, n, err) : ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct heads *heads = state;

    if (heads->frame.stream)
        return ask_items(heads, err);
    ATTN_TRY(read_text(heads, err));
    if (has_ablation(heads->args))
        ATTN_TRY(add_effects(heads, err));
    if (heads->args->effects != 0)
        ATTN_TRY(add_other_effects(heads, err));
    ATTN_TRY(append_heads(heads, &heads->frame.rows, err));
    if (heads->args->cards)
        ATTN_TRY(add_card(heads, err));
    return heads->frame.answer ? report(heads, err) : ATTN_OK;
}

static void release(void *state)
{
    struct heads *heads = state;

    attn_free(heads->parts.items);
    attn_card_reading_free(heads->card);
    attn_measure_group_release(&heads->group);
    attn_measure_group_release(&heads->of_encoder);
    attn_head_mixes_free(heads->mixing);
    attn_head_mixes_free(heads->of_encoder_mixing);
    attn_selection_free(heads->own_encoder);
    attn_word_pairs_free(heads->pairs);
    attn_picture_maps_free(heads->maps);
    attn_view_free(heads->view);
    for (int i = 0; i < 2; i++)
        attn_parks_free(heads->parks[i]);
}

static const struct attn_procedure procedure = {
    .name = "heads",
    .question = &attn_question_heads,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .state_size = sizeof(struct heads),
    .items.study = offsetof(struct attn_heads_args, study),
    .tower = offsetof(struct attn_heads_args, tower),
    .items.meet_first = meet_first,
    .items.take_item = take_item,
    .items.pairs = pairs,
    .items.derive = find_types,
    .items.fits = fits,
    .choose = choose,
    .shows = shows,
    .draw = draw,
    .ask = ask,
    .perform = perform,
    .release = release,
};

/* Returns true if the items of ARGS can be run in packs: no item needs a run of its own. */
static bool is_packed(const struct attn_heads_args *args, const struct attn_host *host)
{
    const struct attn_model *model = attn_host_model(host);

    return args->study && !has_answer(args) && !args->pattern && !args->cards &&
           !args->renormalizes && model && !model->encoder &&
           attn_model_config(model)->vision.family == ATTN_VISION_NONE;
}

/* Performs CALL, whose arguments are ARGS. PROBES receives the probes. */
static enum attn_status perform_with(const struct attn_procedure_call *call,
                                     struct attn_heads_args *args, struct probes *probes,
                                     struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_procedure_call own = *call;
    struct attn_procedure way = procedure;

    ATTN_TRY(attn_error_at(check_args(args, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(
        attn_error_at(attn_options_read(call->request, &request, err), ATTN_STAGE_OPTIONS, err));
    if (args->has_probe)
        ATTN_TRY(open_probes(call->host, &request, args, probes, err));
    if (args->has_probe && args->n_probe > 0) {
        args->study = &probes->study;
    } else if (args->has_probe) { /* the table of one text has no deviations */
        ATTN_TRY(attn_items_next(probes->items, &probes->first, err));
        request.input = probes->first->input;
        own.request = &request;
    }
    own.given = args;
    way.makes_runs = is_packed(args, call->host);
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
    struct probes probes = {.ids = NULL};
    enum attn_status status;

    if (!call->host || !call->request || !call->table)
        return attn_procedure_perform(&procedure, call, err);
    ATTN_TRY(attn_error_at(attn_options_read(call->given, &args, err), ATTN_STAGE_OPTIONS, err));
    status = perform_with(call, &args, &probes, err);
    release_probes(&probes);
    return status;
}

enum attn_status attn_heads(struct attn_host *host, const struct attn_request *request,
                            const struct attn_heads_args *given, struct attn_table **table,
                            struct attn_error *err)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    const struct attn_procedure_call call = {host, request, given, &args, table, NULL};

    return perform(&call, err);
}

/* --- Attention on arrays ---------------------------------------------------------------------- */

/* The measures of the heads of one run, as a table. */
struct measured {
    struct attn_run *run;
    attn_measure_set measures;
    /* Owned; a copy of the run's selection whose dims state which keys are positions. */
    struct attn_selection *selection;
    struct attn_measure_group group; /* owns */
    /* `columns` with `batch` before the head */
    struct attn_column columns[N_COLUMN + 1];
    struct attn_rows rows; /* owns its table */
};

/* Measures the rows of an event (attn_trace_fn). */
static enum attn_status on_heads(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct measured *measured = user;

    (void)err;
    if (event->at.site == ATTN_SITE_PATTERN && event->at.stack != ATTN_STACK_ENCODER)
        attn_measure_group_add(&measured->group, event);
    return ATTN_OK;
}

static enum attn_status measure_run(struct measured *measured, struct attn_error *err)
{
    struct attn_run *run = measured->run;
    const struct attn_input *input = &run->request.input;
    const struct attn_trace trace = {
        .selection = run->selection, .on_event = on_heads, .user = measured};
    const struct attn_metric_settings settings = attn_run_metric_settings(run);
    struct attn_dims dims = *attn_selection_dims(run->selection);
    struct attn_result result = {0};

    /* See the header: keys of arrays are positions of the queries' sequence in these cases. */
    if (!run->model &&
        (run->arrays.attention.mask == ATTN_MASK_CAUSAL || (input->q && input->q == input->k)))
        dims.is_cross = NULL;
    ATTN_TRY(attn_selection_create(&dims, &measured->selection, err));
    ATTN_TRY(attn_measure_group_create(measured->measures, &settings, measured->selection, NULL,
                                       &measured->group, err));
    if (!attn_selection_has_site(run->selection, ATTN_SITE_PATTERN))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "measures need the pattern, which is not selected");
    ATTN_TRY(attn_run_perform(run, &trace, &result, err));
    attn_result_release(&result);
    return ATTN_OK;
}

static enum attn_status append_measured(const struct measured *measured,
                                        const struct attn_location *at, struct attn_error *err)
{
    const struct attn_run *run = measured->run;
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const int n_head = (int)dims->n_head / (run->model ? 1 : (int)run->axes.n_batch);
    const int n_shared = (int)(dims->n_head / dims->n_kv_head);
    struct attn_cell row[N_COLUMN + 1] = {
        [HEAD] = attn_cell_integer(at->head / n_head),
        [HEAD + 1] = attn_cell_integer(at->head % n_head),
        [KV_HEAD + 1] = attn_cell_integer(at->head % n_head / n_shared),
    };
    double values[ATTN_N_MEASURE], found[N_COLUMN] = {0};

    attn_measure_group_values(&measured->group, at, values);
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        found[column_of[m]] = values[m];
    attn_location_put(at, &row[STACK]);
    fill_cells(found, row + 1);
    return attn_rows_append(&measured->rows, row, err);
}

static enum attn_status tabulate_run(struct measured *measured, struct attn_error *err)
{
    static const struct attn_column batch = ATTN_COLUMN("batch", INTEGER);
    const struct attn_run *run = measured->run;
    struct attn_rows *rows = &measured->rows;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(measure_run(measured, err));
    for (int i = 0; i < N_COLUMN; i++) {
        measured->columns[i + (i >= HEAD)] = columns[i];
        rows->hidden[i + (i >= HEAD)] =
            columns[i].shown != 0 &&
            (columns[i].shown & (SHOW_HEAD | measured->measures * SHOW_MEASURES)) == 0;
    }
    measured->columns[HEAD] = batch;
    rows->columns = measured->columns;
    rows->n = N_COLUMN + 1;
    rows->hidden[LAYER] = !run->model;
    rows->hidden[HEAD] = run->model || run->axes.rank != 4;
    attn_rows_hide_stacks(rows->columns, rows->n, rows->hidden,
                          attn_dims_has_stacks(attn_selection_dims(run->selection)));
    ATTN_TRY(attn_rows_create(rows, "heads", err));
    while (attn_selection_next_head(run->selection, &at))
        ATTN_TRY(append_measured(measured, &at, err));
    return ATTN_OK;
}

enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                    struct attn_table **table, struct attn_error *err)
{
    struct measured measured = {.run = run, .measures = measures & ATTN_MEASURES_ALL};
    enum attn_status status;

    if (!attn_is_given(run, "run", err) || !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    status = tabulate_run(&measured, err);
    if (status == ATTN_OK)
        *table = measured.rows.table;
    else
        attn_table_free(measured.rows.table);
    attn_measure_group_release(&measured.group);
    attn_selection_free(measured.selection);
    return status;
}

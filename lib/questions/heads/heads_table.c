/* heads_table.c - the table of `heads`: its columns, rows and pictures. */
#include "heads/heads_columns.h"

#include "base/text/fixed_text.h"
#include "base/text/list.h"
#include "measures/head_kind.h"
#include "tables/table_internal.h"

#include <math.h>
#include <string.h>

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

/* Above those of the measures: */
#define SHOW_SHARES (UINT64_C(1) << 63)
#define SHOW_SINKS (UINT64_C(1) << 62)
#define SHOW_NEEDLE (UINT64_C(1) << 61)

_Static_assert(ATTN_N_MEASURE <= 48, "SHOW_NEEDLE is above the bits of measures");

#define MEASURE_COLUMN(id, number, label, metric, which, of, words, is, text)                      \
    [ATTN_HEAD_OF_##                                                                               \
        id] = {.name = (label),                                                                    \
               .type = ((is)&ATTN_OF_COUNT) != 0 ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL,           \
               .quantity = (words),                                                                \
               .help = (text),                                                                     \
               .unit = (of),                                                                       \
               .notation = ATTN_NOTATION_FIXED,                                                    \
               .digits = 4,                                                                        \
               .range = ((is)&ATTN_OF_OPEN) != 0 ? ATTN_RANGE_POSITIVE : ATTN_RANGE_SHARE,         \
               .traits = ((is)&ATTN_OF_COUNT) != 0    ? ATTN_TRAIT_COUNT                           \
                         : ((is)&ATTN_OF_LINEAR) != 0 ? ATTN_TRAIT_LINEAR                          \
                                                      : 0,                                         \
               .shown = ATTN_MEASURE_BIT(number) * SHOW_MEASURES},

#define REST_COLUMN(class, name)                                                                   \
    [ATTN_HEAD_REST + ATTN_MIX_##class] = ATTN_COLUMN_QUANTITY(                                    \
        "rest_" name, 4, NULL, SHARE, "share in the weight beside parks: " name,                   \
        .traits = ATTN_TRAIT_DERIVED, .shown = SHOW_SHARES)

const struct attn_column attn_head_columns[ATTN_N_HEAD_COLUMN] = {
    [ATTN_HEAD_STACK] = ATTN_COLUMN_STACK("stack"),
    [ATTN_HEAD_LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [ATTN_HEAD_HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEAD),
    [ATTN_HEAD_KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER, .shown = SHOW_HEAD),
    [ATTN_HEAD_TYPE] = ATTN_COLUMN_WITH("type", TEXT, DERIVED, .shown = SHOW_TYPE,
                                        .help = "what it does with weight that it does not park"),
    [ATTN_HEAD_MOST] = ATTN_COLUMN_WITH("most", TEXT, DERIVED, .shown = SHOW_TYPE,
                                        .help = "class with most of the weight that is not parked"),
    [ATTN_HEAD_SHARE] =
        ATTN_COLUMN_QUANTITY("share", 4, NULL, SHARE, "share in the weight beside parks",
                             .traits = ATTN_TRAIT_DERIVED, .shown = SHOW_TYPE),
    [ATTN_HEAD_PARK] =
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
    [ATTN_HEAD_MUL] = ATTN_COLUMN_REAL("mul", 4, NULL, SIGNED, .shown = SHOW_PATTERN,
                                       .help = "sum A_ij P_ij / sum A_ij for the `pattern` P"),
    [ATTN_HEAD_ABS] = ATTN_COLUMN_REAL("abs", 4, NULL, SIGNED, .shown = SHOW_PATTERN,
                                       .help = "1 - sum |A_ij - P_ij| / T for the `pattern` P"),
    [ATTN_HEAD_SINK_MASS] = ATTN_COLUMN_QUANTITY("sink_mass", 4, NULL, SHARE,
                                                 "weight on the first keys", .shown = SHOW_SINKS),
    [ATTN_HEAD_DISTANT] = ATTN_COLUMN_QUANTITY("distant", 4, NULL, SHARE,
                                               "weight beyond the window", .shown = SHOW_SINKS),
    [ATTN_HEAD_RETRIEVAL] =
        ATTN_COLUMN_RATE("retrieval", 4, "share of the needle found", 0, .shown = SHOW_NEEDLE),
    [ATTN_HEAD_NEEDLE_MASS] = ATTN_COLUMN_QUANTITY(
        "needle_mass", 4, NULL, SHARE, "weight on the token to copy", .shown = SHOW_NEEDLE),
    [ATTN_HEAD_N_RETRIEVAL] = ATTN_COLUMN_WITH("n_retrieval", INTEGER, COUNT, .shown = SHOW_NEEDLE,
                                               .help = "number of rows in retrieval"),
    [ATTN_HEAD_DIRECT] =
        ATTN_COLUMN_QUANTITY("direct", 4, NULL, SIGNED, "part of the logit", .shown = SHOW_DIRECT),
    [ATTN_HEAD_ABLATED] =
        ATTN_COLUMN_QUANTITY("ablated", 4, NULL, SIGNED, "change of @", .shown = SHOW_ABLATED),
    [ATTN_HEAD_PATCHED] =
        ATTN_COLUMN_QUANTITY("patched", 4, NULL, SIGNED, "change of @", .shown = SHOW_PATCHED),
    [ATTN_HEAD_PATCHED_SHARE] = ATTN_COLUMN_WITH(
        "patched_share", REAL, DERIVED, .digits = 4, .notation = ATTN_NOTATION_FIXED,
        .quantity = "share of @ restored", .shown = SHOW_PATCHED),
    [ATTN_HEAD_WEIGHT] =
        ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight", .shown = SHOW_WEIGHT),
    [ATTN_HEAD_PERCENTILE] =
        ATTN_COLUMN_RATE("percentile", 4, NULL, 0, .shown = SHOW_PERCENTILE,
                         .help = "share of word pairs with less weight, 0 to 1"),
    [ATTN_HEAD_CHANGE] =
        ATTN_COLUMN_QUANTITY("change", 4, NULL, SIGNED, "change of @", .shown = SHOW_EFFECT),
    [ATTN_HEAD_BOTTOM_ROW] = ATTN_COLUMN_REAL(
        "bottom_row", 2, NULL, SHARE, .shown = SHOW_LOCALIZED,
        .help = "1 if a cell in the last row of the picture has more than 0.05, else 0"),
    [ATTN_HEAD_KEPT] = ATTN_COLUMN_REAL("kept", 2, NULL, SHARE, .shown = SHOW_LOCALIZED,
                                        .help = "1 if `localize` keeps the head, else 0"),
    [ATTN_HEAD_RANK] = ATTN_COLUMN_REAL("rank", 2, NULL, POSITIVE, .shown = SHOW_LOCALIZED,
                                        .help = "place of a kept head by spatial_entropy, from 1"),
    [ATTN_HEAD_SELECTED] = ATTN_COLUMN_RATE(
        "selected", 4, "share of items whose answer the head points at", 0, .shown = SHOW_SELECTED),
    [ATTN_HEAD_RIGHT] = ATTN_COLUMN_RIGHT(SHOW_RIGHT),
    ATTN_MEASURE_MAP(MEASURE_COLUMN)[ATTN_HEAD_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE};

const int attn_head_column_of[ATTN_N_MEASURE] = {
#define COLUMN_OF(id, number, ...) [number] = ATTN_HEAD_OF_##id,
    ATTN_MEASURE_MAP(COLUMN_OF)
#undef COLUMN_OF
};

bool attn_heads_have_types(const struct attn_heads_run *heads)
{
    const struct attn_heads_args *args = heads->args;
    /* `weight` alone saves the time for measures and percentiles */
    const bool is_weight = args->effects == ATTN_HEADS_WEIGHT && args->measures == 0;

    return !is_weight && !args->picture.is_localized && args->by != ATTN_HEADS_BY_LAYER &&
           !args->renormalizes && !args->probe.is_needle && !heads->lacks_types;
}

bool attn_heads_have_answer(const struct attn_heads_args *args)
{
    return args->has_effect || (args->effects & ATTN_HEADS_OF_ANSWER) != 0;
}

bool attn_heads_have_ablation(const struct attn_heads_args *args)
{
    return args->has_effect || (args->effects & ATTN_HEADS_ABLATED) != 0;
}

/* --- Pictures --------------------------------------------------------------------------------- */

enum { OF_HEADS, OF_LAYERS };

const struct attn_table_view attn_head_views[ATTN_N_HEAD_VIEW] = {
    [OF_LAYERS] = {.rows = ATTN_ROLE_LAYER,
                   .columns = ATTN_ROLE_LAYER,
                   .values = ATTN_TABLE_COLUMN(ATTN_HEAD_OF_PICTURE),
                   .traits = ATTN_VIEW_SEQUENCE},
    [OF_HEADS] = {.rows = ATTN_ROLE_LAYER,
                  .columns = ATTN_ROLE_HEAD,
                  .traits = ATTN_VIEW_SORTED,
                  .asked = "in each head"},
};

bool attn_heads_have_picture(const struct attn_input *input)
{
    return (input->image || input->pixels) && attn_input_is_given(input);
}

/* Returns the column that a picture shows: the one by which the table is sorted; otherwise an
 * optional value that was requested; otherwise the first selected measure. Returns
 * ATTN_N_HEAD_COLUMN if the table is sorted by another column. */
static int find_drawn(const struct attn_heads_args *args, bool has_prompt)
{
    const bool is_from = attn_number_list_is_given(&args->from);
    int column = 0;

    if (args->sort) {
        const size_t n = strcspn(args->sort, ":");

        while (column < ATTN_N_HEAD_COLUMN &&
               (strlen(attn_head_columns[column].name) != n ||
                strncmp(attn_head_columns[column].name, args->sort, n) != 0))
            column++;
        return column;
    }
    if (args->effects & ATTN_HEADS_OF_ANSWER)
        return args->effects & ATTN_HEADS_DIRECT    ? ATTN_HEAD_DIRECT
               : args->effects & ATTN_HEADS_ABLATED ? ATTN_HEAD_ABLATED
                                                    : ATTN_HEAD_PATCHED;
    if (args->probe.is_own)
        return ATTN_HEAD_SHARE;
    if (args->has_effect || is_from || args->pattern)
        return args->has_effect ? ATTN_HEAD_CHANGE : is_from ? ATTN_HEAD_WEIGHT : ATTN_HEAD_MUL;
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (args->measures & ATTN_MEASURE_BIT(m))
            return attn_head_column_of[m];
    if (args->probe.is_needle || args->n_near > 0)
        return args->probe.is_needle ? ATTN_HEAD_RETRIEVAL : ATTN_HEAD_DISTANT;
    if (has_prompt)
        return ATTN_HEAD_OF_PICTURE;
    return attn_head_column_of[args->has_probe ? ATTN_MEASURE_INDUCTION
                                               : ATTN_MEASURE_ENTROPY_NORM];
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

void attn_heads_draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_heads_args *args = given;
    struct attn_quote from, to;
    const int column = find_drawn(
        args, drawn->table ? attn_table_find(drawn->table, "picture") < SIZE_MAX
                           : drawn->request && attn_heads_have_picture(&drawn->request->input));
    struct attn_table_view *view = &drawn->picture->view;

    if (args->by == ATTN_HEADS_BY_LAYER) {
        *view = attn_head_views[OF_LAYERS];
        view->asked = "in each layer";
        view->quantity = !args->study && !args->sort ? "weight on each part" : NULL;
        view->traits |= view->quantity ? ATTN_VIEW_SERIES : 0;
    }
    drawn->has_answer = attn_heads_have_answer(args);
    view->values = column < ATTN_N_HEAD_COLUMN ? ATTN_TABLE_COLUMN(column) : 0;
    if (column == ATTN_HEAD_ABLATED || (column == ATTN_HEAD_CHANGE && args->has_effect))
        view->asked = "without each head";
    if (column == ATTN_HEAD_DIRECT)
        view->asked = "written by each head";
    if (column == ATTN_HEAD_PATCHED || column == ATTN_HEAD_PATCHED_SHARE)
        view->asked = "by each head of the clean text";
    if (column == ATTN_HEAD_WEIGHT && !is_empty(&args->from) && !is_empty(&args->to) &&
        !args->study &&
        !attn_drawn_ask(drawn, "from %s to %s in each head", words_of(&args->from, &from),
                        words_of(&args->to, &to)))
        view->asked = attn_head_views[0].asked; /* the full words are too long */
}

uint64_t attn_heads_shows(const void *state)
{
    const struct attn_heads_run *heads = state;
    const struct attn_heads_args *args = heads->args;

    return (args->by == ATTN_HEADS_BY_LAYER ? 0 : SHOW_HEAD) |
           (args->picture.is_localized ? SHOW_LOCALIZED | (args->study ? SHOW_SELECTED : 0) : 0) |
           (attn_heads_have_types(heads) ? SHOW_TYPE : 0) |
           (attn_heads_have_types(heads) && args->has_shares ? SHOW_SHARES : 0) |
           (args->pattern ? SHOW_PATTERN : 0) | (args->n_near > 0 ? SHOW_SINKS : 0) |
           (args->probe.is_needle ? SHOW_NEEDLE : 0) |
           (!heads->has_pairs                      ? 0
            : !(args->effects & ATTN_HEADS_WEIGHT) ? SHOW_WEIGHT | SHOW_PERCENTILE
                                                   : SHOW_WEIGHT) |
           (args->effects & ATTN_HEADS_DIRECT ? SHOW_DIRECT : 0) |
           (args->effects & ATTN_HEADS_ABLATED ? SHOW_ABLATED : 0) |
           (args->effects & ATTN_HEADS_PATCHED ? SHOW_PATCHED : 0) |
           (args->has_effect ? SHOW_EFFECT : 0) | (heads->has_right ? SHOW_RIGHT : 0) |
           heads->shown * SHOW_MEASURES;
}

/* Returns the flags of the columns in LIST, "NAME,NAME=VALUE,NAME:up" or NULL, of which a spread
 * may be named; all flags if there is another name. */
static uint64_t flags_of(const char *list)
{
    uint64_t flags = 0;

    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        const size_t n = strcspn(item.text, ",=:");
        uint64_t found = UINT64_MAX;

        for (int i = 0; i < ATTN_N_HEAD_COLUMN; i++) {
            const size_t end = strlen(attn_head_columns[i].name);

            if (n >= end && strncmp(item.text, attn_head_columns[i].name, end) == 0 &&
                (n == end || attn_text_has_word("_sd _se _low _high", item.text + end, n - end)))
                found = attn_head_columns[i].shown;
        }
        flags |= found;
    }
    return flags;
}

void attn_heads_narrow(struct attn_heads_run *heads)
{
    const struct attn_study_args *study = heads->args->study;
    uint64_t read;

    /* a caller of an earlier version has a shorter struct */
    if (!study || study->size < sizeof *study || !study->is_narrow || !study->columns)
        return;
    read = flags_of(study->columns) | flags_of(study->sort) | flags_of(study->fdr);
    for (size_t i = 0; i < study->n_where; i++)
        read |= flags_of(study->where[i]);
    if ((read & ~attn_heads_shows(heads)) != 0)
        return; /* a label, the number of items, which depends on all columns, or an error */
    heads->shown &= read / SHOW_MEASURES;
    heads->lacks_types = (read & (SHOW_TYPE | SHOW_SHARES)) == 0;
}

uint64_t attn_heads_flags(attn_measure_set measures)
{
    return SHOW_HEAD | measures * SHOW_MEASURES;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Fills the type of a head with MIX, and the columns that go with it. */
static void put_type(const struct attn_heads_args *args, const struct attn_head_mix *mix,
                     struct attn_cell *row)
{
    const struct attn_head_type type = attn_head_type_of(mix, args->threshold);

    row[ATTN_HEAD_TYPE] = attn_cell_string(type.name);
    row[ATTN_HEAD_MOST] = attn_cell_string(type.largest ? type.largest->name : NULL);
    row[ATTN_HEAD_SHARE] = attn_cell_real_or_missing(type.largest ? type.weight : (double)NAN);
    row[ATTN_HEAD_PARK] = attn_cell_real_or_missing(type.park);
    for (int k = 0; k < ATTN_N_MIX_CLASS; k++)
        row[ATTN_HEAD_REST + k] =
            attn_cell_real_or_missing(type.largest ? type.shares[k] : (double)NAN);
}

/* Fills the type of head number ROW again, if it is one that random tokens show. */
static void put_random(const struct attn_heads_args *args, size_t row, struct attn_cell *cells)
{
    const struct attn_table *table = args->has_probe && args->probe.is_own
                                         ? ((const struct attn_probes *)args->study)->random
                                         : NULL;
    const struct attn_cell type = attn_table_cell(table, row, attn_table_find(table, "type"));

    if (attn_cell_word(&type, "induction duplicate") < SIZE_MAX)
        cells[ATTN_HEAD_TYPE] = type;
}

void attn_heads_fill(const double *found, struct attn_cell *row)
{
    for (int i = ATTN_HEAD_KV_HEAD + 1; i < ATTN_HEAD_ROW_TYPE; i++)
        if (attn_head_columns[i].type == ATTN_VALUE_INTEGER)
            row[i] = attn_cell_integer(isnan(found[i]) ? 0 : (int64_t)found[i]);
        else
            row[i] = attn_cell_real_or_missing(found[i]);
}

static enum attn_status append_head(const struct attn_heads_run *heads,
                                    const struct attn_rows *rows, size_t index,
                                    struct attn_error *err)
{
    const struct attn_location at = heads->parts.items[index].at;
    const struct attn_config *config =
        at.stack == ATTN_STACK_ENCODER ? heads->encoder : heads->frame.config;
    const double *found = heads->found + index * ATTN_N_HEAD_COLUMN;
    const size_t n_kv_head = attn_config_layer_dims(config, attn_location_index(&at)).n_kv_head;
    struct attn_cell row[ATTN_N_HEAD_COLUMN] = {
        [ATTN_HEAD_HEAD] = attn_cell_integer(at.head),
        [ATTN_HEAD_KV_HEAD] = attn_cell_integer(at.head / (int)(config->n_head / n_kv_head)),
    };

    attn_location_put(&at, &row[ATTN_HEAD_STACK]);
    attn_heads_fill(found, row);
    if (heads->mixes)
        put_type(heads->args, &heads->mixes[index], row);
    return attn_rows_append(rows, row, err);
}

/* Appends a row for each layer, with the means over its heads. */
static enum attn_status append_layers(const struct attn_heads_run *heads,
                                      const struct attn_rows *rows, struct attn_error *err)
{
    const struct attn_part *items = heads->parts.items;

    for (size_t i = 0, n; i < heads->parts.n; i += n) {
        struct attn_cell row[ATTN_N_HEAD_COLUMN] = {[ATTN_HEAD_HEAD] = attn_cell_missing()};
        double means[ATTN_N_HEAD_COLUMN] = {0};

        for (n = 0; i + n < heads->parts.n && items[i + n].at.layer == items[i].at.layer; n++)
            for (int k = 0; k < ATTN_N_HEAD_COLUMN; k++)
                means[k] += heads->found[(i + n) * ATTN_N_HEAD_COLUMN + (size_t)k];
        for (int k = 0; k < ATTN_N_HEAD_COLUMN; k++)
            means[k] /= (double)n;
        attn_location_put(&items[i].at, &row[ATTN_HEAD_STACK]);
        attn_heads_fill(means, row);
        ATTN_TRY(attn_rows_append(rows, row, err));
    }
    return ATTN_OK;
}

enum attn_status attn_heads_append(const struct attn_heads_run *heads, const struct attn_rows *rows,
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

size_t attn_heads_n_beside(const struct attn_heads_run *heads)
{
    return (heads->mixes ? heads->parts.n * ATTN_N_MIX_NUMBER : 0) + has_whole(heads->args);
}

void attn_heads_fill_beside(const struct attn_heads_run *heads, double *more)
{
    for (size_t i = 0; i < heads->parts.n && heads->mixes; i++, more += ATTN_N_MIX_NUMBER)
        memcpy(more, &heads->mixes[i], sizeof heads->mixes[i]);
    if (has_whole(heads->args))
        *more = heads->whole;
}

/* Determines the types from the mean sums, and the shares from the mean changes
 * (attn_fold_derive_fn). */
enum attn_status attn_heads_derive(const void *args, const struct attn_fold_means *means,
                                   struct attn_error *err)
{
    (void)err;
    if (means->is_resample || means->is_paired || means->n_more == 0)
        return ATTN_OK;
    for (size_t row = 0; row < means->n_row; row++) {
        struct attn_cell *cells = means->rows + row * ATTN_N_HEAD_COLUMN,
                         park = cells[ATTN_HEAD_PARK];
        const double whole = means->more[means->n_more - 1];
        double sums[ATTN_N_MIX_NUMBER];
        struct attn_head_mix mix;

        if (means->n_more >= ATTN_N_MIX_NUMBER) {
            for (size_t i = 0; i < ATTN_N_MIX_NUMBER; i++)
                sums[i] = means->more[row * ATTN_N_MIX_NUMBER + i] * (double)means->n_item;
            memcpy(&mix, sums, sizeof mix);
            put_type(args, &mix, cells);
            cells[ATTN_HEAD_PARK] = park; /* a mean of items, as other columns */
            put_random(args, row, cells);
        }
        if (has_whole(args) && whole != 0 && cells[ATTN_HEAD_PATCHED].type == ATTN_VALUE_REAL)
            cells[ATTN_HEAD_PATCHED_SHARE] =
                attn_cell_real(cells[ATTN_HEAD_PATCHED].real / whole + 0.0);
    }
    return ATTN_OK;
}

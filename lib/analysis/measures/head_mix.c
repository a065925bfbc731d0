#include "measures/head_mix.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "kernels/kernels.h"
#include "measures/head_types.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums for each key: of all weight w of rows; of -w ln w, w ln r and w ln n, where r is 1 less the
 * weight of the row on the first key and n counts the keys that the row sees after it; of w in rows
 * with an earlier place of their token; and of w in the classes that depend on the row. The other
 * weight on a key has the class of the key. */
enum { TOTAL, ENTROPY, REST, MOST, REPEATED, OF_CLASSES };
static const enum attn_mix_class of_rows[] = {ATTN_MIX_SELF,      ATTN_MIX_PREVIOUS,  ATTN_MIX_NEXT,
                                              ATTN_MIX_INDUCTION, ATTN_MIX_DUPLICATE, ATTN_MIX_NEAR,
                                              ATTN_MIX_SENTENCE};
enum { N_OF_ROWS = sizeof of_rows / sizeof *of_rows, N_SUM = OF_CLASSES + N_OF_ROWS };
/* The place of a class in `of_rows`, from 1 on; 0: it is one of keys. */
static const unsigned char place_of[ATTN_N_MIX_CLASS] = {
    [ATTN_MIX_SELF] = 1,      [ATTN_MIX_PREVIOUS] = 2,  [ATTN_MIX_NEXT] = 3,
    [ATTN_MIX_INDUCTION] = 4, [ATTN_MIX_DUPLICATE] = 5, [ATTN_MIX_NEAR] = 6,
    [ATTN_MIX_SENTENCE] = 7};

/* Largest weights of a row. */
enum { N_LARGE = 6 };

struct large {
    size_t key;
    double weight;
};

/* The sums of a head, or of a layer whose rows are even. */
struct head {
    double *sums; /* [N_SUM, n] */
    double n_row, n_repeated, entropy, rest;
    struct large large[N_LARGE]; /* of the row that is shown first, the largest first */
    double crossed, parked;      /* of attention to a source: all weight, and that on parks */
};

struct attn_head_mixes {
    struct attn_metric_settings settings;
    const struct attn_selection *selection;
    struct attn_head_type *types; /* [n_layer, n_head] owns; those of the model, or NULL */
    struct attn_parks *parks;
    const bool *is_parked; /* NULL before the last event */
    size_t n, n_head, first_row, n_shown;
    struct attn_store *store; /* owns; has the arrays */
    struct head *heads;       /* [n_slot, n_head + 1] the last of a layer: even rows */
    int *first_heads;         /* [n_slot] whose rows make the even ones; -1: none yet */
    double *sums;             /* of all heads */
    float *row;               /* [n] scratch */
    double *terms, *unused;   /* [n] scratch */
    unsigned char *classes;   /* [n] the class of a key, unless the row decides it */
    int32_t *sentences;       /* [n] where the sentence of a position begins */
    unsigned char *places;    /* [n, n] place_of the class of a cell */
    bool *is_repeated;        /* [n] whether an earlier token is that of the position */
};

/* --- Creation --------------------------------------------------------------------------------- */

static bool ends_sentence(const char *text, size_t size)
{
    while (size > 0 && (text[0] == ' ' || text[0] == '\n'))
        text++, size--;
    return size == 1 && strchr(".!?", text[0]);
}

static void classify_keys(struct attn_head_mixes *mixes)
{
    const struct attn_metric_settings *settings = &mixes->settings;
    int32_t begin = 0;

    for (size_t i = 0; i < mixes->n; i++) {
        const bool has_text = settings->tokens && i < settings->n_token;
        const bool is_after = i > 0 && has_text &&
                              ends_sentence(settings->tokens[i - 1], settings->token_sizes[i - 1]);

        begin = is_after ? (int32_t)i : begin;
        mixes->sentences[i] = begin;
        mixes->classes[i] =
            has_text && attn_metric_is_punctuation(settings->tokens[i], settings->token_sizes[i])
                ? ATTN_MIX_MARKS
            : is_after ? ATTN_MIX_START
                       : ATTN_MIX_ELSEWHERE;
    }
}

/* Returns the class that row I gives to the weight on KEY; that of the key if it gives none. */
static enum attn_mix_class class_of(const struct attn_head_mixes *mixes, size_t i, size_t key)
{
    const int32_t *ids = mixes->settings.ids;
    const size_t n_column = mixes->settings.n_patch_column, n_front = mixes->settings.n_front;
    const size_t away = i > key ? i - key : key - i;
    enum attn_mix_class of_key = (enum attn_mix_class)mixes->classes[key];

    if (key == i)
        return ATTN_MIX_SELF;
    if (n_column > 0) { /* positions before the patches are near to none */
        const size_t a = i - n_front, b = key - n_front;

        return i >= n_front && key >= n_front &&
                       labs((long)(a / n_column) - (long)(b / n_column)) <= 1 &&
                       labs((long)(a % n_column) - (long)(b % n_column)) <= 1
                   ? ATTN_MIX_NEAR
                   : ATTN_MIX_ELSEWHERE;
    }
    if (away == 1)
        return key < i ? ATTN_MIX_PREVIOUS : ATTN_MIX_NEXT;
    if (ids && key < i && key > 0 && ids[key - 1] == ids[i])
        return ATTN_MIX_INDUCTION;
    if (ids && key < i && ids[key] == ids[i])
        return ATTN_MIX_DUPLICATE;
    if (of_key != ATTN_MIX_ELSEWHERE)
        return of_key;
    if (away <= 4)
        return ATTN_MIX_NEAR;
    return mixes->sentences[i] == mixes->sentences[key] ? ATTN_MIX_SENTENCE : of_key;
}

static void classify_cells(struct attn_head_mixes *mixes)
{
    for (size_t i = 0; i < mixes->n; i++)
        for (size_t key = 0; key < mixes->n; key++) {
            const enum attn_mix_class class = class_of(mixes, i, key);

            mixes->places[i * mixes->n + key] = place_of[class];
            mixes->is_repeated[i] |= class == ATTN_MIX_INDUCTION || class == ATTN_MIX_DUPLICATE;
        }
}

static enum attn_status build(struct attn_head_mixes *mixes, struct attn_error *err)
{
    const size_t n_slot = attn_selection_n_slot(mixes->selection);
    const size_t n_item = n_slot * (mixes->n_head + 1);

    ATTN_TRY(attn_parks_create(&mixes->settings, mixes->selection, &mixes->parks, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->heads, n_item, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->first_heads, n_slot, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->sums,
                              attn_size_mul(n_item, (size_t)N_SUM * mixes->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->row, mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->terms, mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->unused, mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->classes, mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->sentences, mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->places, mixes->n * mixes->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&mixes->store, mixes->is_repeated, mixes->n, err));
    for (size_t i = 0; i < n_item; i++)
        mixes->heads[i].sums = mixes->sums + i * N_SUM * mixes->n;
    for (size_t i = 0; i < n_slot; i++)
        mixes->first_heads[i] = -1;
    classify_keys(mixes);
    classify_cells(mixes);
    return ATTN_OK;
}

enum attn_status attn_head_mixes_create(const struct attn_metric_settings *settings,
                                        const struct attn_selection *selection,
                                        struct attn_head_mixes **mixes, struct attn_error *err)
{
    enum { FIRST_ROW = 4 }; /* earlier rows see too few keys to choose from */
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_head_mixes *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->settings = *settings;
    made->settings.has_sinks = attn_sites_have(dims->sites, ATTN_SITE_SINK);
    made->selection = selection;
    made->n = dims->n_position < ATTN_MIX_ROWS ? dims->n_position : ATTN_MIX_ROWS;
    made->n_head = dims->n_head;
    made->n_shown = settings->n_shown > 0 ? settings->n_shown : dims->n_position;
    made->first_row = made->n > (size_t)2 * FIRST_ROW ? FIRST_ROW : 1;
    ATTN_RETURN_MADE(build(made, err), mixes, made, attn_head_mixes_free);
}

void attn_head_mixes_free(struct attn_head_mixes *mixes)
{
    if (!mixes)
        return;
    attn_parks_free(mixes->parks);
    attn_free(mixes->types);
    attn_store_release(&mixes->store);
    attn_free(mixes);
}

enum attn_status attn_head_mixes_take_types(struct attn_head_mixes *mixes,
                                            const struct attn_model *model,
                                            const struct attn_blob *given, struct attn_error *err)
{
    return attn_head_types_read(model, given, &mixes->types, err);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Adds WEIGHTS [n_key] of row I to the sums of HEAD for classes that depend on the row. */
static void add_classes(const struct attn_head_mixes *mixes, const struct head *head, size_t i,
                        const float *weights, size_t n_key)
{
    const unsigned char *places = mixes->places + i * mixes->n;

    for (size_t key = 0; key < n_key; key++)
        if (places[key] > 0)
            head->sums[(OF_CLASSES + places[key] - 1) * mixes->n + key] += (double)weights[key];
}

/* Adds row I, with WEIGHTS [n_key] of which N_SEEN are of keys that it sees, to HEAD. */
static void add_row(const struct attn_head_mixes *mixes, struct head *head, size_t i,
                    const float *weights, size_t n_key, size_t n_seen)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = mixes->n;
    const double rest = 1 - (double)weights[0], of_rest = rest > 0 ? attn_log(rest) : 0;
    const double most = n_seen > 2 ? attn_log((double)(n_seen - 1)) : 0;
    double *sums = head->sums;
    double *repeated = mixes->is_repeated[i] ? sums + REPEATED * n : mixes->unused;

    head->n_row++;
    head->n_repeated += mixes->is_repeated[i];
    head->entropy += kernels->entropy(weights, n_key, mixes->terms);
    kernels->add_weighted(weights, n_key, of_rest, sums + REST * n, sums + TOTAL * n);
    kernels->add_weighted(weights, n_key, most, sums + MOST * n, repeated);
    for (size_t key = 0; key < n_key; key++) /* only parks, of large weights, are ever taken out */
        sums[ENTROPY * n + key] -= weights[key] >= 1.0F / 1024 ? mixes->terms[key] : 0;
    add_classes(mixes, head, i, weights, n_key);
}

/* Adds an even row R of EVENT, over the N_SEEN keys that it sees, which are among the first N_KEY,
 * to LAYER, of which only classes are asked. */
static void add_even(const struct attn_head_mixes *mixes, struct head *layer,
                     const struct attn_trace_event *event, size_t r, size_t n_key, size_t n_seen)
{
    const int32_t *mask = mixes->settings.key_mask;
    const float share = 1 / (float)(n_seen > 0 ? n_seen : 1);
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;

    memset(mixes->row, 0, n_key * sizeof *mixes->row);
    while (attn_row_next(&row, &cells))
        for (size_t key = cells.first; key < cells.first + cells.n && key < n_key; key++)
            mixes->row[key] = !mask || mask[key] != 0 ? share : 0;
    for (size_t key = 0; key < n_key; key++)
        layer->sums[TOTAL * mixes->n + key] += (double)mixes->row[key];
    add_classes(mixes, layer, event->row0 + r, mixes->row, n_key);
}

static void add_cross(struct head *head, const struct attn_metric_row *row, size_t n_seen)
{
    const size_t last = attn_metric_source_last(row);

    head->n_row++;
    head->entropy +=
        attn_kernels_find(ATTN_ISA_BEST)->entropy(row->cells.values, row->cells.n, NULL);
    head->rest += n_seen > 1 ? attn_log((double)n_seen) : 0;
    head->crossed++;
    head->parked +=
        attn_metric_weight(&row->cells, 0) + (last > 0 ? attn_metric_weight(&row->cells, last) : 0);
}

/* Keeps the largest weights of ROW, but for the first key, those at the query, and [SEP]. */
static void keep_large(const struct attn_metric_settings *settings, struct head *head,
                       struct attn_row row, size_t query)
{
    struct attn_cells cells;

    while (attn_row_next(&row, &cells))
        for (size_t c = 0; c < cells.n; c++) {
            struct large item = {cells.first + c, (double)cells.values[c]};

            if (item.key == 0 || item.key + 1 == query || item.key == query ||
                item.key == query + 1 ||
                (settings->tokens && item.key < settings->n_token &&
                 attn_metric_is_separator(settings->tokens[item.key],
                                          settings->token_sizes[item.key])))
                continue;
            for (size_t k = 0; k < N_LARGE; k++)
                if (item.weight > head->large[k].weight) {
                    const struct large smaller = head->large[k];

                    head->large[k] = item;
                    item = smaller;
                }
        }
}

/* Returns the number of keys that row R of EVENT sees. They are among the first *n_key, at least
 * 1. */
static size_t count_keys(const struct attn_head_mixes *mixes, const struct attn_trace_event *event,
                         size_t r, size_t *n_key)
{
    const int32_t *mask = mixes->settings.key_mask;
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;
    size_t n_seen = 0;

    *n_key = 1;
    while (attn_row_next(&row, &cells)) {
        const size_t end = cells.first + cells.n < mixes->n ? cells.first + cells.n : mixes->n;

        for (size_t key = cells.first; mask && key < end; key++)
            n_seen += mask[key] != 0;
        n_seen += !mask && end > cells.first ? end - cells.first : 0;
        *n_key = end > *n_key ? end : *n_key;
    }
    return n_seen;
}

static void add_pattern(struct attn_head_mixes *mixes, const struct attn_trace_event *event)
{
    const size_t slot = (size_t)attn_selection_slot(mixes->selection, &event->at);
    struct head *heads = mixes->heads + slot * (mixes->n_head + 1), *head = heads + event->at.head;
    const bool is_cross = attn_location_is_cross(attn_selection_dims(mixes->selection), &event->at);
    struct attn_metric_row row = {.settings = &mixes->settings, .is_cross = is_cross};

    if (mixes->first_heads[slot] < 0)
        mixes->first_heads[slot] = event->at.head;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t i = event->row0 + r;
        size_t n_seen, n_key;

        row.cells = attn_event_row(event, r);
        if (is_cross) {
            add_cross(head, &row, row.cells.n);
            continue;
        }
        if (i + 1 == mixes->n_shown)
            keep_large(&mixes->settings, head, row.cells, i);
        if (i < mixes->first_row || i >= mixes->n || event->ahead > 0)
            continue;
        n_seen = count_keys(mixes, event, r, &n_key);
        attn_event_copy_row(event, r, mixes->row, n_key);
        add_row(mixes, head, i, mixes->row, n_key, n_seen);
        if (event->at.head == mixes->first_heads[slot])
            add_even(mixes, heads + mixes->n_head, event, r, n_key, n_seen);
    }
}

void attn_head_mixes_add(struct attn_head_mixes *mixes, const struct attn_trace_event *event)
{
    attn_parks_add(mixes->parks, event);
    if (event->at.site == ATTN_SITE_PATTERN)
        add_pattern(mixes, event);
}

/* --- Results ---------------------------------------------------------------------------------- */

/* Adds the weights of HEAD by class to WEIGHTS, without parks. Returns the weight on parks. */
static double sum_classes(const struct attn_head_mixes *mixes, const struct head *head,
                          double *weights)
{
    const size_t n = mixes->n;
    double parked = 0;

    for (size_t key = 0; key < n; key++) {
        double of_key = head->sums[TOTAL * n + key];

        if (mixes->is_parked[key]) {
            parked += of_key;
            continue;
        }
        for (size_t k = 0; k < N_OF_ROWS; k++) {
            weights[of_rows[k]] += head->sums[(OF_CLASSES + k) * n + key];
            of_key -= head->sums[(OF_CLASSES + k) * n + key];
        }
        weights[mixes->classes[key]] += fmax(of_key, 0);
    }
    return parked;
}

/* Fills the entropy of the rest of HEAD. With one park at the first position it is exact: the sum
 * over rows of -sum w ln w + r ln r, where r is the rest. */
static void find_entropy(const struct attn_head_mixes *mixes, const struct head *head,
                         struct attn_head_mix *mix)
{
    const size_t n = mixes->n;
    double rest = 0, before = head->n_row - head->sums[TOTAL * n];

    mix->entropy = head->entropy;
    for (size_t key = 0; key < n; key++) {
        if (mixes->is_parked[key]) {
            mix->entropy -= head->sums[ENTROPY * n + key];
            continue;
        }
        rest += head->sums[TOTAL * n + key];
        mix->repeated += head->sums[REPEATED * n + key];
        mix->entropy += head->sums[REST * n + key];
        mix->most_entropy += head->sums[MOST * n + key];
    }
    mix->entropy += rest > 0 && before > 0 ? rest * attn_log(rest / before) : 0;
}

void attn_head_mixes_find(struct attn_head_mixes *mixes, const struct attn_location *at,
                          struct attn_head_mix *mix)
{
    const size_t slot = (size_t)attn_selection_slot(mixes->selection, at);
    const struct head *heads = mixes->heads + slot * (mixes->n_head + 1);
    const struct head *head = heads + at->head;

    *mix = (struct attn_head_mix){.n_row = head->n_row, .n_repeated = head->n_repeated};
    if (!mixes->is_parked)
        mixes->is_parked = attn_parks_find(mixes->parks);
    if (head->crossed > 0) {
        mix->parked = head->parked;
        mix->weights[ATTN_MIX_ELSEWHERE] = mix->even[ATTN_MIX_ELSEWHERE] =
            head->n_row - head->parked;
        mix->entropy = head->entropy;
        mix->most_entropy = head->rest;
        return;
    }
    mix->parked = sum_classes(mixes, head, mix->weights);
    if (mixes->settings.has_sinks) /* what no key has lies on the sink of the head */
        for (size_t key = 0; key < mixes->n; key++)
            mix->parked += key == 0 ? head->n_row - head->sums[TOTAL * mixes->n]
                                    : -head->sums[TOTAL * mixes->n + key];
    sum_classes(mixes, heads + mixes->n_head, mix->even);
    find_entropy(mixes, head, mix);
}

struct attn_head_type attn_head_mixes_type(struct attn_head_mixes *mixes,
                                           const struct attn_location *at)
{
    const size_t i = (size_t)at->layer * mixes->n_head + (size_t)at->head;
    struct attn_head_mix mix;

    attn_head_mixes_find(mixes, at, &mix); /* finds the parks, too */
    return mixes->types && mixes->types[i].kind ? mixes->types[i] : attn_head_type_of(&mix, 0);
}

bool attn_head_mixes_is_park(const struct attn_head_mixes *mixes, size_t key)
{
    return mixes->is_parked && key < mixes->n && mixes->is_parked[key];
}

double attn_first_head_look(const struct attn_head_mixes *mixes, const struct attn_location *at,
                            size_t *key)
{
    const size_t slot = (size_t)attn_selection_slot(mixes->selection, at);
    const struct head *head = mixes->heads + slot * (mixes->n_head + 1) + at->head;

    for (size_t k = 0; k < N_LARGE; k++)
        if (head->large[k].weight > 0 && !attn_head_mixes_is_park(mixes, head->large[k].key)) {
            *key = head->large[k].key;
            return head->large[k].weight;
        }
    return 0;
}

/* --- The head that a view opens with ---------------------------------------------------------- */

double attn_first_head_rank(double look, double effect)
{
    static const double least = 0.34; /* weight on one word */

    return isnan(effect) ? look : (look >= least) + effect / (1 + effect);
}

double attn_first_head_effect(const struct attn_table *effects, const struct attn_location *at)
{
    for (size_t i = 0; effects && i < attn_table_n_row(effects); i++) {
        const struct attn_cell layer =
            attn_table_cell(effects, i, attn_table_find(effects, "layer"));
        const struct attn_cell head = attn_table_cell(effects, i, attn_table_find(effects, "head"));
        const struct attn_cell kl = attn_table_cell(effects, i, attn_table_find(effects, "kl"));

        if (layer.type == ATTN_VALUE_INTEGER && layer.integer == at->layer &&
            head.type == ATTN_VALUE_INTEGER && head.integer == at->head)
            return kl.type == ATTN_VALUE_REAL ? (double)(float)kl.real : (double)NAN;
    }
    return (double)NAN;
}

double attn_first_head_of(const struct attn_table *answer, const struct attn_location *at,
                          double look)
{
    char name[32];

    snprintf(name, sizeof name, "%d.%d", at->layer, at->head);
    for (size_t i = 0; answer && i < attn_table_n_row(answer); i++) {
        const struct attn_cell part = attn_table_cell(answer, i, attn_table_find(answer, "part"));

        if (attn_cell_word(&part, name) < SIZE_MAX)
            return 1 + fabs(attn_table_cell(answer, i, attn_table_find(answer, "writes")).real);
    }
    return look;
}

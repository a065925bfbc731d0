/* heads_readers.c - the list of the readers of `heads`, and the short ones: pictures, long
 * contexts, measures and kinds, a given pattern, cards. */
#include "heads/heads_columns.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "heads/examples_internal.h"
#include "kernels/kernels.h"
#include "measures/analysis_internal.h"
#include "measures/head_cards_internal.h"
#include "measures/metric.h"
#include "measures/run_measures.h"
#include "run/host_internal.h"
#include "tables/table_internal.h"
#include "towers/maps/picture_maps.h"
#include "trace/trace_internal.h"

#include <math.h>

/* --- Pictures --------------------------------------------------------------------------------- */

/* The reader for texts with a picture: shares of the regions, and how each head looks at the
 * picture. */

/* Creates the maps over the picture. Their rows are the positions of `from`, or those that predict
 * the answer. */
static enum attn_status begin(struct attn_heads_run *heads, void **reading, struct attn_error *err)
{
    const struct attn_run *run = heads->frame.run;
    struct attn_picture_maps_args args = {
        .text = &run->text, .selection = run->selection, .drop_sinks = heads->drop_sinks};
    struct attn_number_list rows = heads->args->from;
    struct attn_picture_maps *maps = NULL;
    struct attn_selection *chosen = NULL;
    char *numbers = NULL;
    enum attn_status status = ATTN_OK;

    if (run->text.seen.n_picture == 0)
        return ATTN_OK;
    for (size_t i = run->text.seen.n_image; i < ATTN_MOST_MEASURED_PICTURE && !heads->frame.item;
         i++)
        if (heads->args->measures & ATTN_MEASURE_BIT(ATTN_MEASURE_PICTURE_0 + i))
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`measures` names 'picture_%zu', and the text has %zu picture%s", i,
                               run->text.seen.n_image, run->text.seen.n_image == 1 ? "" : "s");
    if (attn_number_list_is_given(&rows) && !heads->has_pairs) {
        if (rows.n == 0)
            ATTN_TRY(attn_error_at(
                attn_error_in(attn_positions_number(&run->text, rows.text, &numbers, err), "from",
                              err),
                ATTN_STAGE_OPTIONS, err));
        rows.text = numbers;
        status = attn_selection_copy(run->selection, &chosen, err);
        ATTN_THEN(status, attn_selection_choose_queries(chosen, ATTN_STACK_ONLY, &rows, err));
        args.selection = chosen;
    }
    ATTN_THEN(status, attn_picture_maps_create(&args, &maps, err));
    *reading = maps;
    attn_selection_free(chosen);
    attn_free(numbers);
    return status;
}

static enum attn_status add(const struct attn_heads_run *heads, void *reading,
                            const struct attn_trace_event *event, struct attn_error *err)
{
    (void)heads, (void)err;
    attn_picture_maps_add(reading, event);
    return ATTN_OK;
}

static enum attn_status finish(struct attn_heads_run *heads, void *reading, struct attn_error *err)
{
    static const int shares[] = {
        [ATTN_SHARE_OTHER] = ATTN_HEAD_OF_OTHER,
        [ATTN_SHARE_PICTURE] = ATTN_HEAD_OF_PICTURE,
        [ATTN_SHARE_QUESTION] = ATTN_HEAD_OF_QUESTION,
        [ATTN_SHARE_ANSWER] = ATTN_HEAD_OF_ANSWER,
        [ATTN_SHARE_SINKS] = ATTN_HEAD_OF_PICTURE_SINKS,
    };
    /* the share of the picture from which on heads are kept, in JSON */
    static const struct attn_column about_localized = ATTN_COLUMN_REAL("threshold", 4, NULL, SHARE);
    const size_t n = heads->parts.n,
                 most = heads->args->picture.n_kept > 0 ? heads->args->picture.n_kept : 10;
    struct attn_head_picture *pictures = attn_frame_alloc(&heads->frame, n, sizeof *pictures);
    struct attn_location *ats = attn_frame_alloc(&heads->frame, n, sizeof *ats);
    double threshold;

    ATTN_TRY(attn_frame_memory(&heads->frame, err));
    for (size_t i = 0; i < n; i++) {
        ats[i] = heads->parts.items[i].at;
        ATTN_TRY(attn_head_pictures_find(reading, &ats[i], &pictures[i], err));
    }
    ATTN_TRY(attn_head_pictures_rank(ats, pictures, n, &threshold, err));
    for (size_t i = 0; i < n; i++) {
        double *found = heads->found + i * ATTN_N_HEAD_COLUMN;

        for (size_t k = 0; k < ATTN_N_SHARE; k++)
            found[shares[k]] = pictures[i].shares[k];
        for (size_t k = 0; k < ATTN_MOST_MEASURED_PICTURE; k++)
            found[ATTN_HEAD_OF_PICTURE_0 + k] =
                k < attn_picture_maps_n_image(reading)
                    ? attn_picture_maps_image_share(reading, &ats[i], k)
                    : (double)NAN;
        found[ATTN_HEAD_OF_SPATIAL_ENTROPY] = pictures[i].entropy;
        found[ATTN_HEAD_OF_N_BLOB] = pictures[i].n_blob;
        found[ATTN_HEAD_BOTTOM_ROW] = pictures[i].bottom > 0.05;
        found[ATTN_HEAD_KEPT] = pictures[i].is_kept;
        found[ATTN_HEAD_RANK] = pictures[i].rank > 0 ? pictures[i].rank : (double)NAN;
        found[ATTN_HEAD_SELECTED] = pictures[i].rank > 0 && pictures[i].rank <= (double)most;
    }
    if (!heads->args->picture.is_localized || heads->frame.item)
        return ATTN_OK;
    const struct attn_cell cell = attn_cell_real(threshold);

    return attn_table_set_about(heads->frame.rows.table, &about_localized, &cell, 1, err);
}

static void release(void *reading)
{
    attn_picture_maps_free(reading);
}

static const struct attn_head_reader pictures_reader = {
    .begin = begin, .reads_all = true, .add = add, .finish = finish, .release = release};

/* --- Contexts --------------------------------------------------------------------------------- */

/* The readers for long contexts: what a cache of keys that keeps the first keys and a window keeps
 * of a head's weight, and what it loses; and a needle in a haystack. */

/* Returns the weight of CELLS on the keys FIRST .. END - 1. */
static double weight_on(struct attn_row cells, size_t first, size_t end)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    struct attn_cells run;
    double sum = 0;

    while (attn_row_next(&cells, &run) && run.first < end) {
        const size_t begin = run.first < first ? first - run.first : 0;
        const size_t last = end - run.first < run.n ? end - run.first : run.n;

        if (begin < last)
            sum += (double)kernels->sum(run.values + begin, last - begin);
    }
    return sum;
}

/* Whether the rows of EVENT look at the text that they are of. */
static bool is_of_text(const struct attn_heads_run *heads, const struct attn_trace_event *event)
{
    return event->at.stack != ATTN_STACK_ENCODER &&
           !attn_location_is_cross(attn_selection_dims(heads->frame.run->selection), &event->at);
}

/* --- Sinks ------------------------------------------------------------------------------------ */

/* The sums of a head. */
struct sums {
    double sink, distant;
    size_t n_sink, n_distant; /* rows that have such keys */
};

static enum attn_status begin_sinks(struct attn_heads_run *heads, void **reading,
                                    struct attn_error *err)
{
    if (heads->args->n_near == 0)
        return ATTN_OK;
    *reading = attn_frame_alloc(&heads->frame, heads->parts.n, sizeof(struct sums));
    return attn_frame_memory(&heads->frame, err);
}

static enum attn_status add_sinks(const struct attn_heads_run *heads, void *reading,
                                  const struct attn_trace_event *event, struct attn_error *err)
{
    struct sums *sums = (struct sums *)reading + attn_parts_find(&heads->parts, &event->at);
    const size_t n_sink = heads->args->n_sink, n_near = heads->args->n_near;

    (void)err;
    for (size_t r = 0; r < event->n_row && is_of_text(heads, event); r++) {
        const struct attn_row cells = attn_event_row(event, r);
        const size_t query = event->row0 + r + event->ahead;

        if (query < n_sink)
            continue;
        sums->sink += weight_on(cells, 0, n_sink);
        sums->n_sink++;
        if (query - n_sink < n_near)
            continue;
        sums->distant += weight_on(cells, n_sink, query - n_near + 1);
        sums->n_distant++;
    }
    return ATTN_OK;
}

static void find_sinks(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct sums *sums = (const struct sums *)reading + i;

    (void)heads;
    found[ATTN_HEAD_SINK_MASS] = sums->sink / (double)sums->n_sink; /* NaN if there are no rows */
    found[ATTN_HEAD_DISTANT] = sums->distant / (double)sums->n_distant;
}

static const struct attn_head_reader sinks_reader = {
    .begin = begin_sinks, .add = add_sinks, .find = find_sinks};

/* --- A needle --------------------------------------------------------------------------------- */

/* The sums of a head over the rows of the needle that comes again. */
struct copies {
    double n_found, weight; /* rows whose largest weight is on the token to be copied */
    size_t n;
};

static enum attn_status begin_needle(struct attn_heads_run *heads, void **reading,
                                     struct attn_error *err)
{
    if (!heads->args->probe.is_needle)
        return ATTN_OK;
    *reading = attn_frame_alloc(&heads->frame, heads->parts.n, sizeof(struct copies));
    return attn_frame_memory(&heads->frame, err);
}

static enum attn_status add_needle(const struct attn_heads_run *heads, void *reading,
                                   const struct attn_trace_event *event, struct attn_error *err)
{
    struct copies *copies = (struct copies *)reading + attn_parts_find(&heads->parts, &event->at);
    const struct attn_heads_probe *probe = &heads->args->probe;
    const size_t n = heads->frame.run->text.n, first = n - ATTN_NEEDLE_LENGTH;
    /* the place of the needle among all tokens, of which some may stand in front of the probe */
    const size_t place =
        first - probe->length + attn_needle_place(probe->length, heads->args->probe.needle_depth);

    (void)err;
    for (size_t r = 0; r < event->n_row && is_of_text(heads, event); r++) {
        const size_t query = event->row0 + r;
        const struct attn_metric_row row = {.query = query, .cells = attn_event_row(event, r)};
        size_t key;

        if (query < first || isnan(attn_metric_find_key(&row, false, &key)))
            continue;
        copies->n++;
        copies->n_found += key == place + (query - first) + 1;
        copies->weight += attn_metric_weight(&row.cells, place + (query - first) + 1);
    }
    return ATTN_OK;
}

static void find_needle(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct copies *copies = (const struct copies *)reading + i;

    (void)heads;
    found[ATTN_HEAD_RETRIEVAL] = copies->n_found / (double)copies->n; /* NaN without rows */
    found[ATTN_HEAD_NEEDLE_MASS] = copies->weight / (double)copies->n;
    found[ATTN_HEAD_N_RETRIEVAL] = (double)copies->n;
}

static const struct attn_head_reader needle_reader = {
    .begin = begin_needle, .add = add_needle, .find = find_needle};

/* --- Measures and kinds ----------------------------------------------------------------------- */

/* The sums over the rows of the text; and over those of the encoder beside a decoder. */
struct stack {
    struct attn_measure_group group; /* owns */
    struct attn_head_mixes *mixes;   /* owns; NULL: types are not shown */
    struct attn_selection *own;      /* owns; the selection of the encoder's heads; or NULL */
};

static enum attn_status choose_measures(struct attn_heads_run *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;

    if (!attn_heads_have_types(heads))
        return ATTN_OK;
    if (!frame->stream)
        frame->request.selection.sites = "pattern,resid_pre";
    heads->mixes = attn_frame_alloc(frame, heads->parts.n, sizeof *heads->mixes);
    return attn_frame_memory(frame, err);
}

static enum attn_status begin_stack(struct attn_heads_run *heads,
                                    const struct attn_metric_settings *settings,
                                    const struct attn_selection *selection, struct stack *stack,
                                    struct attn_error *err)
{
    ATTN_TRY(attn_measure_group_create(heads->shown, settings, selection,
                                       attn_host_pool(heads->frame.host, 1e9), &stack->group, err));
    return heads->mixes ? attn_head_mixes_create(settings, selection, &stack->mixes, err) : ATTN_OK;
}

static enum attn_status begin_measures(struct attn_heads_run *heads, void **reading,
                                       struct attn_error *err)
{
    const struct attn_run *run = heads->frame.run;
    const struct attn_metric_settings settings = attn_run_metric_settings(run),
                                      of_source = attn_run_source_settings(run);
    struct stack *stacks = attn_frame_alloc(&heads->frame, 2, sizeof *stacks);

    ATTN_TRY(attn_frame_memory(&heads->frame, err));
    *reading = stacks;
    ATTN_TRY(begin_stack(heads, &settings, run->selection, &stacks[0], err));
    if (!heads->encoder)
        return ATTN_OK;
    ATTN_TRY(attn_selection_copy_stack(run->selection, ATTN_STACK_ENCODER, &stacks[1].own, err));
    return begin_stack(heads, &of_source, stacks[1].own, &stacks[1], err);
}

static enum attn_status add_measures(const struct attn_heads_run *heads, void *reading,
                                     const struct attn_trace_event *event, struct attn_error *err)
{
    struct stack *stack = (struct stack *)reading + (event->at.stack == ATTN_STACK_ENCODER);

    (void)heads, (void)err;
    if (stack->mixes)
        attn_head_mixes_add(stack->mixes, event);
    if (event->at.site == ATTN_SITE_PATTERN)
        attn_measure_group_add(&stack->group, event);
    return ATTN_OK;
}

static void find_measures(const struct attn_heads_run *heads, void *reading, size_t i,
                          double *found)
{
    const struct attn_location *at = &heads->parts.items[i].at;
    const struct stack *stack = (struct stack *)reading + (at->stack == ATTN_STACK_ENCODER);

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((heads->shown & ATTN_MEASURE_BIT(m)) != 0)
            found[attn_head_column_of[m]] =
                attn_measure_group_find(&stack->group, (enum attn_measure)m, at);
    if (stack->mixes)
        attn_head_mixes_find(stack->mixes, at, &heads->mixes[i]);
}

static enum attn_status take_measures(struct attn_heads_run *heads,
                                      const struct attn_item_result *result, struct attn_error *err)
{
    /* [n_layer * n_head] values per measure, one measure after another */
    const double *exact = result->heads.exact;
    const struct attn_dims *dims = attn_selection_dims(result->labels->selection);

    (void)err;
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if ((heads->shown & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        for (size_t i = 0; i < heads->parts.n; i++)
            heads->found[i * ATTN_N_HEAD_COLUMN + (size_t)attn_head_column_of[m]] =
                exact[attn_head_index(dims, &heads->parts.items[i].at)];
        exact += dims->n_layer * dims->n_head;
    }
    for (size_t i = 0; i < heads->parts.n && heads->mixes; i++)
        heads->mixes[i] = result->heads.mixes[attn_head_index(dims, &heads->parts.items[i].at)];
    return ATTN_OK;
}

static void release_measures(void *reading)
{
    for (struct stack *stack = reading; stack < (struct stack *)reading + 2; stack++) {
        attn_measure_group_release(&stack->group);
        attn_head_mixes_free(stack->mixes);
        attn_selection_free(stack->own);
    }
}

static const struct attn_head_reader measures = {
    .choose = choose_measures,
    .begin = begin_measures,
    .reads_all = true,
    .add = add_measures,
    .find = find_measures,
    .take = take_measures,
    .release = release_measures,
};

/* --- A given pattern -------------------------------------------------------------------------- */

/* The comparison of a head with the pattern. */
struct match {
    double product, weight, difference; /* sums over the rows of A P, of A, and of |A - P| */
};

static enum attn_status begin_pattern(struct attn_heads_run *heads, void **reading,
                                      struct attn_error *err)
{
    const struct attn_ndarray *pattern = heads->args->pattern;
    const size_t n = heads->frame.run->text.n;

    if (!pattern)
        return ATTN_OK;
    if (pattern->rank != 2 || pattern->shape[0] != n || pattern->shape[1] != n)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "'%s' is not [%zu, %zu], a cell for each pair of tokens",
                           attn_quote_string(pattern->name).text, n, n);
    heads->row = attn_frame_alloc(&heads->frame, n, sizeof *heads->row);
    *reading = attn_frame_alloc(&heads->frame, heads->parts.n, sizeof(struct match));
    return attn_frame_memory(&heads->frame, err);
}

static enum attn_status add_pattern(const struct attn_heads_run *heads, void *reading,
                                    const struct attn_trace_event *event, struct attn_error *err)
{
    const size_t n = heads->args->pattern->shape[1];
    struct match *match = (struct match *)reading + attn_parts_find(&heads->parts, &event->at);

    (void)err;
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
    return ATTN_OK;
}

static void find_pattern(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct match *match = (struct match *)reading + i;

    found[ATTN_HEAD_MUL] = match->product / match->weight;
    found[ATTN_HEAD_ABS] = 1 - match->difference / (double)heads->frame.run->text.n;
}

static const struct attn_head_reader pattern = {
    .begin = begin_pattern, .add = add_pattern, .find = find_pattern};

/* --- Cards ------------------------------------------------------------------------------------ */

/* Gives the cards the heads that have rows, before the first text. */
static enum attn_status choose_cards(struct attn_heads_run *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    struct attn_head_cards *cards = heads->args->cards;
    const size_t n_vector = attn_head_cards_vector(attn_host_model(frame->host));
    struct attn_location *ats;

    if (!cards)
        return ATTN_OK;
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

static enum attn_status begin_cards(struct attn_heads_run *heads, void **reading,
                                    struct attn_error *err)
{
    const struct attn_run *run = heads->frame.run;
    struct attn_card_reading *card = NULL;

    if (heads->args->cards)
        ATTN_TRY(attn_card_reading_create(heads->args->cards,
                                          run->text.n > run->source.n ? run->text.n : run->source.n,
                                          run->source.key_mask, &card, err));
    heads->needs_parks |= card != NULL;
    *reading = card;
    return ATTN_OK;
}

static void park_cards(void *reading, const bool *const is_parked[2])
{
    attn_card_reading_park(reading, is_parked);
}

static enum attn_status add_cards(const struct attn_heads_run *heads, void *reading,
                                  const struct attn_trace_event *event, struct attn_error *err)
{
    const bool is_encoder = event->at.stack == ATTN_STACK_ENCODER;
    const struct attn_config *config = is_encoder ? heads->encoder : heads->frame.config;
    const size_t head = attn_head_cards_find(heads->args->cards, &event->at);

    if (event->at.site == ATTN_SITE_V && !is_encoder)
        return attn_card_reading_keep(reading, event, err);
    if (event->at.site == ATTN_SITE_PATTERN && head < SIZE_MAX)
        attn_card_reading_add(
            reading, head, event->at.head / (int)(config->n_head / config->n_kv_head),
            !is_encoder && attn_location_is_cross(attn_selection_dims(heads->frame.run->selection),
                                                  &event->at),
            event);
    return ATTN_OK;
}

static enum attn_status finish_cards(struct attn_heads_run *heads, void *reading,
                                     struct attn_error *err)
{
    struct attn_card_text text = {.number = 0};
    enum attn_status status =
        attn_card_text_read(heads->frame.run, heads->frame.item, true, &text, err);

    ATTN_THEN(status, attn_head_cards_add(heads->args->cards, reading, &text, err));
    attn_card_text_release(&text);
    return status;
}

static void release_cards(void *reading)
{
    attn_card_reading_free(reading);
}

static const struct attn_head_reader cards = {
    .choose = choose_cards,
    .begin = begin_cards,
    .park = park_cards,
    .reads_all = true,
    .add = add_cards,
    .finish = finish_cards,
    .release = release_cards,
};

/* Cards come last: they select all sites that any reader needs, and a text of which an effect
 * cannot be found is in none. */
const struct attn_head_reader *const attn_head_readers[ATTN_N_HEAD_READER] = {
    &measures,
    &pattern,
    &sinks_reader,
    &needle_reader,
    &attn_word_pairs_reader,
    &pictures_reader,
    &attn_head_effects_reader,
    &cards};

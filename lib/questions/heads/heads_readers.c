/* heads_readers.c - the list of the readers of `heads`, and the short ones: measures and kinds, a
 * given pattern, cards. */
#include "heads/heads_internal.h"

#include "base/status_internal.h"
#include "heads/examples_internal.h"
#include "measures/analysis_internal.h"
#include "measures/head_cards_internal.h"
#include "measures/run_measures.h"
#include "run/host_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

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
    ATTN_TRY(attn_measure_group_create(heads->shown, settings, selection, heads->frame.host->pool,
                                       &stack->group, err));
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
    const double *exact = result->exact;
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
        heads->mixes[i] = result->mixes[attn_head_index(dims, &heads->parts.items[i].at)];
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
    &attn_head_sinks_reader,
    &attn_head_needle_reader,
    &attn_word_pairs_reader,
    &attn_head_pictures_reader,
    &attn_head_effects_reader,
    &cards};

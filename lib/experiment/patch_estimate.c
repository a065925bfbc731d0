/*
 * patch_estimate.c - see patch_estimate.h. part_sums.c finds the estimates; here they become rows,
 * and some are patched by trials, as patch.c does.
 */
#include "experiment/patch_estimate.h"

#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/part_sums.h"
#include "experiment/patch_internal.h"
#include "run/position.h"
#include "run/request_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PART = 2 }; /* after base and source */
enum { DEFAULT_POINTS = 5, DEFAULT_MOST = 20, SHOWN_DIFFERENCES = 4 };

static const double confidence = 0.95;

enum {
    PART,
    LAYER,
    NEURON,
    HEAD,
    KV_HEAD,
    POSITION,
    PLACE,
    TOKEN,
    ESTIMATE,
    VALUE,
    EFFECT,
    CHECK,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN("part", TEXT),
    [LAYER] = ATTN_COLUMN("layer", INTEGER),
    [NEURON] = ATTN_COLUMN("neuron", INTEGER),
    [HEAD] = ATTN_COLUMN("head", INTEGER),
    [KV_HEAD] = ATTN_COLUMN("kv_head", INTEGER),
    [POSITION] = ATTN_COLUMN("position", INTEGER),
    [PLACE] = ATTN_COLUMN("position", TEXT),
    [TOKEN] = ATTN_COLUMN("token", TEXT),
    [ESTIMATE] = ATTN_COLUMN_REAL("estimate", 6, NULL, SIGNED),
    [VALUE] = ATTN_COLUMN_REAL("value", 6, NULL, SIGNED),
    [EFFECT] = ATTN_COLUMN_REAL("effect", 6, NULL, SIGNED),
    [CHECK] = ATTN_COLUMN("check", TEXT),
};

enum check { CHECK_NONE, CHECK_TOP, CHECK_RANDOM };

/* A head, a position, a place, a neuron: what a row is about. */
struct part {
    int layer;
    size_t unit; /* head or neuron */
    size_t row;  /* position, or place; of a head together it is not used */
    double estimate, effect;
    double value;
    enum check check;
};

struct estimation {
    /* Its run is that of the clean text, the other that of the corrupted. */
    struct attn_frame frame;
    const struct attn_patch_estimate_args *args;
    struct attn_run *base, *source;
    enum attn_site site;
    struct attn_answer answer; /* in the base */
    const char *queries;       /* NULL: all */
    unsigned char *rows;       /* [T] the frame's: positions that are patched, or NULL */
    bool is_by_head, is_by_row;
    struct attn_patch_places places;
    struct attn_part_sums *sums; /* owns */
    struct part *parts;          /* [n_part] the frame's, in the order of the table */
    size_t n_part;
    size_t *order;                   /* [n_part] the frame's: by |estimate|, descending; NULL
                                        where nothing asks for it */
    size_t n_top, n_random, n_shown; /* the first of that; those drawn after it; rows */
    double base_value, source_value;
    bool can_restore; /* the two differ enough for effects */
};

/* --- What is asked for ------------------------------------------------------------------------ */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_patch_estimate_args *args = given;

    if (!attn_is_choice(args->method, ATTN_N_ESTIMATE_METHOD, "method", err))
        return ATTN_INVALID;
    return attn_patch_check_places(args->places, args->n_place, err);
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct estimation *e = state;
    struct attn_request *request = &e->frame.request;

    e->args = e->frame.args;
    e->queries = request->selection.queries;
    ATTN_TRY(attn_patch_find_site(e->args->site, true, &e->site, err));
    e->is_by_head = attn_site_layout(e->site) != ATTN_LAYOUT_VECTOR;
    e->is_by_row = e->is_by_head ? e->args->is_by_position : e->site != ATTN_SITE_MLP_POST;
    if (e->queries && !e->is_by_head)
        return attn_error_set(err, ATTN_INVALID, "queries need a site with heads; '%s' has none",
                              attn_site_name(e->site));
    if (e->args->is_by_position && e->site == ATTN_SITE_MLP_POST)
        return attn_error_set(err, ATTN_INVALID,
                              "neurons of 'mlp_post' are estimated over all positions, not `by` "
                              "position");
    if (e->args->n_place > 0 && (e->is_by_head || e->site == ATTN_SITE_MLP_POST)) {
        attn_error_set(err, ATTN_INVALID,
                       "`places` need a site without heads or neurons; '%s' is estimated by %s",
                       attn_site_name(e->site), e->is_by_head ? "head" : "neuron");
        if (e->is_by_head)
            attn_error_hint(err, "`queries` takes some positions of each head");
        return ATTN_INVALID;
    }
    if (e->args->study && e->args->study->paired)
        return attn_error_set(err, ATTN_INVALID,
                              "an estimate is a share of the mean difference of both texts, and "
                              "`paired` has none");
    if (e->frame.item && e->frame.item->queries && e->is_by_head)
        e->queries = e->frame.item->queries;
    attn_frame_choose_nothing(request);
    return ATTN_OK;
}

static enum attn_status check_run(const struct estimation *e, struct attn_error *err)
{
    const struct attn_run *run = e->frame.run;

    if (run->n_edit > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are those of an unchanged run, and this one has edits");
    ATTN_TRY(attn_backward_check(run->model, run->attention.layers, err));
    if ((attn_selection_dims(run->selection)->sites & ATTN_SITE_BIT(e->site)) == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no '%s'",
                              attn_quote_string(attn_model_name(run->model)).text,
                              attn_site_name(e->site));
    return attn_answer_check_goal(&e->answer, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct estimation *e = state;
    struct attn_frame *frame = &e->frame;

    ATTN_TRY(attn_frame_find_answer(frame, &e->args->answer, &e->answer, err));
    ATTN_TRY(attn_error_at(check_run(e, err), ATTN_STAGE_OPTIONS, err));
    frame->request.input = e->args->corrupted;
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &frame->other, err));
    ATTN_TRY(attn_patch_check_lengths(frame, err));
    e->base = e->args->is_to_noise ? frame->run : frame->other;
    e->source = e->args->is_to_noise ? frame->other : frame->run;
    e->answer.run = e->base;
    if (!e->is_by_head)
        ATTN_TRY(attn_patch_find_places(frame, e->args->places, e->args->n_place, &e->places, err));
    if (!e->queries)
        return ATTN_OK;
    e->rows = attn_frame_alloc(frame, frame->run->text.n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    return attn_error_in(attn_run_find_positions(frame->run, e->queries, e->rows, err), "queries",
                         err);
}

/* --- Estimates -------------------------------------------------------------------------------- */

static size_t n_point(const struct estimation *e)
{
    return e->args->n_point > 0 ? e->args->n_point : (size_t)DEFAULT_POINTS;
}

static void on_progress(void *user, size_t n_done, size_t n_total)
{
    const struct estimation *e = user;

    attn_frame_report(&e->frame, n_done, n_total + (e->args->n_verified > 0 ? 1 : 0));
}

/* Whether PART has position ROW. */
static bool has_row(const struct estimation *e, const struct part *part, size_t row)
{
    if (e->places.n > 0)
        return e->places.is_of_place[part->row * e->base->text.n + row] != 0;
    if (e->is_by_row && part->row != row)
        return false;
    return !e->rows || e->rows[row] != 0;
}

/* Adds the parts of one head, neuron or layer: sums over their rows. Parts without rows are left
 * out, but for places, which have names. */
static void take_sums(struct estimation *e, int layer, size_t unit)
{
    const double *rows = attn_part_sums_of(e->sums, layer, unit);
    const size_t n_row = attn_part_sums_n_row(e->sums);
    const size_t n = e->places.n > 0 ? e->places.n : e->is_by_row ? n_row : 1;

    for (size_t at = 0; at < n; at++) {
        struct part part = {.layer = layer, .unit = unit, .row = at};
        const bool is_row = e->is_by_row && e->places.n == 0;

        if (is_row && !has_row(e, &part, at))
            continue;
        for (size_t row = is_row ? at : 0; row < (is_row ? at + 1 : n_row); row++)
            if (e->places.n == 0 || has_row(e, &part, row))
                part.estimate += rows[row];
        e->parts[e->n_part++] = part;
    }
}

/* Of an item: what its clean run is; and beside the rows their sums, which are averaged before they
 * are divided by the last number, the difference of both runs. */
static enum attn_status report_sums(struct estimation *e, struct attn_error *err)
{
    const bool is_to_noise = e->args->is_to_noise;
    double *numbers = attn_alloc(e->n_part + 1, sizeof *numbers, err);
    enum attn_status status;

    if (!numbers)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < e->n_part; i++)
        numbers[i] = e->parts[i].estimate;
    numbers[e->n_part] = e->source_value - e->base_value;
    status = attn_frame_report_more(&e->frame, numbers, e->n_part + 1, err);
    attn_free(numbers);
    attn_frame_report_base(&e->frame, &e->answer,
                           is_to_noise ? attn_part_sums_base(e->sums)
                                       : attn_part_sums_source(e->sums));
    if (e->frame.answer && !is_to_noise)
        e->frame.answer->row = "source";
    return status;
}

/* An attn_fold_derive_fn: ratios of means. A ratio of differences says nothing. */
static enum attn_status derive(const void *given, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    const double whole = means->n_more > 0 ? means->more[means->n_more - 1] : 0;

    (void)given;
    if (means->is_paired || means->n_more == 0)
        return ATTN_OK;
    if (!means->is_resample && fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE)
        return attn_error_set(err, ATTN_INVALID,
                              "the mean difference of clean and corrupted texts is %.3g: there is "
                              "no difference to restore",
                              whole);
    means->rows[EFFECT] = attn_cell_real(0);
    means->rows[N_COLUMN + EFFECT] = attn_cell_real(1);
    for (size_t i = 0; i + 1 < means->n_more && i + FIRST_PART < means->n_row; i++)
        means->rows[(FIRST_PART + i) * N_COLUMN + ESTIMATE] =
            attn_cell_real(means->more[i] / whole + 0.0);
    return ATTN_OK;
}

static enum attn_status find_estimates(struct estimation *e, struct attn_error *err)
{
    const bool is_each = e->is_by_row && e->site == ATTN_SITE_K;
    const struct attn_part_sums_options options = {.answer = &e->answer,
                                                   .source = e->source,
                                                   .site = e->site,
                                                   .method = e->args->method,
                                                   .n_point = n_point(e),
                                                   .is_each = is_each,
                                                   .rows = e->rows,
                                                   .kept_bytes = e->args->kept_bytes,
                                                   .on_progress = on_progress,
                                                   .user = e};
    size_t n_unit, n_each, n_layer = e->frame.config->n_layer;
    double whole;

    ATTN_TRY(attn_part_sums_find(&options, &e->sums, err));
    e->base_value = attn_part_sums_base(e->sums)->value;
    e->source_value = attn_part_sums_source(e->sums)->value;
    whole = e->source_value - e->base_value;
    e->can_restore = fabs(whole) >= ATTN_PATCH_SMALLEST_DIFFERENCE;
    if (!e->can_restore && !e->frame.item) /* over items the mean counts */
        return attn_patch_refuse_difference(&e->answer, e->source_value, err);
    n_unit = attn_part_sums_n_unit(e->sums);
    n_each = e->places.n > 0 ? e->places.n : e->is_by_row ? attn_part_sums_n_row(e->sums) : 1;
    e->parts = attn_frame_alloc(&e->frame, n_layer * n_unit, n_each * sizeof *e->parts);
    ATTN_TRY(attn_frame_memory(&e->frame, err));
    for (size_t i = 0; i < n_layer * n_unit; i++)
        take_sums(e, (int)(i / n_unit), i % n_unit);
    if (e->frame.item)
        ATTN_TRY(report_sums(e, err));
    for (size_t i = 0; i < e->n_part; i++) /* never -0 */
        e->parts[i].estimate = e->parts[i].estimate / whole + 0.0;
    return ATTN_OK;
}

/* --- Which are checked ------------------------------------------------------------------------ */

struct ranked {
    double size;
    size_t at;
};

static int by_size(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const int order = attn_compare_numbers(-x->size, -y->size);

    return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* Sets e->order: by |estimate|; of equal ones the first of the table. */
static enum attn_status rank(struct estimation *e, struct attn_error *err)
{
    struct ranked *ranked = attn_alloc(e->n_part, sizeof *ranked, err);

    e->order = attn_frame_alloc(&e->frame, e->n_part, sizeof *e->order);
    if (!ranked || !e->order) {
        attn_free(ranked);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; i < e->n_part; i++)
        ranked[i] = (struct ranked){fabs(e->parts[i].estimate), i};
    qsort(ranked, e->n_part, sizeof *ranked, by_size);
    for (size_t i = 0; i < e->n_part; i++)
        e->order[i] = ranked[i].at;
    attn_free(ranked);
    return ATTN_OK;
}

/* Marks the largest, and as many of the rest, drawn in the order of the table. */
static enum attn_status draw(struct estimation *e, struct attn_error *err)
{
    const size_t k = e->args->n_verified;
    size_t *rest = attn_alloc(e->n_part, 2 * sizeof *rest, err), *drawn, n_rest = 0;
    struct attn_random random;

    if (!rest)
        return ATTN_NO_MEMORY;
    drawn = rest + e->n_part;
    e->n_top = k < e->n_part ? k : e->n_part;
    e->n_random = k < e->n_part - e->n_top ? k : e->n_part - e->n_top;
    for (size_t i = 0; i < e->n_top; i++)
        e->parts[e->order[i]].check = CHECK_TOP;
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check == CHECK_NONE)
            rest[n_rest++] = i;
    attn_random_seed(&random, e->args->seed);
    attn_random_permutation(&random, drawn, n_rest);
    for (size_t i = 0; i < e->n_random; i++)
        e->parts[rest[drawn[i]]].check = CHECK_RANDOM;
    attn_free(rest);
    return ATTN_OK;
}

/* --- The checks ------------------------------------------------------------------------------- */

/* Keeps the site of the source, of the heads that are patched. */
static enum attn_status keep_source(struct estimation *e, struct attn_error *err)
{
    struct attn_frame *frame = &e->frame;
    struct attn_trial trial = attn_trial_of(e->source);
    const size_t n_group = attn_site_layout(e->site) == ATTN_LAYOUT_KEY
                               ? frame->config->n_head / frame->config->n_kv_head
                               : 1;

    trial.has_logits = false;
    ATTN_TRY(attn_frame_select(frame, ATTN_SITE_BIT(e->site), err));
    for (size_t i = 0; e->is_by_head && i < e->n_part; i++)
        if (e->parts[i].check != CHECK_NONE)
            ATTN_TRY(attn_selection_keep(frame->selection, e->parts[i].layer,
                                         (int)(e->parts[i].unit * n_group), err));
    ATTN_TRY(attn_capture_create(frame->selection, &frame->capture, err));
    trial.trace = attn_capture_trace(frame->capture);
    ATTN_TRY(attn_trial_run(&trial, &frame->session, err));
    attn_session_free(frame->session);
    frame->session = NULL;
    return ATTN_OK;
}

/* The edits of PART into EDITS; returns their number. */
static size_t make_edits(const struct estimation *e, const struct part *part,
                         struct attn_edit *edits)
{
    const size_t n_text = e->base->text.n;
    const struct attn_edit whole =
        attn_patch_edit(&e->frame, e->site, part->layer, e->is_by_head ? (int)part->unit : -1);
    size_t n = 0;

    for (size_t first = 0, end; first < n_text; first = end) {
        end = first + 1;
        if (!has_row(e, part, first))
            continue;
        while (end < n_text && has_row(e, part, end))
            end++;
        edits[n] = whole;
        attn_patch_narrow(&edits[n], first, end);
        if (e->site == ATTN_SITE_MLP_POST) {
            edits[n].data += part->unit;
            edits[n].col0 = part->unit;
            edits[n].col1 = part->unit + 1;
        }
        n++;
    }
    return n;
}

static enum attn_status verify(struct estimation *e, struct attn_error *err)
{
    struct attn_frame *frame = &e->frame;
    const size_t n_most = e->is_by_row && e->places.n == 0 ? 1 : e->base->text.n;
    const double whole = e->source_value - e->base_value;
    struct attn_sets sets;
    size_t n = 0;

    ATTN_TRY(attn_trials_start(e->base, &e->answer, e->site, &frame->trials, err));
    ATTN_TRY(keep_source(e, err));
    attn_frame_take_sets(frame, &sets, e->n_top + e->n_random, n_most);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check != CHECK_NONE) {
            struct attn_edit *edits = sets.edits + n * n_most;

            sets.changes[n++] =
                (struct attn_trial_change){edits, make_edits(e, &e->parts[i], edits)};
        }
    ATTN_TRY(attn_frame_try_sets(frame, &sets, err));
    n = 0;
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check != CHECK_NONE) {
            e->parts[i].value = sets.outcomes[n++].reply.value;
            e->parts[i].effect = (e->parts[i].value - e->base_value) / whole + 0.0;
        }
    return ATTN_OK;
}

/* --- How well they agree ---------------------------------------------------------------------- */

static double correlate(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;

    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return n > 1 && xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

/* RANKS [n]: of equal numbers their mean. */
static void find_ranks(const double *x, size_t n, double *ranks)
{
    for (size_t i = 0; i < n; i++) {
        size_t n_less = 0, n_equal = 0;

        for (size_t j = 0; j < n; j++) {
            n_less += x[j] < x[i];
            n_equal += x[j] <= x[i] && x[j] >= x[i];
        }
        ranks[i] = (double)n_less + ((double)n_equal - 1) / 2;
    }
}

static enum attn_status compare(const struct estimation *e, enum check check, size_t n,
                                struct attn_estimate_check *found, struct attn_error *err)
{
    double *x = attn_alloc(4 * n, sizeof *x, err), *y = x + n;
    size_t at = 0;

    if (!x)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check == check) {
            x[at] = e->parts[i].estimate;
            y[at++] = e->parts[i].effect;
        }
    find_ranks(x, n, x + 2 * n);
    find_ranks(y, n, x + 3 * n);
    *found =
        (struct attn_estimate_check){n, correlate(x, y, n), correlate(x + 2 * n, x + 3 * n, n)};
    attn_free(x);
    return ATTN_OK;
}

/* P(at most X of N) where each happens with probability P. */
static double at_most(size_t x, size_t n, double p)
{
    double log_choices = 0, sum = 0;

    for (size_t k = 0; k <= x && k <= n; k++) {
        sum += exp(log_choices + (double)k * log(p) + (double)(n - k) * log1p(-p));
        log_choices += log((double)(n - k)) - log((double)k + 1);
    }
    return sum;
}

/* The largest share of which X or fewer of N drawn ones are no surprise. */
static double bound_share(size_t x, size_t n)
{
    double low = 0, high = 1;

    if (x >= n)
        return 1;
    for (int i = 0; i < 60; i++) {
        const double p = (low + high) / 2;

        if (at_most(x, n, p) > 1 - confidence)
            low = p;
        else
            high = p;
    }
    return (low + high) / 2;
}

static enum attn_status sum_up(struct estimation *e, struct attn_error *err)
{
    struct attn_patch_estimate_sum *sum = e->frame.sum;
    const bool is_to_noise = e->args->is_to_noise;

    *sum = (struct attn_patch_estimate_sum){
        .clean = is_to_noise ? e->base_value : e->source_value,
        .corrupted = is_to_noise ? e->source_value : e->base_value,
        .random_most = (double)NAN,
        .least = (double)NAN,
        .most_missed = (double)NAN,
        .n_part = e->n_part,
        .n_feed = attn_part_sums_n_feed(e->sums) + e->frame.trials.n_feed};
    ATTN_TRY(compare(e, CHECK_TOP, e->n_top, &sum->top, err));
    ATTN_TRY(compare(e, CHECK_RANDOM, e->n_random, &sum->random, err));
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check == CHECK_TOP)
            sum->least = fmin(sum->least, fabs(e->parts[i].effect));
    for (size_t i = 0; i < e->n_part; i++)
        if (e->parts[i].check == CHECK_RANDOM) {
            sum->random_most = fmax(sum->random_most, fabs(e->parts[i].effect));
            sum->n_above += fabs(e->parts[i].effect) > sum->least;
        }
    if (e->n_random > 0)
        sum->most_missed = e->n_top + e->n_random == e->n_part
                               ? (double)sum->n_above / (double)e->n_random
                               : bound_share(sum->n_above, e->n_random);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Neurons are too many for a table; but other ones are the largest in each item. */
static bool chooses_rows(const struct estimation *e)
{
    return e->site == ATTN_SITE_MLP_POST && !e->frame.item;
}

static uint64_t hidden(const void *state)
{
    const struct estimation *e = state;
    const bool is_of_keys = attn_site_layout(e->site) == ATTN_LAYOUT_KEY;
    const bool has_places = !e->is_by_head && attn_patch_has_places(&e->frame, e->args->n_place);
    uint64_t columns_hidden = ATTN_COLUMN_BIT(NEURON) | ATTN_COLUMN_BIT(HEAD) |
                              ATTN_COLUMN_BIT(KV_HEAD) | ATTN_COLUMN_BIT(POSITION) |
                              ATTN_COLUMN_BIT(PLACE) | ATTN_COLUMN_BIT(TOKEN);

    if (e->site == ATTN_SITE_MLP_POST)
        columns_hidden &= ~ATTN_COLUMN_BIT(NEURON);
    if (e->is_by_head)
        columns_hidden &= ~ATTN_COLUMN_BIT(is_of_keys ? KV_HEAD : HEAD);
    if (e->is_by_row)
        columns_hidden &=
            ~(ATTN_COLUMN_BIT(has_places ? PLACE : POSITION) | ATTN_COLUMN_BIT(TOKEN));
    return columns_hidden;
}

static enum attn_status append_run(struct estimation *e, const char *part, double value,
                                   double effect, struct attn_error *err)
{
    const struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(part),
                                            [VALUE] = attn_cell_real(value),
                                            [EFFECT] = attn_cell_real(effect)};

    return attn_frame_append(&e->frame, row, err);
}

static enum attn_status append_part(struct estimation *e, const struct part *part,
                                    struct attn_error *err)
{
    static const char *const names[] = {[CHECK_TOP] = "top", [CHECK_RANDOM] = "random"};
    const struct attn_cell unit = attn_cell_integer((int64_t)part->unit);
    struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(attn_site_name(e->site)),
                                      [LAYER] = attn_cell_integer(part->layer),
                                      [NEURON] = unit,
                                      [HEAD] = unit,
                                      [KV_HEAD] = unit,
                                      [ESTIMATE] = attn_cell_real(part->estimate)};

    if (!e->can_restore) /* an item that counts, with no ratio of its own */
        row[ESTIMATE] = attn_cell_real((double)NAN);
    if (e->places.n > 0) {
        row[PLACE] = attn_cell_string(e->places.list[part->row].name);
    } else if (e->is_by_row) {
        row[POSITION] = attn_cell_integer((int64_t)part->row);
        row[TOKEN] = attn_cell_position(&e->base->text.tokens, part->row);
    }
    if (part->check != CHECK_NONE) {
        row[VALUE] = attn_cell_real(part->value);
        row[EFFECT] = attn_cell_real(part->effect);
        row[CHECK] = attn_cell_string(names[part->check]);
    }
    return attn_frame_append(&e->frame, row, err);
}

/* All parts; of one text's neurons those with the largest estimates, then those that were drawn. */
static enum attn_status append_parts(struct estimation *e, struct attn_error *err)
{
    const size_t n_most = e->args->n_most > 0 ? e->args->n_most : (size_t)DEFAULT_MOST;
    const bool is_chosen = chooses_rows(e);

    if (is_chosen)
        e->n_shown = n_most > e->n_top ? n_most : e->n_top;
    for (size_t i = 0; i < e->n_part && (!is_chosen || i < e->n_shown); i++)
        ATTN_TRY(append_part(e, &e->parts[is_chosen ? e->order[i] : i], err));
    for (size_t i = e->n_shown; is_chosen && i < e->n_part; i++)
        if (e->parts[e->order[i]].check == CHECK_RANDOM)
            ATTN_TRY(append_part(e, &e->parts[e->order[i]], err));
    return ATTN_OK;
}

/* --- What is said of it ----------------------------------------------------------------------- */

/* "1 (' keys', ' key'), 4" */
static void list_differences(const struct estimation *e, char *out, size_t size)
{
    const struct attn_sequence *a = &e->frame.run->text, *b = &e->frame.other->text;
    size_t used = 0, n = 0;

    out[0] = '\0';
    for (size_t i = 0; a->ids && b->ids && i < a->n; i++) {
        if (a->ids[i] == b->ids[i])
            continue;
        if (n++ >= SHOWN_DIFFERENCES)
            continue;
        attn_fixed_text_append(out, size, &used, "%s%zu", n > 1 ? ", " : "", i);
        if (a->tokens.bytes && b->tokens.bytes) {
            const struct attn_quote first = attn_quote(a->tokens.bytes[i], a->tokens.sizes[i]);
            const struct attn_quote second = attn_quote(b->tokens.bytes[i], b->tokens.sizes[i]);

            attn_fixed_text_append(out, size, &used, " ('%s', '%s')", first.text, second.text);
        }
    }
    if (n > SHOWN_DIFFERENCES)
        attn_fixed_text_append(out, size, &used, " and %zu more", n - SHOWN_DIFFERENCES);
}

static void note_runs(const struct estimation *e)
{
    const struct attn_patch_estimate_sum *sum = e->frame.sum;
    char places[640];

    attn_request_note(&e->frame.request,
                      "direction %s: the %s text is patched from the %s one; %s is %.6g for the "
                      "clean text, %.6g for the corrupted one",
                      e->args->is_to_noise ? "noise" : "restore",
                      e->args->is_to_noise ? "clean" : "corrupted",
                      e->args->is_to_noise ? "corrupted" : "clean",
                      attn_answer_metric_name(e->answer.metric), sum->clean, sum->corrupted);
    list_differences(e, places, sizeof places);
    if (places[0] != '\0')
        attn_request_note(&e->frame.request, "the texts differ at position %s", places);
}

static void note_check(const struct estimation *e, const char *what,
                       const struct attn_estimate_check *check)
{
    if (check->n == 0)
        return;
    if (isnan(check->pearson))
        attn_request_note(&e->frame.request,
                          "%s: %zu patched exactly, without a correlation of estimate and effect: "
                          "one of them does not vary",
                          what, check->n);
    else
        attn_request_note(&e->frame.request,
                          "%s: %zu patched exactly, Pearson %.2f, Spearman %.2f of estimate and "
                          "effect",
                          what, check->n, check->pearson, check->spearman);
}

static void note_checks(const struct estimation *e)
{
    const struct attn_patch_estimate_sum *sum = e->frame.sum;

    note_check(e, "largest estimates", &sum->top);
    note_check(e, "others, drawn at random", &sum->random);
    if (sum->random.n == 0)
        return;
    attn_request_note(
        &e->frame.request,
        "their largest effect is %.3g; %zu of %zu have more than %.3g, the least effect "
        "of the largest estimates, and %s %.0f %% of all others do",
        sum->random_most, sum->n_above, sum->random.n, sum->least,
        e->n_top + e->n_random == e->n_part ? "exactly" : "with 95 % confidence at most",
        100 * sum->most_missed);
}

/* What JSON says beside the rows. */
static enum attn_status say_about(struct estimation *e, struct attn_error *err)
{
    static const struct attn_column about_columns[] = {
        ATTN_COLUMN("direction", TEXT),
        ATTN_COLUMN("metric", TEXT),
        ATTN_COLUMN("estimate", TEXT),
        ATTN_COLUMN_REAL("clean", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("corrupted", 6, NULL, SIGNED),
        ATTN_COLUMN("top", INTEGER),
        ATTN_COLUMN_REAL("top_pearson", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("top_spearman", 6, NULL, SIGNED),
        ATTN_COLUMN("random", INTEGER),
        ATTN_COLUMN_REAL("random_pearson", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("random_spearman", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("random_most", 6, NULL, POSITIVE),
        ATTN_COLUMN_REAL("top_least", 6, NULL, POSITIVE),
        ATTN_COLUMN("above", INTEGER),
        ATTN_COLUMN_REAL("most_missed", 6, NULL, SHARE),
    };
    static const char *const names[] = {
#define METHOD_NAME(id, number, name) [ATTN_ESTIMATE_##id] = (name),
        ATTN_ESTIMATE_METHOD_MAP(METHOD_NAME)
#undef METHOD_NAME
    };
    const struct attn_patch_estimate_sum *sum = e->frame.sum;
    char method[32];
    size_t used = 0;

    attn_fixed_text_append(method, sizeof method, &used, "%s", names[e->args->method]);
    if (e->args->method == ATTN_ESTIMATE_IG)
        attn_fixed_text_append(method, sizeof method, &used, ":%zu", n_point(e));

    const struct attn_cell cells[] = {
        attn_cell_string(e->args->is_to_noise ? "noise" : "restore"),
        attn_cell_string(attn_answer_metric_name(e->answer.metric)),
        attn_cell_string(method),
        attn_cell_real(sum->clean),
        attn_cell_real(sum->corrupted),
        attn_cell_integer((int64_t)sum->top.n),
        attn_cell_real(sum->top.pearson),
        attn_cell_real(sum->top.spearman),
        attn_cell_integer((int64_t)sum->random.n),
        attn_cell_real(sum->random.pearson),
        attn_cell_real(sum->random.spearman),
        attn_cell_real(sum->random_most),
        attn_cell_real(sum->least),
        attn_cell_integer((int64_t)sum->n_above),
        attn_cell_real(sum->most_missed),
    };

    return attn_table_set_about(e->frame.rows.table, about_columns, cells,
                                sizeof cells / sizeof *cells, err);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct estimation *e = state;

    ATTN_TRY(find_estimates(e, err));
    if (e->args->n_verified > 0 || chooses_rows(e))
        ATTN_TRY(rank(e, err));
    if (e->args->n_verified > 0 && !e->frame.item) {
        ATTN_TRY(draw(e, err));
        ATTN_TRY(verify(e, err));
    }
    ATTN_TRY(sum_up(e, err));
    if (!chooses_rows(e))
        ATTN_TRY(attn_table_reserve(e->frame.rows.table, FIRST_PART + e->n_part, err));
    ATTN_TRY(append_run(e, "base", e->base_value, 0, err));
    ATTN_TRY(append_run(e, "source", e->source_value, 1, err));
    ATTN_TRY(append_parts(e, err));
    if (e->frame.item)
        return ATTN_OK;
    ATTN_TRY(say_about(e, err));
    note_runs(e);
    note_checks(e);
    return ATTN_OK;
}

static void release(void *state)
{
    struct estimation *e = state;

    attn_part_sums_free(e->sums);
}

static unsigned pairs(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(CLEAN_CORRUPTED);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_patch_estimate_args *given = args;

    (void)request;
    given->corrupted = item->other;
    return attn_item_answer(item, &given->answer, err);
}

static const struct attn_experiment experiment = {
    .name = "patch",
    .columns = columns,
    .n_column = N_COLUMN,
    .needs_output = true,
    .state_size = sizeof(struct estimation),
    .sum_size = sizeof(struct attn_patch_estimate_sum),
    .study = offsetof(struct attn_patch_estimate_args, study),
    .take_item = take_item,
    .answer = offsetof(struct attn_patch_estimate_args, answer),
    .of_request = ATTN_ITEM_KEY_BIT(QUERIES),
    .places = offsetof(struct attn_patch_estimate_args, places),
    .n_place = offsetof(struct attn_patch_estimate_args, n_place),
    .pairs = pairs,
    .derived = ATTN_COLUMN_BIT(ESTIMATE) | ATTN_COLUMN_BIT(EFFECT),
    .names = ATTN_COLUMN_BIT(PLACE),
    .unfilled = ATTN_COLUMN_BIT(VALUE) | ATTN_COLUMN_BIT(EFFECT) | ATTN_COLUMN_BIT(CHECK),
    .derive = derive,
    .hint = "`places`, or heads without `by`, have as many rows in texts that differ in length",
    .check = check_args,
    .choose = choose,
    .prepare = prepare,
    .hidden = hidden,
    .ask = ask,
    .release = release,
};

enum attn_status attn_patch_estimate(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_patch_estimate_args *given,
                                     struct attn_table **table, struct attn_patch_estimate_sum *sum,
                                     struct attn_error *err)
{
    struct attn_patch_estimate_args args = ATTN_PATCH_ESTIMATE_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, sum};

    return attn_experiment_perform(&experiment, &inquiry, err);
}

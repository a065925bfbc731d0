/* patch_estimate.c - estimates the effects of all patches (patch.h) by gradients, and checks how
 * they agree with exact patches. part_sums.c computes the sums. */
#include "base/elementary.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "circuit/patch_internal.h"
#include "tables/table_internal.h"
#include "trace/places_extra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_POINTS = 5, SHOWN_DIFFERENCES = 4 };

static const double confidence = 0.95;

/* --- Estimates -------------------------------------------------------------------------------- */

static size_t n_point(const struct attn_patching *patch)
{
    return patch->args->n_point > 0 ? patch->args->n_point : (size_t)DEFAULT_POINTS;
}

static void on_progress(void *user, size_t n_done, size_t n_total)
{
    const struct attn_patching *patch = user;

    attn_frame_report(&patch->frame, n_done, n_total + (patch->args->n_verified > 0 ? 1 : 0));
}

/* Returns the sum over the rows of PART. If the part is a whole head, its sums include only the
 * patched positions. */
static double sum_rows(const struct attn_patching *patch, const struct attn_patch_part *part)
{
    const struct attn_part_sums *sums = &patch->estimates.sums;
    const size_t layer = attn_location_index(&part->of.at), unit = attn_patch_unit(part);
    const double *rows = sums->values + (layer * sums->n_unit + unit) * sums->n_row;
    double sum = 0;

    if (part->of.at.stack == ATTN_STACK_ENCODER)
        return 0 +
               sums->encoder[layer *
                                 attn_asked_stack_dims(patch->base, ATTN_STACK_ENCODER)->n_head +
                             unit];
    if (patch->is_by_row && patch->places.n == 0)
        return 0 + rows[part->of.row]; /* turns -0 into 0 */
    for (size_t row = 0; row < sums->n_row; row++)
        if (patch->places.n == 0 || attn_patch_has_row(patch, part, row))
            sum += rows[row];
    return sum;
}

/* Reports for an item the sums of its parts, followed by the difference of both runs, by which the
 * means of the sums are divided. */
static enum attn_status report_sums(struct attn_patching *patch, double whole,
                                    struct attn_error *err)
{
    double *numbers = attn_frame_alloc(&patch->frame, patch->n_part + 1, sizeof *numbers);

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < patch->n_part; i++)
        numbers[i] = patch->parts[i].estimate;
    numbers[patch->n_part] = whole;
    return attn_frame_report_more(&patch->frame, numbers, patch->n_part + 1, err);
}

enum attn_status attn_patch_find_estimates(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_part_sums_options options = {
        .answer = &patch->answer,
        .base = patch->base,
        .source = patch->source,
        .site = patch->site,
        .rule = patch->args->method == ATTN_PATCH_RELP ? ATTN_BACKWARD_RELP : ATTN_BACKWARD_PLAIN,
        .n_point = patch->args->method == ATTN_PATCH_IG ? n_point(patch) : 0,
        .is_each = patch->is_by_row && patch->site == ATTN_SITE_K,
        .rows = patch->rows,
        .has_encoder = attn_patch_has_encoder(patch),
        .kept_bytes = patch->args->kept_bytes,
        .on_progress = on_progress,
        .user = patch};
    double whole;

    ATTN_TRY(attn_part_sums_find(&options, &patch->estimates.sums, err));
    patch->base_reply = patch->estimates.sums.base;
    patch->source_reply = patch->estimates.sums.source;
    whole = patch->source_reply.value - patch->base_reply.value;
    ATTN_TRY(attn_patch_check_difference(patch, err));
    for (size_t i = 0; i < patch->n_part; i++)
        patch->parts[i].estimate = sum_rows(patch, &patch->parts[i]);
    if (patch->frame.item)
        ATTN_TRY(report_sums(patch, whole, err));
    for (size_t i = 0; i < patch->n_part; i++) /* adding to 0 turns -0 into 0 */
        patch->parts[i].estimate = patch->parts[i].estimate / whole + 0.0;
    return ATTN_OK;
}

/* --- Checks ----------------------------------------------------------------------------------- */

bool attn_patch_shows_largest(const struct attn_patching *patch)
{
    return patch->site == ATTN_SITE_MLP_POST && !patch->frame.item;
}

int attn_ranked_compare(const void *a, const void *b)
{
    const struct attn_ranked *x = a, *y = b;
    const int order = attn_compare_numbers(-x->size, -y->size);

    return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* Sets the order by |estimate|, descending; ties keep the order of the table. */
static enum attn_status rank(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_ranked *ranked = attn_frame_alloc(&patch->frame, patch->n_part, sizeof *ranked);

    patch->estimates.order =
        attn_frame_alloc(&patch->frame, patch->n_part, sizeof *patch->estimates.order);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < patch->n_part; i++)
        ranked[i] = (struct attn_ranked){fabs(patch->parts[i].estimate), i};
    qsort(ranked, patch->n_part, sizeof *ranked, attn_ranked_compare);
    for (size_t i = 0; i < patch->n_part; i++)
        patch->estimates.order[i] = ranked[i].at;
    return ATTN_OK;
}

/* Marks the largest estimates for patching, and as many randomly drawn other parts. */
static enum attn_status draw(struct attn_patching *patch, struct attn_error *err)
{
    const size_t k = patch->args->n_verified;
    size_t *rest = attn_frame_alloc(&patch->frame, patch->n_part, sizeof *rest);
    size_t *drawn = attn_frame_alloc(&patch->frame, patch->n_part, sizeof *drawn), n_rest = 0;
    struct attn_random random;

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    patch->estimates.n_top = k < patch->n_part ? k : patch->n_part;
    patch->estimates.n_random =
        k < patch->n_part - patch->estimates.n_top ? k : patch->n_part - patch->estimates.n_top;
    for (size_t i = 0; i < patch->estimates.n_top; i++)
        patch->parts[patch->estimates.order[i]].trial = ATTN_PART_TOP;
    for (size_t i = 0; i < patch->n_part; i++)
        if (patch->parts[i].trial == ATTN_PART_UNTRIED)
            rest[n_rest++] = i;
    attn_random_seed(&random, patch->args->seed);
    attn_random_permutation(&random, drawn, n_rest);
    for (size_t i = 0; i < patch->estimates.n_random; i++)
        patch->parts[rest[drawn[i]]].trial = ATTN_PART_RANDOM;
    return ATTN_OK;
}

enum attn_status attn_patch_choose_checks(struct attn_patching *patch, struct attn_error *err)
{
    const bool is_checked = patch->args->n_verified > 0;

    if (is_checked || attn_patch_shows_largest(patch))
        ATTN_TRY(rank(patch, err));
    return is_checked && !patch->frame.item ? draw(patch, err) : ATTN_OK;
}

/* --- Agreement -------------------------------------------------------------------------------- */

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

/* Computes RANKS [n]; equal numbers get the mean of their ranks. */
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

static enum attn_status compare(const struct attn_patching *patch, enum attn_part_trial trial,
                                size_t n, struct attn_estimate_check *found, struct attn_error *err)
{
    size_t at = 0;
    double *x, *y;

    ATTN_TRY(ATTN_ALLOC(x, 4 * n, err));
    y = x + n;
    for (size_t i = 0; i < patch->n_part; i++)
        if (patch->parts[i].trial == trial) {
            x[at] = patch->parts[i].estimate;
            y[at++] = patch->parts[i].effect;
        }
    find_ranks(x, n, x + 2 * n);
    find_ranks(y, n, x + 3 * n);
    *found =
        (struct attn_estimate_check){n, correlate(x, y, n), correlate(x + 2 * n, x + 3 * n, n)};
    attn_free(x);
    return ATTN_OK;
}

/* Returns the probability of at most X successes in N trials with probability P. */
static double at_most(size_t x, size_t n, double p)
{
    double log_choices = 0, sum = 0;

    for (size_t k = 0; k <= x && k <= n; k++) {
        sum += attn_exp(log_choices + (double)k * attn_log(p) + (double)(n - k) * attn_log1p(-p));
        log_choices += attn_log((double)(n - k)) - attn_log((double)k + 1);
    }
    return sum;
}

/* Returns the upper confidence bound of a share, if X of N drawn parts belong to it. */
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

enum attn_status attn_patch_compare(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_patch_sum *sum = patch->frame.sum;

    sum->random_most = sum->least = sum->most_missed = (double)NAN;
    ATTN_TRY(compare(patch, ATTN_PART_TOP, patch->estimates.n_top, &sum->top, err));
    ATTN_TRY(compare(patch, ATTN_PART_RANDOM, patch->estimates.n_random, &sum->random, err));
    for (size_t i = 0; i < patch->n_part; i++)
        if (patch->parts[i].trial == ATTN_PART_TOP)
            sum->least = fmin(sum->least, fabs(patch->parts[i].effect));
    for (size_t i = 0; i < patch->n_part; i++)
        if (patch->parts[i].trial == ATTN_PART_RANDOM) {
            sum->random_most = fmax(sum->random_most, fabs(patch->parts[i].effect));
            sum->n_above += fabs(patch->parts[i].effect) > sum->least;
        }
    if (patch->estimates.n_random > 0)
        sum->most_missed = patch->estimates.n_top + patch->estimates.n_random == patch->n_part
                               ? (double)sum->n_above / (double)patch->estimates.n_random
                               : bound_share(sum->n_above, patch->estimates.n_random);
    return ATTN_OK;
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* Formats where the texts differ: "1 (' keys', ' key'), 4". */
static void list_differences(const struct attn_patching *patch, char *out, size_t size)
{
    const struct attn_sequence *a = attn_asked_text(patch->frame.run),
                               *b = attn_asked_text(patch->frame.other);
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

void attn_patch_note_runs(const struct attn_patching *patch)
{
    const bool is_to_noise = attn_patch_is_to_noise(patch->args);
    char places[640];

    attn_note(patch->frame.request.on_note, patch->frame.request.user, ATTN_NOTE_PATCH_RUNS,
              "direction %s: the %s text is patched from the %s one; %s is %.6g for the "
              "clean text, %.6g for the corrupted one",
              is_to_noise ? "noise" : "restore", is_to_noise ? "clean" : "corrupted",
              is_to_noise ? "corrupted" : "clean", attn_answer_metric_name(patch->answer.metric),
              (is_to_noise ? &patch->base_reply : &patch->source_reply)->value,
              (is_to_noise ? &patch->source_reply : &patch->base_reply)->value);
    list_differences(patch, places, sizeof places);
    if (places[0] != '\0')
        attn_note(patch->frame.request.on_note, patch->frame.request.user, ATTN_NOTE_PATCH_RUNS,
                  "the texts differ at position %s", places);
}

static void note_check(const struct attn_patching *patch, const char *what,
                       const struct attn_estimate_check *check)
{
    if (check->n == 0)
        return;
    if (isnan(check->pearson))
        attn_note(patch->frame.request.on_note, patch->frame.request.user, ATTN_NOTE_PATCH_CHECK,
                  "%s: %zu patched exactly, without a correlation of estimate and effect: "
                  "one of them does not vary",
                  what, check->n);
    else
        attn_note(patch->frame.request.on_note, patch->frame.request.user, ATTN_NOTE_PATCH_CHECK,
                  "%s: %zu patched exactly, Pearson %.2f, Spearman %.2f of estimate and "
                  "effect",
                  what, check->n, check->pearson, check->spearman);
}

static void note_checks(const struct attn_patching *patch)
{
    const struct attn_patch_sum *sum = patch->frame.sum;

    note_check(patch, "largest estimates", &sum->top);
    note_check(patch, "others, drawn at random", &sum->random);
    if (sum->random.n == 0)
        return;
    attn_note(patch->frame.request.on_note, patch->frame.request.user, ATTN_NOTE_PATCH_CHECK,
              "their largest effect is %.3g; %zu of %zu have more than %.3g, the least effect "
              "of the largest estimates, and %s %.0f %% of all others do",
              sum->random_most, sum->n_above, sum->random.n, sum->least,
              patch->estimates.n_top + patch->estimates.n_random == patch->n_part
                  ? "exactly"
                  : "with 95 % confidence at most",
              100 * sum->most_missed);
}

/* Adds the method and the sum to the facts about the table, which JSON output contains. */
static enum attn_status add_about(struct attn_patching *patch, struct attn_error *err)
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
#define METHOD_NAME(id, number, name) [ATTN_PATCH_##id] = (name),
        ATTN_PATCH_METHOD_MAP(METHOD_NAME)
#undef METHOD_NAME
    };
    const struct attn_patch_sum *sum = patch->frame.sum;
    char method[32];
    size_t used = 0;

    attn_fixed_text_append(method, sizeof method, &used, "%s", names[patch->args->method]);
    if (patch->args->method == ATTN_PATCH_IG)
        attn_fixed_text_append(method, sizeof method, &used, ":%zu", n_point(patch));

    const struct attn_cell cells[] = {
        attn_cell_string(attn_patch_is_to_noise(patch->args) ? "noise" : "restore"),
        attn_cell_string(attn_answer_metric_name(patch->answer.metric)),
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

    return attn_table_set_about(patch->frame.rows.table, about_columns, cells,
                                sizeof cells / sizeof *cells, err);
}

enum attn_status attn_patch_report(struct attn_patching *patch, struct attn_error *err)
{
    ATTN_TRY(add_about(patch, err));
    attn_patch_note_runs(patch);
    note_checks(patch);
    return ATTN_OK;
}

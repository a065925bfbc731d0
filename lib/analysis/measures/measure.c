#include "measures/analysis_internal.h"
#include "measures/measure_rows.h"

#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/list.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *help;
    const struct attn_metric *metric;
    int which;
    unsigned traits;
} measures[ATTN_N_MEASURE] = {
#define ROW(id, number, name, metric, which, unit, words, traits, help)                            \
    [number] = {name, help, &attn_metric_##metric, which, traits},
    ATTN_MEASURE_MAP(ROW)
#undef ROW
};

const enum attn_measure attn_measure_order[ATTN_N_MEASURE] = {
#define PLACE(id, number, ...) (enum attn_measure)(number),
    ATTN_MEASURE_MAP(PLACE)
#undef PLACE
};

const char *attn_measure_name(enum attn_measure measure)
{
    return (unsigned)measure < ATTN_N_MEASURE ? measures[measure].name : NULL;
}

const char *attn_measure_help(enum attn_measure measure)
{
    return (unsigned)measure < ATTN_N_MEASURE ? measures[measure].help : NULL;
}

bool attn_measure_is_count(enum attn_measure measure)
{
    return (unsigned)measure < ATTN_N_MEASURE && (measures[measure].traits & ATTN_OF_COUNT) != 0;
}

const struct attn_metric *attn_measure_metric(enum attn_measure measure, int *which)
{
    *which = measures[measure].which;
    return measures[measure].metric;
}

attn_measure_set attn_measures_with(unsigned traits)
{
    attn_measure_set set = 0;

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((measures[m].traits & traits) != 0)
            set |= ATTN_MEASURE_BIT(m);
    return set;
}

attn_measure_set attn_measures_all(void)
{
    return (ATTN_MEASURE_BIT(ATTN_N_MEASURE) - 1) & ~attn_measures_with(ATTN_OF_BESIDE);
}

attn_measure_set attn_measures_of_images(size_t n)
{
    const size_t n_bit = n < ATTN_MOST_MEASURED_PICTURE ? n : ATTN_MOST_MEASURED_PICTURE;

    return (ATTN_MEASURE_BIT(n_bit) - 1) << ATTN_MEASURE_PICTURE_0;
}

int attn_measures_n(void)
{
    return ATTN_N_MEASURE;
}

enum attn_measure attn_measure_shown(int i)
{
    return attn_measure_order[i];
}

int attn_measures_count(attn_measure_set set)
{
    return __builtin_popcountll(set & attn_measures_all());
}

/* Returns the index of MEASURE's metric in GROUP; `n` if GROUP lacks it. */
static size_t find_metric(const struct attn_measure_group *group, enum attn_measure measure)
{
    size_t i = 0;

    while (i < group->n && group->metrics[i] != measures[measure].metric)
        i++;
    return i;
}

enum attn_status attn_measure_group_create(attn_measure_set set,
                                           const struct attn_metric_settings *settings,
                                           const struct attn_selection *selection,
                                           struct attn_pool *pool, struct attn_measure_group *group,
                                           struct attn_error *err)
{
    group->pool = pool;
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if ((set & ATTN_MEASURE_BIT(m)) == 0 || find_metric(group, (enum attn_measure)m) < group->n)
            continue;
        ATTN_TRY(attn_measurement_create(measures[m].metric, settings, selection, pool,
                                         &group->items[group->n], err));
        group->metrics[group->n++] = measures[m].metric;
    }
    return ATTN_OK;
}

void attn_measure_group_add(const struct attn_measure_group *group,
                            const struct attn_trace_event *event)
{
    if (!group->pool)
        attn_measurements_add(group->items, group->n, event);
    for (size_t i = 0; group->pool && i < group->n; i++)
        attn_measurement_add(group->items[i], event);
}

void attn_measure_group_release(struct attn_measure_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        attn_measurement_free(group->items[i]);
    group->n = 0;
}

double attn_measure_group_find(const struct attn_measure_group *group, enum attn_measure measure,
                               const struct attn_location *at)
{
    double values[ATTN_METRIC_MOST];

    attn_measurement_find(group->items[find_metric(group, measure)], at, values);
    return values[measures[measure].which];
}

void attn_measure_group_values(const struct attn_measure_group *group,
                               const struct attn_location *at, double *values)
{
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        values[m] = find_metric(group, (enum attn_measure)m) < group->n
                        ? attn_measure_group_find(group, (enum attn_measure)m, at)
                        : (double)NAN;
}

static enum attn_status report_unknown(const char *item, size_t size, struct attn_error *err)
{
    struct attn_typo typo = {.typed = item, .size = size};
    char names[400] = "";
    size_t used = 0;

    for (int i = 0; i < ATTN_N_MEASURE; i++) {
        const enum attn_measure measure = attn_measure_order[i];
        const bool is_later = measure > ATTN_MEASURE_PICTURE_0 &&
                              measure < (int)ATTN_MEASURE_PICTURE_0 + ATTN_MOST_MEASURED_PICTURE;

        if (!is_later)
            attn_fixed_text_append(names, sizeof names, &used, "%s%s%s", i > 0 ? ", " : "",
                                   measures[measure].name,
                                   measure == ATTN_MEASURE_PICTURE_0 ? ", ..." : "");
        attn_typo_try(&typo, measures[measure].name);
    }
    attn_error_set(err, ATTN_INVALID, "'%s' is no measure, expected some of %s",
                   attn_quote(item, size).text, names);
    if (attn_typo_meant(&typo))
        attn_error_hint(err, "did you mean '%s'?", attn_typo_meant(&typo));
    return attn_error_of(ATTN_INVALID, "measures", err);
}

enum attn_status attn_measures_parse(const char *list, attn_measure_set *result,
                                     struct attn_error *err)
{
    attn_measure_set found = 0;

    if (!attn_is_given(list, "list", err) || !attn_is_given(result, "measures", err))
        return ATTN_INVALID;
    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        attn_measure_set bits = 0;

        if (item.size == strlen("all") && memcmp(item.text, "all", item.size) == 0)
            bits = attn_measures_all();
        for (int m = 0; m < ATTN_N_MEASURE; m++)
            if (strlen(measures[m].name) == item.size &&
                memcmp(measures[m].name, item.text, item.size) == 0)
                bits = ATTN_MEASURE_BIT(m);
        if (bits == 0)
            return report_unknown(item.text, item.size, err);
        found |= bits;
    }
    *result = found;
    return ATTN_OK;
}

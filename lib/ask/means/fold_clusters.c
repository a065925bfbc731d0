/* fold_clusters.c - see fold_internal.h: the units that resampling draws, and clusters of items
 * that depend on each other. */
#include "means/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST_CLUSTERS = 10000 /* maximum clusters in a group */ };

size_t attn_fold_cluster_find(const struct attn_fold_group *group, uint64_t hash, const char *text,
                              size_t size)
{
    size_t at = 0;

    while (at < group->n_unit &&
           (group->clusters[at].hash != hash || group->clusters[at].size != size ||
            memcmp(group->clusters[at].text, text, size) != 0))
        at++;
    return at;
}

/* Appends a unit to GROUP; if there are clusters, with the label of its CLUSTER. */
static enum attn_status append_unit(const struct attn_fold *fold, struct attn_fold_group *group,
                                    const struct attn_fold_label *cluster, uint64_t hash,
                                    struct attn_error *err)
{
    const size_t n = group->n_unit;
    char *text;

    ATTN_TRY(ATTN_GROW(group->values, group->capacity, (n + 1) * fold->n_value, err));
    for (size_t i = 0; i < fold->n_value; i++)
        group->values[n * fold->n_value + i] = 0;
    if (fold->study->cluster) {
        if (n == MOST_CLUSTERS)
            return attn_error_set(err, ATTN_INVALID,
                                  "`cluster` '%s' has more than %d values%s, expected a label that "
                                  "items share",
                                  attn_quote_string(fold->study->cluster).text, MOST_CLUSTERS,
                                  fold->n_label > 0 ? " in a group" : "");
        ATTN_TRY(ATTN_GROW(group->clusters, group->cluster_capacity, n + 1, err));
        ATTN_TRY(ATTN_NEW(text, attn_strndup(cluster->text, cluster->size, err)));
        group->clusters[n] = (struct attn_fold_cluster){hash, text, cluster->size};
    }
    group->n_unit++;
    return ATTN_OK;
}

enum attn_status attn_fold_unit_find(const struct attn_fold *fold, struct attn_fold_group *group,
                                     const struct attn_fold_label *cluster, double **values,
                                     struct attn_error *err)
{
    const bool is_clustered = fold->study->cluster;
    const uint64_t hash = is_clustered ? attn_hash_bytes(0, cluster->text, cluster->size) : 0;
    const size_t unit = is_clustered
                            ? attn_fold_cluster_find(group, hash, cluster->text, cluster->size)
                            : group->n_unit;

    if (unit == group->n_unit)
        ATTN_TRY(append_unit(fold, group, cluster, hash, err));
    *values = group->values + unit * fold->n_value;
    return ATTN_OK;
}

double *attn_fold_unit_add(const struct attn_fold *fold, double *values, double x)
{
    if (!fold->study->cluster) {
        *values = x;
        return values + 1;
    }
    values[0] += isnan(x) ? 0 : x;
    values[1] += !isnan(x);
    return values + 2;
}

/* Replaces the errors of SPREAD, which belong to cell I of SAMPLE (mean number K of a unit), by
 * cluster-robust ones: sqrt(G / (G - 1) sum_g (sum_{i in g} (x_i - mean))^2) / n, CR1 of Liang and
 * Zeger 1986 (Cameron and Miller 2015) for a constant. A difference is treated as the coefficient
 * of a regression on the group: each term is the term of one group minus that of the other, with a
 * factor (n - 1) / (n - 2). */
static void find_clustered(const struct attn_fold *fold, const struct attn_fold_sample *sample,
                           size_t i, size_t k, struct attn_fold_spread *spread)
{
    const double n = (double)spread->n;
    double *residuals = sample->residuals, sum = 0, n_cluster;

    for (size_t unit = 0; unit < sample->n_unit; unit++)
        residuals[unit] = (double)NAN;
    for (int side = 0; side < 2 && sample->groups[side]; side++)
        for (size_t unit = 0; unit < sample->groups[side]->n_unit; unit++) {
            const struct attn_moments *moments = &sample->groups[side]->moments[i];
            const double *value = sample->groups[side]->values + unit * fold->n_value + 2 * k;
            const double residual = (value[0] - value[1] * moments->mean) / (double)moments->n;
            double *all = &residuals[sample->units[side][unit]];

            if (value[1] > 0)
                *all = (isnan(*all) ? 0 : *all) + (side == 0 ? residual : -residual);
        }
    for (size_t unit = 0; unit < sample->n_unit; unit++)
        if (!isnan(residuals[unit])) {
            spread->n_cluster++;
            sum += residuals[unit] * residuals[unit];
        }
    n_cluster = (double)spread->n_cluster;
    sum *= sample->groups[1] ? (n - 1) / (n - 2) : 1;
    spread->df = spread->n_cluster - 1;
    spread->se = spread->n_cluster > 1 ? sqrt(n_cluster / (n_cluster - 1) * sum) : (double)NAN;
}

struct attn_fold_spread attn_fold_spread_find(const struct attn_fold *fold,
                                              const struct attn_fold_sample *sample, size_t i,
                                              size_t k)
{
    const struct attn_moments *own = &sample->groups[0]->moments[i];
    struct attn_fold_spread spread = {.sd = attn_moments_sd(own), .n = own->n, .df = own->n - 1};

    spread.se = spread.sd / sqrt((double)own->n);
    if (sample->groups[1]) {
        const struct attn_moments *other = &sample->groups[1]->moments[i];
        const double se = attn_moments_sd(other) / sqrt((double)other->n);

        spread.sd = (double)NAN;
        spread.se = sqrt(spread.se * spread.se + se * se);
        spread.n += other->n;
        spread.df = other->n < own->n ? other->n - 1 : own->n - 1;
    }
    if (fold->study->cluster && fold->columns[i % fold->n_column].role == ATTN_FOLD_MEAN)
        find_clustered(fold, sample, i, k, &spread);
    return spread;
}

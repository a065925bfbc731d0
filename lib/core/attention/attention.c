#include "attention/attention_internal.h"

#include "attention/keys.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "trace/places_extra.h"
#include "trace/site_set.h"

#include <math.h>
#include <string.h>

ATTN_DEFAULTS(attn_attention, .kind = ATTN_ATTENTION_FULL, .is_scaled = true, .factor = 1)

/* Names of enum attn_masking and enum attn_algorithm, in their order. */
static const char *const maskings[] = {"inf", "renormalize", "zero"};
static const char *const algorithms[] = {"auto", "dense", "blockwise"};

static bool has_dropout(const struct attn_attention *attention)
{
    return attention->dropout > 0 || attention->dropout_mask.cells;
}

static enum attn_status check_numbers(const struct attn_attention *attention,
                                      struct attn_error *err)
{
    const struct attn_kind_param *param = attn_kind_find(attention)->params;

    if (!attn_is_choice(attention->mask, ATTN_MASK_MATRIX + 1, "mask", err) ||
        !attn_is_choice(attention->masking, ATTN_MASKING_ZERO + 1, "masking", err) ||
        !attn_is_choice(attention->similarity, ATTN_SIMILARITY_COSINE + 1, "similarity", err) ||
        !attn_is_choice(attention->algorithm, ATTN_ALGORITHM_BLOCKWISE + 1, "algorithm", err) ||
        !attn_is_choice(attention->feature, ATTN_FEATURE_EXP + 1, "feature", err))
        return ATTN_INVALID;
    for (; param->type != ATTN_KIND_PARAM_NONE; param++)
        if (param->type == ATTN_KIND_PARAM_COUNT && !param->is_optional &&
            *(const size_t *)((const char *)attention + param->offset) == 0)
            return attn_error_set(err, ATTN_INVALID, "%s of '%s' is 0, expected at least 1",
                                  param->name, attn_attention_kind_name(attention->kind));
    if (!(attention->eps >= 0 && isfinite(attention->eps)))
        return attn_error_set(err, ATTN_INVALID, "eps is %g, expected a number from 0",
                              attention->eps);
    if (!isfinite(attention->factor))
        return attn_error_set(err, ATTN_INVALID, "the factor on scores is %g, expected a number",
                              attention->factor);
    if (!(attention->score_cap >= 0 && isfinite(attention->score_cap)))
        return attn_error_set(err, ATTN_INVALID,
                              "the soft cap of scores is %g, expected a number from 0",
                              attention->score_cap);
    if (!(attention->dropout >= 0 && attention->dropout < 1))
        return attn_error_set(err, ATTN_INVALID, "dropout is %g, expected from 0 to less than 1",
                              attention->dropout);
    for (size_t i = 0; i < attn_attention_n_block(attention); i++) {
        const struct attn_mask_block *block = attn_attention_block(attention, i);

        if (block->first >= block->end)
            return attn_error_set(err, ATTN_INVALID, "the block of the mask is from %zu to %zu",
                                  block->first, block->end);
    }
    if (attention->mask == ATTN_MASK_MATRIX && !attention->matrix.cells)
        return attn_error_set(err, ATTN_INVALID, "the mask is a matrix, but no matrix is given");
    return ATTN_OK;
}

/* Refuses options that the kind cannot be combined with. */
static enum attn_status check_kind(const struct attn_attention *attention, bool is_cross,
                                   struct attn_error *err)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const char *name = attn_attention_kind_name(attention->kind);
    const bool is_full = attention->kind == ATTN_ATTENTION_FULL;
    const struct {
        bool is_wanted;
        const char *why_not, *part;
    } parts[] = {
        {attention->mask == ATTN_MASK_CAUSAL && !is_cross, kind->no_causal, "a causal mask"},
        {attention->mask == ATTN_MASK_MATRIX, kind->no_matrix, "a mask matrix"},
        {has_dropout(attention), kind->no_dropout, "dropout"},
        {attention->similarity == ATTN_SIMILARITY_COSINE, kind->no_cosine, "cosine similarity"},
        {attention->eps > 0, kind->no_eps, "eps"},
        {attention->bias, kind->no_scores, "biases of distances"},
        {attention->sinks, kind->no_scores, "sinks"},
    };

    if (attention->block.end > 0 && !is_full && attention->kind != ATTN_ATTENTION_WINDOW)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' cannot have a block of positions that see each other, which "
                              "only 'full' and 'window' can",
                              name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].is_wanted && parts[i].why_not)
            return attn_error_set(err, ATTN_INVALID, "'%s' cannot have %s: %s", name, parts[i].part,
                                  parts[i].why_not);
    if (attention->masking != ATTN_MASKING_INF && !is_full) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' cannot have masking '%s', which needs the softmax over all keys: only "
                       "'full' computes it",
                       name, maskings[attention->masking]);
        return attn_error_of(ATTN_INVALID, "masking", err);
    }
    if (attention->algorithm != ATTN_ALGORITHM_AUTO && !is_full) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' cannot have algorithm '%s', which computes only 'full'", name,
                       algorithms[attention->algorithm]);
        return attn_error_of(ATTN_INVALID, "algorithm", err);
    }
    return ATTN_OK;
}

enum attn_status attn_attention_check(const struct attn_attention *attention, bool is_cross,
                                      struct attn_error *err)
{
    ATTN_NEED(err, attention);

    if ((unsigned)attention->kind >= ATTN_N_ATTENTION_KIND || !attn_kinds[attention->kind])
        return attn_error_set(err, ATTN_INVALID, "there is no attention of kind %d",
                              (int)attention->kind);
    ATTN_TRY(check_numbers(attention, err));
    ATTN_TRY(attn_error_of(check_kind(attention, is_cross, err), "attention", err));
    if (attention->algorithm != ATTN_ALGORITHM_BLOCKWISE)
        return ATTN_OK;
    if (attention->masking == ATTN_MASKING_INF && !has_dropout(attention))
        return ATTN_OK;
    if (attention->masking != ATTN_MASKING_INF)
        attn_error_set(err, ATTN_INVALID,
                       "algorithm 'blockwise' cannot have masking '%s': it never has a row of "
                       "weights to set to 0",
                       maskings[attention->masking]);
    else
        attn_error_set(err, ATTN_INVALID,
                       "algorithm 'blockwise' cannot have dropout: it never has a row of weights "
                       "to drop");
    return attn_error_of(ATTN_INVALID, "algorithm", err);
}

enum attn_status attn_attention_check_keys(const struct attn_attention *attention, size_t n_key,
                                           struct attn_error *err)
{
    ATTN_NEED(err, attention);
    if (attention->kind != ATTN_ATTENTION_LOWRANK || attention->count <= n_key)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' makes %zu mixtures of %zu keys, expected at most as many as keys",
                          attn_attention_kind_name(attention->kind), attention->count, n_key);
}

float attn_score_bias_at(const struct attn_score_bias *bias, size_t head, size_t i, size_t j)
{
    float slope, product;
    uint32_t bits;

    if (bias->is_of_places)
        return 0;
    if (bias->farthest > 0) {
        const size_t far = bias->farthest;
        const size_t at = j + far < i ? 0 : j > i + far ? 2 * far : j + far - i;

        return bias->slopes[head * (2 * far + 1) + at];
    }
    slope = bias->slopes[head];
    product = slope * (float)j;
    if (!bias->is_of_key)
        return slope * ((float)j - (float)i);
    memcpy(&bits, &product, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000; /* rounds to nearest, ties to even */
    memcpy(&product, &bits, sizeof bits);
    return product;
}

void attn_attention_resolve_stride(struct attn_attention *attention, size_t n_key)
{
    size_t stride = (size_t)sqrt((double)n_key);

    if (attention->kind != ATTN_ATTENTION_STRIDED || attention->stride > 0)
        return;
    stride = stride > 1 ? stride - 1 : 1;
    while (stride < (n_key + stride - 1) / stride)
        stride++;
    attention->stride = stride;
}

void attn_attention_resolve_grid(struct attn_attention *attention, size_t n_column)
{
    if (attention->kind == ATTN_ATTENTION_BLOCK && attention->stride == 0)
        attention->stride = n_column;
}

enum attn_gives attn_attention_gives(const struct attn_attention *attention, enum attn_site site)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    enum attn_gives gives;

    switch (site) {
    case ATTN_SITE_QK:
    case ATTN_SITE_ATTN_SCORES:
        gives = kind->scores;
        break;
    case ATTN_SITE_PATTERN:
        gives = kind->pattern;
        break;
    case ATTN_SITE_PATTERN_DROPPED:
        gives = has_dropout(attention) && !kind->no_dropout ? kind->pattern : ATTN_GIVES_NOT;
        break;
    case ATTN_SITE_PATTERN_LOWRANK:
        gives = kind->pattern_lowrank;
        break;
    case ATTN_SITE_Z:
        return ATTN_GIVES_DIRECTLY;
    default:
        return ATTN_GIVES_NOT;
    }
    if (gives == ATTN_GIVES_DIRECTLY && attention->algorithm == ATTN_ALGORITHM_BLOCKWISE)
        gives = ATTN_GIVES_ON_DEMAND;
    return gives;
}

struct attn_site_set attn_attention_sites(const struct attn_attention *attention)
{
    struct attn_site_set sites = {0};

    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_attention_gives(attention, (enum attn_site)site) != ATTN_GIVES_NOT)
            attn_sites_add(&sites, site);
    return sites;
}

void attn_attention_set_dims(const struct attn_attention *attention, struct attn_dims *dims)
{
    const struct attn_site_set matrices =
        ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                   ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK);
    struct attn_site_set given = {0};
    bool has_sinks = false;

    if (!attention || !dims)
        return;
    dims->n_rank = 0;
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        const struct attn_attention *one = &attention[layer];

        /* Skipped: attn_attention_check reports it. */
        if ((unsigned)one->kind >= ATTN_N_ATTENTION_KIND)
            continue;
        attn_sites_extend(&given, attn_attention_sites(one));
        has_sinks = has_sinks || one->sinks;
        if (one->kind == ATTN_ATTENTION_LOWRANK && one->count > dims->n_rank)
            dims->n_rank = one->count;
    }
    dims->sites = attn_sites_join(attn_sites_without(dims->sites, matrices),
                                  attn_sites_common(given, matrices));
    if (!has_sinks)
        dims->sites = attn_sites_without(dims->sites, ATTN_SITES(ATTN_SITE_SINK));
}

uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query, size_t n_key,
                               const struct attn_location *at)
{
    const size_t ahead = attention->mask == ATTN_MASK_CAUSAL ? n_key - n_query : 0;
    uint64_t n_pair = 0;

    if (attention->kind == ATTN_ATTENTION_LINEAR)
        return 0;
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return __builtin_mul_overflow(n_query, attention->count, &n_pair) ? UINT64_MAX : n_pair;
    for (size_t query = 0; query < n_query; query++) {
        const struct attn_key_row row = {(int)attn_location_index(at), at->head, query,
                                         query + ahead, n_key};

        n_pair += attn_keys_list(attention, &row, NULL);
    }
    return n_pair;
}

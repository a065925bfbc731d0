#include "attention/tile.h"

#include "attention/attention_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

bool attn_attention_is_listed(const struct attn_attention *attention)
{
    const struct attn_kind *kind = attn_kind_find(attention);

    return attention->kind == ATTN_ATTENTION_FULL
               ? attention->mask == ATTN_MASK_MATRIX || attention->block.end > 0
               : kind->span || kind->list;
}

bool attn_attention_masks(const struct attn_attention *attention, enum attn_site site)
{
    if (site == ATTN_SITE_QK)
        return attention->kind != ATTN_ATTENTION_FULL;
    return site != ATTN_SITE_ATTN_SCORES || attention->masking == ATTN_MASKING_INF;
}

enum attn_site attn_attention_pattern_site(const struct attn_attention *attention)
{
    return attention->kind == ATTN_ATTENTION_LOWRANK ? ATTN_SITE_PATTERN_LOWRANK
                                                     : ATTN_SITE_PATTERN;
}

float attn_tile_scale(const struct attn_tile *tile)
{
    const struct attn_attention *attention = tile->feed->attention;

    if (!attention->is_scaled)
        return (float)attention->factor;
    return (float)(attention->factor / (sqrt((double)tile->feed->shape->d_head) + attention->eps));
}

bool attn_tile_is_scored(const struct attn_tile *tile)
{
    const struct attn_attention *attention = tile->feed->attention;

    return attention->score_cap > 0 || attention->bias || tile->feed->key_mask;
}

float attn_place_term_at(const struct attn_place_terms *places, bool is_c2p, size_t head, size_t i,
                         size_t j)
{
    const float *products = is_c2p ? places->c2p : places->p2c;
    const size_t row = (size_t)places->rows[(ptrdiff_t)i - (ptrdiff_t)j];

    if (!products)
        return 0;
    return is_c2p ? products[(head * places->n_query + i - places->row0) * places->ld_c2p + row]
                  : products[(head * places->n + row) * places->ld_p2c + j];
}

/* Adds to X [n], the cells of SPAN, the products with places, scaled. */
static void add_places(const struct attn_tile *tile, const struct attn_tile_span *span, float scale,
                       float *x)
{
    const struct attn_place_terms *places = tile->feed->places;
    const size_t i = tile->row0 + span->i, head = (size_t)tile->head;

    for (size_t at = 0; at < span->n; at++) {
        const size_t j = span->keys ? (size_t)span->keys[at] : span->first + at;

        if (j >= tile->n_key)
            break;
        x[at] += attn_place_term_at(places, true, head, i, j) * scale;
        x[at] += attn_place_term_at(places, false, head, i, j) * scale;
    }
}

/* Returns how many of the N keys from FIRST on are before KEY. */
static size_t n_before(size_t key, size_t first, size_t n)
{
    return key <= first ? 0 : key - first < n ? key - first : n;
}

/* Adds to X [n], the cells of SPAN, the bias of the distance of each key from POSITION. */
static void add_distances(const struct attn_score_bias *bias, const struct attn_kernels *kernels,
                          size_t head, size_t position, const struct attn_tile_span *span, float *x)
{
    const size_t far = bias->farthest;
    const float *biases = bias->slopes + head * (2 * far + 1);
    const size_t begin = n_before(position > far ? position - far : 0, span->first, span->n);
    const size_t end = n_before(position + far, span->first, span->n);

    for (size_t j = 0; j < begin; j++)
        x[j] += biases[0];
    if (begin < end)
        kernels->add(x + begin, biases + (span->first + begin + far - position), end - begin,
                     x + begin);
    for (size_t j = end; j < span->n; j++)
        x[j] += biases[2 * far];
}

static void add_bias(const struct attn_tile *tile, const struct attn_kernels *kernels,
                     const struct attn_tile_span *span, float *x)
{
    const struct attn_score_bias *bias = tile->feed->attention->bias;
    const size_t position = tile->row0 + span->i + tile->feed->ahead;
    const size_t head = tile->feed->attention->first_head + (size_t)tile->head;

    if (bias->farthest > 0 && !span->keys) {
        add_distances(bias, kernels, head, position, span, x);
        return;
    }
    for (size_t j = 0; j < span->n; j++)
        x[j] += attn_score_bias_at(bias, head, position,
                                   span->keys ? (size_t)span->keys[j] : span->first + j);
}

void attn_tile_score(const struct attn_tile *tile, const struct attn_kernels *kernels,
                     const struct attn_tile_span *span, float *x, float *uncapped)
{
    const struct attn_attention *attention = tile->feed->attention;
    const int32_t *mask = tile->feed->key_mask, *keys = span->keys;
    const float scale = attn_tile_scale(tile);

    if (attention->bias && attention->bias->is_of_key)
        add_bias(tile, kernels, span, x);
    if (scale != 1)
        kernels->scale(x, scale, span->n, x);
    if (tile->feed->places)
        add_places(tile, span, scale, x);
    else if (attention->bias && !attention->bias->is_of_key)
        add_bias(tile, kernels, span, x);
    if (uncapped)
        memcpy(uncapped, x, span->n * sizeof *x);
    if (attention->score_cap > 0)
        kernels->soft_cap(x, span->n, (float)attention->score_cap);
    for (size_t j = 0; mask && j < span->n && (keys || span->first + j < tile->n_key); j++)
        if (mask[keys ? (size_t)keys[j] : span->first + j] == 0)
            x[j] = -INFINITY;
}

float attn_tile_softmax(const struct attn_tile *tile, const struct attn_kernels *kernels,
                        const struct attn_softmax_row *row)
{
    const float *sinks = tile->feed->attention->sinks;
    struct attn_running_softmax running = {.sum = 1};
    float weight;

    if (!sinks) {
        kernels->softmax(row->x, row->n_valid, row->n, row->scale);
        return 0;
    }
    running.max = sinks[tile->feed->attention->first_head + (size_t)tile->head];
    weight = kernels->softmax_block(row->x, row->n_valid, row->n, row->scale, &running);
    kernels->scale(row->x, 1 / running.sum, row->n_valid, row->x);
    return weight / running.sum;
}

size_t attn_tile_list_size(const struct attn_attention *attention, size_t n_key)
{
    if (!attn_attention_is_listed(attention))
        return 0;
    return (size_t)ATTN_QUERY_TILE * attn_keys_largest(attention, n_key);
}

size_t attn_tile_n_visible(const struct attn_tile *tile, size_t i)
{
    return attn_keys_ahead(tile->feed->attention, tile->row0 + i + tile->feed->ahead, tile->n_key);
}

void attn_tile_find_cells(const struct attn_tile *tile, int32_t *scratch,
                          struct attn_tile_cells *cells)
{
    const struct attn_layer_feed *feed = tile->feed;
    const bool is_watched = tile->watched.keys;
    int32_t *keys = is_watched ? tile->watched.keys : scratch;

    cells->keys = NULL;
    cells->ld = 0;
    if (attn_attention_is_listed(feed->attention)) {
        cells->keys = keys;
        cells->ld = is_watched ? tile->watched.ld : attn_keys_largest(feed->attention, tile->n_key);
    }
    for (size_t i = 0; i < tile->n_row; i++) {
        const struct attn_key_row row = {.layer = feed->random_layer,
                                         .head = tile->head,
                                         .query = tile->row0 + i,
                                         .position = tile->row0 + i + feed->ahead,
                                         .n_key = tile->n_key};

        cells->n[i] = !cells->keys ? attn_tile_n_visible(tile, i)
                                   : attn_keys_list(feed->attention, &row, keys + i * cells->ld);
        if (is_watched)
            tile->watched.n_cell[i] = cells->n[i];
    }
}

void attn_tile_choose_columns(const struct attn_tile *tile, bool is_whole,
                              struct attn_tile_cells *cells)
{
    size_t first = is_whole ? 0 : tile->n_key, last = is_whole ? tile->n_key : 0;

    for (size_t i = 0; i < tile->n_row && !is_whole; i++) {
        const size_t n = cells->n[i];
        const int32_t *keys = cells->keys ? cells->keys + i * cells->ld : NULL;
        const size_t begin = keys && n > 0 ? (size_t)keys[0] : 0;
        const size_t end = keys && n > 0 ? (size_t)keys[n - 1] + 1 : n;

        first = n > 0 && begin < first ? begin : first;
        last = end > last ? end : last;
    }
    cells->first = last == 0 ? 0 : first / ATTN_PANEL * ATTN_PANEL;
    cells->last = last == 0 ? ATTN_HALF_PANEL : attn_round_up(last, ATTN_HALF_PANEL);
}

void attn_tile_fill_masked(const struct attn_tile_cells *cells, size_t i, float value, float *row)
{
    size_t column = !cells->keys ? cells->n[i] : cells->first;

    for (size_t j = 0; cells->keys && j < cells->n[i]; j++, column++)
        for (; column < (size_t)cells->keys[i * cells->ld + j]; column++)
            row[column] = value;
    for (; column < cells->last; column++)
        row[column] = value;
}

bool attn_tile_is_edited(const struct attn_tile *tile, enum attn_site site)
{
    struct attn_location at = tile->feed->at;

    at.site = site;
    return attn_edits_touch(tile->feed->edits, tile->feed->n_edit, &at);
}

void attn_dropout_draw(struct attn_random *random, double dropout, size_t n, uint64_t *bits)
{
    memset(bits, 0, (n + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)attn_random_bernoulli(random, 1 - dropout) << (i % 64);
}

void attn_tile_drop(const struct attn_tile *tile, size_t row, const int32_t *keys, size_t n,
                    float *x)
{
    const struct attn_dropout *dropout = tile->feed->dropout;
    const struct attn_mask_matrix *given = dropout->given;
    const size_t head = (size_t)tile->head;
    /* The index of the cell of key 0. */
    const size_t first =
        given ? ((given->n_head == 1 ? 0 : head) * given->n_query + row) * given->n_key
              : ((head - dropout->first_head) * dropout->n_query + row) * dropout->n_key;

    for (size_t j = 0; j < n; j++) {
        const size_t cell = first + (keys ? (size_t)keys[j] : j);
        const bool stays =
            given ? given->cells[cell] != 0 : (dropout->bits[cell / 64] >> (cell % 64) & 1) != 0;

        x[j] = stays ? x[j] * dropout->factor : 0;
    }
}

#include "attention/kv.h"

#include "kernels/panels.h"

#include <string.h>

enum { ROWS_AT_ONCE = 16 }; /* keys that are rounded together before they are packed */

static size_t n_padded(const struct attn_head_shape *shape)
{
    return (shape->n_max + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

size_t attn_kv_ld_value(const struct attn_head_shape *shape)
{
    const struct attn_panels panels = attn_panels_split(shape->d_value);
    const size_t last = panels.n_panel - 1;

    return attn_panel_first(&panels, last) + attn_panel_width(&panels, last);
}

size_t attn_kv_depth(const struct attn_head_shape *shape)
{
    return attn_panel_depth(shape->d_head, ATTN_COMPUTE_BF16);
}

size_t attn_kv_keys_size(const struct attn_head_shape *shape)
{
    return n_padded(shape) * shape->d_head;
}

size_t attn_kv_values_size(const struct attn_head_shape *shape)
{
    return n_padded(shape) * attn_kv_ld_value(shape);
}

struct attn_kv *attn_kv_plan(struct attn_arena *arena, const struct attn_head_shape *shape,
                             size_t n, size_t n_state)
{
    struct attn_kv *kv = attn_arena_take(arena, n, sizeof *kv);

    for (size_t i = 0; i < n; i++) {
        float *keys = attn_arena_take(arena, attn_kv_keys_size(shape), sizeof *keys);
        float *values = attn_arena_take(arena, attn_kv_values_size(shape), sizeof *values);
        float *state = attn_arena_take(arena, n_state, sizeof *state);

        if (kv)
            kv[i] = (struct attn_kv){.keys = keys, .values = values, .state = state};
    }
    return kv;
}

void attn_kv_clear(struct attn_kv *kv, const struct attn_head_shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memset(kv[i].keys, 0, attn_kv_keys_size(shape) * sizeof(float));
        memset(kv[i].values, 0, attn_kv_values_size(shape) * sizeof(float));
        kv[i].is_bf16 = shape->is_bf16;
    }
}

void attn_kv_write_values(const struct attn_kv *kv, const struct attn_head_shape *shape,
                          const struct attn_kv_rows *rows)
{
    const size_t ld = attn_kv_ld_value(shape);

    for (size_t i = 0; rows->v && i < rows->n; i++)
        memcpy(kv->values + (rows->first + i) * ld, rows->v + i * rows->ldv,
               shape->d_value * sizeof(float));
}

void attn_kv_set_bf16(struct attn_kv *kv, const struct attn_head_shape *shape, bool is_bf16)
{
    if (kv->is_bf16 != is_bf16)
        attn_kv_clear(kv, shape, 1);
    kv->is_bf16 = is_bf16;
}

size_t attn_kv_rounding_scratch(const struct attn_head_shape *shape)
{
    const size_t n_key = ROWS_AT_ONCE * attn_kv_depth(shape);

    return ((n_key > shape->d_value ? n_key : shape->d_value) + 1) / 2;
}

/* Returns the first number of the row of values at POSITION. The numbers of a pair of rows are
 * interleaved, so the next ones lie two apart. */
static uint16_t *find_rounded_value(const struct attn_kv *kv, const struct attn_head_shape *shape,
                                    size_t position)
{
    uint16_t *values = (void *)kv->values;

    return values + position / 2 * 2 * attn_kv_ld_value(shape) + position % 2;
}

void attn_kv_write_rounded(const struct attn_kv *kv, const struct attn_kernels *kernels,
                           const struct attn_head_shape *shape, const struct attn_kv_rows *rows,
                           float *scratch)
{
    const size_t depth = attn_kv_depth(shape);
    uint16_t *rounded = (void *)scratch;

    for (size_t i = 0, n; rows->k && i < rows->n; i += n) {
        n = rows->n - i < ROWS_AT_ONCE ? rows->n - i : ROWS_AT_ONCE;
        for (size_t j = 0; j < n; j++) {
            rounded[(j + 1) * depth - 1] = 0;
            kernels->round_bf16(rows->k + (i + j) * rows->ldk, shape->d_head, rounded + j * depth);
        }
        /* A pair of rounded numbers is copied as one float. */
        kernels->pack_keys((const float *)(const void *)rounded, depth / 2, n, depth / 2,
                           rows->first + i, kv->keys);
    }
    for (size_t i = 0; rows->v && i < rows->n; i++) {
        const float *v = rows->v + i * rows->ldv;
        uint16_t *value = find_rounded_value(kv, shape, rows->first + i);

        if ((rows->first + i) % 2 == 0 && i + 1 < rows->n) {
            kernels->pair_bf16(v, v + rows->ldv, shape->d_value, value);
            i++;
            continue;
        }
        kernels->round_bf16(v, shape->d_value, rounded);
        for (size_t j = 0; j < shape->d_value; j++)
            value[2 * j] = rounded[j];
    }
}

/* Sets the row of values at POSITION to 0, but not the other row of its pair. */
static void erase_rounded_row(const struct attn_kv *kv, const struct attn_head_shape *shape,
                              size_t position)
{
    uint16_t *value = find_rounded_value(kv, shape, position);

    for (size_t j = 0; j < attn_kv_ld_value(shape); j++)
        value[2 * j] = 0;
}

void attn_kv_erase(const struct attn_kv *kv, const struct attn_head_shape *shape, size_t first,
                   size_t last)
{
    const size_t ld = attn_kv_ld_value(shape);

    if (!kv->is_bf16) {
        memset(kv->values + first * ld, 0, (last - first) * ld * sizeof(float));
        return;
    }
    if (first < last && first % 2 != 0)
        erase_rounded_row(kv, shape, first++);
    if (first < last && last % 2 != 0)
        erase_rounded_row(kv, shape, --last);
    memset(find_rounded_value(kv, shape, first), 0, (last - first) * ld * sizeof(uint16_t));
}

/* kv.c - see kv.h. */
#include "attention/kv.h"

#include "kernels/panels.h"

#include <string.h>

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

        if (kv != NULL)
            kv[i] = (struct attn_kv){.keys = keys, .values = values, .state = state};
    }
    return kv;
}

void attn_kv_clear(struct attn_kv *kv, const struct attn_head_shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memset(kv[i].keys, 0, attn_kv_keys_size(shape) * sizeof(float));
        memset(kv[i].values, 0, attn_kv_values_size(shape) * sizeof(float));
    }
}

void attn_kv_write_values(const struct attn_kv *kv, const struct attn_head_shape *shape,
                          const struct attn_kv_rows *rows)
{
    const size_t ld = attn_kv_ld_value(shape);

    for (size_t i = 0; rows->v != NULL && i < rows->n; i++)
        memcpy(kv->values + (rows->first + i) * ld, rows->v + i * rows->ldv,
               shape->d_value * sizeof(float));
}

void attn_kv_erase(const struct attn_kv *kv, const struct attn_head_shape *shape, size_t first,
                   size_t last)
{
    const size_t ld = attn_kv_ld_value(shape);

    memset(kv->values + first * ld, 0, (last - first) * ld * sizeof(float));
}

/*
 * weight_buffer.c - see forward_internal.h.
 *
 * A matrix that cannot be copied is used in the mapped file. If the file was truncated, the failure
 * is then the same as without a buffer.
 */
#include "forward/forward_internal.h"

#include "base/dtype_internal.h"
#include "base/pool_internal.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    TASK_BYTES = 256 << 10,   /* bytes that one task copies: the size of a core's L2 cache */
    PIECE_BYTES = 8 << 20,    /* bytes of a piece of a matrix whose columns are contiguous */
    LARGEST_BYTES = 64 << 20, /* maximum bytes of a matrix that is copied as a whole */
    SMALLEST_BYTES = 64 << 10 /* smaller matrices need only one page fault */
};

/* Whether each column is contiguous and follows the one before, as in an output matrix [V, D]. */
static bool has_whole_columns(const struct attn_matrix *w)
{
    return w->row_stride == 1 && w->col_stride == w->n_row && w->group == w->n_col;
}

/* Returns the bytes from the beginning of W to the end of its first N_COL columns, including the
 * complete last row and last group. If q, k and v are one matrix, a copy of q thus includes all
 * three. */
static size_t row_extent(const struct attn_matrix *w, size_t n_col)
{
    const size_t rows = attn_dtype_n_byte(w->dtype, w->n_row * w->row_stride);
    const size_t n_group = n_col / w->group, size = attn_matrix_extent(w, n_col);
    const size_t groups = n_group > 1 ? attn_dtype_n_byte(w->dtype, n_group * w->group_stride) : 0;
    const size_t larger = rows > groups ? rows : groups;

    return size > larger ? size : larger;
}

static size_t buffer_bytes(const struct attn_tensor_files *st, const struct attn_matrix *w)
{
    size_t size;

    if (!w->data || !attn_tensor_files_owns_address(st, w->data))
        return 0;
    size = row_extent(w, w->n_col);
    if (size > PIECE_BYTES && has_whole_columns(w))
        return PIECE_BYTES;
    return size > LARGEST_BYTES ? 0 : size;
}

size_t attn_weight_buffer_size(const struct attn_weight_buffer *buffer,
                               const struct attn_model *model, size_t n_layer, bool has_logits)
{
    const struct attn_weights *weights = &model->weights;
    size_t largest = 0;

    if (!buffer->st)
        return 0;
    /* Skips unembed, which is the first. */
    for (size_t i = has_logits ? 0 : 1; i < ATTN_MODEL_N_LINEAR; i++) {
        const size_t size = buffer_bytes(buffer->st, &weights->linears[i].weight);

        largest = size > largest ? size : largest;
    }
    for (size_t layer = 0; layer < n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++) {
            const size_t size = buffer_bytes(buffer->st, &weights->blocks[layer].linears[i].weight);

            largest = size > largest ? size : largest;
        }
    for (size_t layer = 0; layer < n_layer; layer++)
        if (weights->blocks[layer].experts) {
            const size_t size =
                buffer_bytes(buffer->st, &weights->blocks[layer].experts->gate.weight);

            largest = size > largest ? size : largest;
        }
    return largest < SMALLEST_BYTES ? 0 : largest;
}

struct copying {
    const struct attn_weight_buffer *buffer;
    const unsigned char *from;
    size_t size;
    atomic_bool has_failed;
};

static void copy_task(void *context, size_t task, int worker)
{
    struct copying *copying = context;
    const size_t at = task * TASK_BYTES, left = copying->size - at;

    (void)worker;
    if (!attn_tensor_files_read_again(copying->buffer->st, copying->from + at,
                                      left < TASK_BYTES ? left : TASK_BYTES,
                                      copying->buffer->bytes + at))
        atomic_store_explicit(&copying->has_failed, true, memory_order_relaxed);
}

/* Returns LINEAR with its first N_COL columns in the buffer, or LINEAR itself if copying does not
 * pay. Only N_USED of these columns are needed. */
static struct attn_linear copy_linear(struct attn_weight_buffer *buffer,
                                      const struct attn_linear *linear, size_t n_col, size_t n_used,
                                      struct attn_pool *pool)
{
    struct attn_linear staged = *linear;
    const struct attn_matrix *w = &linear->weight;
    const size_t size = row_extent(w, n_col), used = attn_dtype_n_byte(w->dtype, w->n_row * n_used);
    /* The offset of the weight in the buffer, if it is there. */
    const size_t offset = (uintptr_t)w->data - (uintptr_t)buffer->first;

    if (offset >= buffer->size || attn_matrix_extent(w, n_col) > buffer->size - offset) {
        struct copying copying = {.buffer = buffer, .from = w->data, .size = size};

        /* Small or large weights are not copied, nor those of which only a few heads are needed. */
        if (size < SMALLEST_BYTES || size > buffer->capacity || size / 4 > used)
            return staged;
        buffer->size = 0;
        attn_pool_run(pool, (size + TASK_BYTES - 1) / TASK_BYTES, copy_task, &copying);
        if (atomic_load_explicit(&copying.has_failed, memory_order_relaxed))
            return staged;
        buffer->first = w->data;
        buffer->size = size;
    }
    staged.weight.data = buffer->bytes + ((const unsigned char *)w->data - buffer->first);
    return staged;
}

/* Runs a map whose columns are copied a few at a time. They are columns of the result, or if the
 * map is transposed, of the depth. */
static void run_pieces(struct attn_weight_buffer *buffer, const struct attn_linear_args *args,
                       struct attn_pool *pool)
{
    const struct attn_matrix *w = &args->linear->weight;
    const size_t n_fit = PIECE_BYTES / attn_dtype_n_byte(w->dtype, w->n_row);
    const size_t step = n_fit < 64 ? 64 : n_fit / 64 * 64; /* a multiple of the width of panels */

    const size_t begin = args->is_transposed ? 0 : args->first_col;
    const size_t end = args->is_transposed ? w->n_col : args->last_col;

    for (size_t first = begin; first < end; first += step) {
        const size_t left = end - first, n_col = left < step ? left : step;
        struct attn_linear piece = *args->linear, staged; /* these columns as a separate map */
        struct attn_linear_args part = *args;

        piece.weight.data =
            (const char *)w->data + attn_dtype_n_byte(w->dtype, first * w->col_stride);
        piece.weight.n_col = piece.weight.group = piece.bias.n = n_col;
        if (piece.bias.data)
            piece.bias.data =
                (const char *)piece.bias.data + attn_dtype_n_byte(piece.bias.dtype, first);
        staged = copy_linear(buffer, &piece, n_col, n_col, pool);
        part.linear = &staged;
        if (args->is_transposed) {
            const bool is_last = n_col == left;

            part.x = args->x + first;
            part.is_continued = args->is_continued || first > 0;
            part.sum = is_last ? args->sum : NULL;
            attn_linear_run(&part, 1, pool);
            continue;
        }
        part.y = args->y + (first - args->first_col);
        part.sum = args->sum ? args->sum + (first - args->first_col) : NULL;
        part.first_col = 0;
        part.last_col = n_col;
        attn_linear_run(&part, 1, pool);
    }
}

void attn_weight_buffer_run_linear(struct attn_weight_buffer *buffer,
                                   const struct attn_linear_args *args, size_t n,
                                   struct attn_pool *pool)
{
    if (buffer->capacity == 0) {
        attn_linear_run(args, n, pool);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct attn_linear_args one = args[i];
        size_t n_col = one.last_col, n_used = one.last_col - one.first_col;
        struct attn_linear staged;

        if (one.first_col >= one.last_col)
            continue;
        if (one.is_transposed)
            n_col = n_used = one.linear->weight.n_col;
        if (has_whole_columns(&one.linear->weight)) {
            run_pieces(buffer, &one, pool);
            continue;
        }
        staged = copy_linear(buffer, one.linear, n_col, n_used, pool);
        one.linear = &staged;
        attn_linear_run(&one, 1, pool);
    }
}

/*
 * test_packed_weights.c - which weights of a model that is reused are packed: all but blocks that
 * would take too much memory, or whose tiles do not pay with this instruction set.
 */
#include "base/memory.h"
#include "formats/tensor_files.h"
#include "model/weights.h"
#include "tests/support/suite.h"

enum { DEPTH = 256, WIDTH = 64 };

static const unsigned char stored[DEPTH * WIDTH * sizeof(float)];

static struct attn_linear map_of(enum attn_dtype dtype)
{
    return (struct attn_linear){.weight = {.data = stored,
                                           .dtype = dtype,
                                           .n_row = DEPTH,
                                           .n_col = WIDTH,
                                           .row_stride = 1,
                                           .col_stride = DEPTH,
                                           .group = WIDTH}};
}

/* Packs a model of two matrices, one of blocks; whether each is packed then. */
static void check(enum attn_compute compute, size_t most, bool is_first, bool is_second)
{
    struct attn_block_weights block = {.q = map_of(ATTN_DTYPE_Q4_K)};
    struct attn_weights weights = {.blocks = &block, .unembed = map_of(ATTN_DTYPE_F16)};
    const struct attn_config config = {.n_layer = 1};
    const struct attn_packing packing = {
        .compute = compute, .kernels = attn_kernels_find(ATTN_ISA_BEST), .most_of_blocks = most};
    struct attn_tensor_files *none;

    ck_assert_int_eq(attn_safetensors_open_file("tests/fixtures/gpt2-relu/model.safetensors",
                                                ATTN_MAP, &none, NULL),
                     ATTN_OK);
    ck_assert_int_eq(attn_weights_pack(&weights, &config, none, &packing, NULL), ATTN_OK);
    ck_assert(weights.is_reused);
    ck_assert_int_eq(block.q.packed != NULL, is_first);
    ck_assert_int_eq(weights.unembed.packed != NULL, is_second);
    attn_arena_release(&weights.packed);
    attn_tensor_files_free(none);
}

START_TEST(blocks_are_split_in_float32_while_they_fit)
{
    const size_t size = attn_kernels_find(ATTN_ISA_BEST)->tiles_size(ATTN_DTYPE_Q4_K, DEPTH);

    check(ATTN_COMPUTE_F32, size, size > 0, true);
    check(ATTN_COMPUTE_F32, size > 0 ? size - 1 : 0, false, true);
}
END_TEST

START_TEST(blocks_are_packed_in_bfloat16_while_they_fit)
{
    check(ATTN_COMPUTE_BF16, DEPTH * WIDTH * 2, true, true);
    check(ATTN_COMPUTE_BF16, DEPTH * WIDTH * 2 - 1, false, true);
}
END_TEST

START_TEST(a_machine_has_memory)
{
    ck_assert_uint_gt(attn_memory_of_machine(), (size_t)1 << 24);
}
END_TEST

ATTN_SUITE("packed weights", blocks_are_split_in_float32_while_they_fit,
           blocks_are_packed_in_bfloat16_while_they_fit, a_machine_has_memory)

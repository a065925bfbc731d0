/*
 * grammar_safetensors.c - .safetensors files: the size of the header, its JSON, names, types,
 * shapes, offsets and metadata.
 *
 * What was written valid is read back: each tensor under its name, with its type, shape and place.
 */
#include "base/dtype_internal.h"
#include "formats/safetensors.h"
#include "tests/adversary/container.h"

#include <string.h>

struct known {
    struct attn_container container;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

static void make(struct attn_case *c)
{
    struct attn_container *container = &((struct known *)c->known.bytes)->container;
    const int defect = attn_case_defect(c, attn_container_defects, ATTN_CONTAINER_N_DEFECT);

    attn_container_add(container, "first", ATTN_DTYPE_F32, 2, (size_t)3, (size_t)2);
    attn_container_add_any(c, container, attn_case_below(c, 9));
    attn_container_write(c, container, defect, attn_case_file(c, "model.safetensors"));
    attn_case_run(c, 3, "inspect", "model.safetensors", NULL);
}

static void check_tensor(const struct attn_container *container, size_t i,
                         const struct attn_tensor_files *st, const struct attn_buffer *bytes)
{
    const struct attn_planned_tensor *planned = &container->tensors[i];
    struct attn_tensor_entry entry;

    FUZZ_CHECK(attn_tensor_files_find(st, planned->name, &entry));
    FUZZ_CHECK(strcmp(entry.name, planned->name) == 0 && entry.name_size == strlen(entry.name));
    FUZZ_CHECK(entry.tensor.dtype == planned->dtype && entry.tensor.rank == planned->rank);
    for (int d = 0; d < planned->rank; d++)
        FUZZ_CHECK(entry.tensor.shape[d] == planned->shape[d]);
    FUZZ_CHECK(entry.offset == container->data_start + planned->begin);
    FUZZ_CHECK(attn_tensor_n_byte(&entry.tensor) == planned->end - planned->begin);
    FUZZ_CHECK(
        memcmp(entry.tensor.data, bytes->data + entry.offset, planned->end - planned->begin) == 0);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct attn_container *container = &((struct known *)c->known.bytes)->container;
    const struct attn_buffer *bytes = attn_case_find(c, "model.safetensors");
    const struct attn_blob blob = {"model.safetensors", bytes->data, bytes->size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tensor_files *st = NULL;
    const enum attn_status status = attn_safetensors_open(&source, ATTN_READ, &st, err);

    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID) {
        FUZZ_CHECK(attn_tensor_files_count(st) == container->n);
        for (size_t i = 0; i < container->n; i++)
            check_tensor(container, i, st, bytes);
    }
    attn_tensor_files_free(st);
    return status;
}

const struct attn_grammar attn_grammar_safetensors = {.name = "safetensors",
                                                      .make = make,
                                                      .take = take,
                                                      .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                                 FUZZ_BIT(ATTN_UNSUPPORTED)};

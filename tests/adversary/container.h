/* container.h - writes .safetensors files in every way in which they may be written, and with one
 * defect. */
#pragma once

#include "tests/adversary/case.h"

#include "base/dtype.h"

enum { ATTN_CONTAINER_MAX = 96, ATTN_CONTAINER_NAME_SIZE = 64 };

struct attn_planned_tensor {
    char name[ATTN_CONTAINER_NAME_SIZE]; /* UTF-8 */
    enum attn_dtype dtype;
    int rank;
    size_t shape[ATTN_MAX_RANK];
    size_t begin, end; /* bytes of the data; set when it is written */
};

struct attn_container {
    struct attn_planned_tensor tensors[ATTN_CONTAINER_MAX];
    size_t n;
    bool is_plain;     /* nothing strange: no metadata, no other members */
    size_t data_start; /* set when it is written */
};

/* Adds a tensor; the shape follows, RANK sizes as size_t. */
struct attn_planned_tensor *attn_container_add(struct attn_container *container, const char *name,
                                               enum attn_dtype dtype, int rank, ...);

/* Adds up to N tensors of any type and shape, with names that are hard to write. */
void attn_container_add_any(struct attn_case *c, struct attn_container *container, size_t n);

enum { ATTN_CONTAINER_N_DEFECT = 26 + ATTN_N_JSON_DEFECT };
extern const char *const attn_container_defects[ATTN_CONTAINER_N_DEFECT];

/* DEFECT is an index of the list, or -1. There is at least one tensor with elements. The data are
 * floats of F32 that are small, and other bytes. */
void attn_container_write(struct attn_case *c, struct attn_container *container, int defect,
                          struct attn_buffer *out);

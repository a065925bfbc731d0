/*
 * malformed.h - headers of .safetensors files that must be refused, by the classes in which files
 * go wrong, and strange ones that must be taken.
 */
#pragma once

#include <stddef.h>

struct attn_header {
    const char *text; /* [size]; may hold NUL */
    size_t size, n_data;
    const char *message; /* part of what is said when it is refused; NULL: it is legal */
};

struct attn_header_group {
    const char *name;
    const struct attn_header *rows; /* [n] */
    size_t n;
};

extern const struct attn_header_group attn_malformed_groups[];
extern const size_t attn_n_malformed_group;
extern const struct attn_header_group attn_strange;

/* npy_text.h - writes .npy files in every way in which they may be written, and with one defect. */
#pragma once

#include "tests/adversary/case.h"

#include "base/dtype.h"

enum { ATTN_NPY_TEXT_MAX = 1024 };

/* An array and how it is written. */
struct attn_npy_text {
    char type[4]; /* "f4" */
    char order;   /* '<', '>' or, for single bytes, '|' */
    bool is_fortran;
    int rank;
    size_t shape[ATTN_MAX_RANK];
    size_t n;                         /* elements */
    uint64_t bits[ATTN_NPY_TEXT_MAX]; /* [n] of the elements, C order */
};

/* Sets n from the shape. */
void attn_npy_text_count(struct attn_npy_text *array);

/* Chooses a byte order that the type can have. */
void attn_npy_text_choose_order(struct attn_case *c, struct attn_npy_text *array);

/* The element I as a number, and rounded to float32, by its type. */
double attn_npy_text_value(const struct attn_npy_text *array, size_t i);
float attn_npy_text_float(const struct attn_npy_text *array, size_t i);

/* The bits of a small whole number in the array's type: 0, 1 or 2. */
uint64_t attn_npy_text_whole(const struct attn_npy_text *array, unsigned value);

enum { ATTN_NPY_N_DEFECT = 26 };
extern const char *const attn_npy_defects[ATTN_NPY_N_DEFECT];

/* DEFECT is an index of the list, or -1. The array may change with it. */
void attn_npy_text_write(struct attn_case *c, struct attn_npy_text *array, int defect,
                         struct attn_buffer *out);

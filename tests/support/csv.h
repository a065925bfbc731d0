/*
 * csv.h - a strict reader of CSV as RFC 4180 has it, with \n line ends: what other programs see in
 * the files we write.
 */
#pragma once

#include <stddef.h>

struct attn_csv {
    char **cells; /* [n_row * n_col], terminated; owned */
    size_t n_row, n_col;
};

/* Fails the current test for a stray quote, a row of another length, a missing last line end. TEXT
 * is terminated. */
struct attn_csv attn_csv_parse(const char *text);
void attn_csv_release(struct attn_csv *csv);

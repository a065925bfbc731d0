/*
 * page.h - a web page read back: its document, and the weights in its blocks of data, by another
 * reader than the page's own.
 *
 *     struct attn_page page = attn_page_read(text);              // terminated; borrowed
 *     struct attn_page_matrix m = attn_page_matrix(&page, 3);
 *     double weight = m.weights[row * m.n_column + column];      // NaN: masked
 *     attn_page_matrix_release(&m);
 *     attn_page_release(&page);
 *
 * Each fails the current test for a page that is not as it should be.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

struct attn_page {
    const char *text;
    cJSON *run; /* owned; the document */
};

struct attn_page_matrix {
    size_t n_row, n_column;
    double *weights; /* [n_row * n_column] owned */
    double
        top; /* the level of 1, less 1: a weight is true to sqrt(weight) / top, and 1 / 4 top^2 */
};

struct attn_page attn_page_read(const char *text);
void attn_page_release(struct attn_page *page);

/* The weights of head number HEAD. */
struct attn_page_matrix attn_page_matrix(const struct attn_page *page, size_t head);
void attn_page_matrix_release(struct attn_page_matrix *matrix);

/* The number of heads, and what the table of heads has of head number HEAD in the column NAME. */
size_t attn_page_n_head(const struct attn_page *page);
const cJSON *attn_page_head(const struct attn_page *page, size_t head, const char *name);

/* The bytes of the block of data TEXT; free them. */
unsigned char *attn_page_block(const char *text, size_t *n);

/* What stands in the first element that begins with OPENING, up to its end; terminated, free it. */
char *attn_page_element(const struct attn_page *page, const char *opening, const char *closing);

/* How often WHAT stands in the page. */
size_t attn_page_count(const struct attn_page *page, const char *what);

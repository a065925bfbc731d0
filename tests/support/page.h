/*
 * page.h - a web page read back: what it knows of its run, and the weights in its data blocks, by
 * another reader than the page's own.
 *
 *     struct attn_page page = attn_page_read(text);              // terminated; borrowed
 *     struct attn_page_matrix m = attn_page_matrix(&page, "L0H3");
 *     double weight = m.weights[row * m.n_column + column];      // NaN: masked
 *     attn_page_matrix_release(&m);
 *     attn_page_release(&page);
 *
 * Each fails the current test for a page that is not as it should be.
 */
#ifndef ATTN_TESTS_PAGE_H
#define ATTN_TESTS_PAGE_H

#include <cjson/cJSON.h>
#include <stddef.h>

struct attn_page {
    const char *text;
    cJSON *run; /* owned */
};

struct attn_page_matrix {
    size_t n_row, n_column;
    double *weights; /* [n_row * n_column] owned */
    double
        top; /* the level of 1, less 1: a weight is true to sqrt(weight) / top, and 1 / 4 top^2 */
};

struct attn_page attn_page_read(const char *text);
void attn_page_release(struct attn_page *page);

/* ID may be followed by "-exact". */
struct attn_page_matrix attn_page_matrix(const struct attn_page *page, const char *id);
void attn_page_matrix_release(struct attn_page_matrix *matrix);

/* The bytes of a data block; free them. */
unsigned char *attn_page_block(const struct attn_page *page, const char *id, size_t *n);

/* What stands in the first element that begins with OPENING, up to its end; terminated, free it. */
char *attn_page_element(const struct attn_page *page, const char *opening, const char *closing);

/* How often WHAT stands in the page. */
size_t attn_page_count(const struct attn_page *page, const char *what);

#endif

/*
 * links.h - links between the words of two texts (word alignment): finds them in a matrix of
 * similarities, and counts how well they agree with links that people made. For the files of this
 * layer and above.
 *
 *     unsigned char *links = ...; // [m, n] zeros
 *     attn_links_find(&rule, similarities, m, n, links, &err);
 *     attn_links_read("0-0 1-2 2p3", m, n, false, gold, &err);
 *     attn_links_count(links, gold, m * n, &counts);
 *
 * Matrices are [m, n]: row i is word i of the source, column j is word j of the text.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* How links are found from similarities: X(ID, number, name). */
#define ATTN_LINK_METHOD_MAP(X)                                                                    \
    X(ARGMAX, 0, "argmax")   /* two words that are each most similar to the other */               \
    X(ITERMAX, 1, "itermax") /* the same, then once more among words without links (SimAlign,      \
     2004.08728) */                                                                                \
    X(MATCH, 2, "match")     /* pairs with the largest sum; each word is in at most one */         \
    X(SOFTMAX, 3, "softmax") /* probable in both directions (awesome-align, 2101.08231) */

enum attn_link_method {
#define ATTN_LINK_METHOD_ENUM(id, number, ...) ATTN_LINK_##id = (number),
    ATTN_LINK_METHOD_MAP(ATTN_LINK_METHOD_ENUM)
#undef ATTN_LINK_METHOD_ENUM
};

struct attn_link_rule {
    enum attn_link_method method;
    double threshold; /* least probability of a link of SOFTMAX */
};

/* Sets links[i * n + j] to 1 for each link; LINKS are 0 before. X [m, n] are cosines, where larger
 * means more similar. For SOFTMAX they are dot products, which are replaced by the smaller of the
 * two probabilities; a link has one above the threshold. Of equal numbers the first counts. Fails
 * only with ATTN_NO_MEMORY. */
enum attn_status attn_links_find(const struct attn_link_rule *rule, double *x, size_t m, size_t n,
                                 unsigned char *links, struct attn_error *err);

enum { ATTN_LINK_SURE = 1, ATTN_LINK_POSSIBLE = 2 };

/* Reads TEXT such as "0-0 1p2": `-` is a sure link, `p` or `?` a possible one. Sets gold[i * n +
 * j]; GOLD is 0 before. ATTN_INVALID for another form, and for words that do not exist. */
enum attn_status attn_links_read(const char *text, size_t m, size_t n, bool is_one_based,
                                 unsigned char *gold, struct attn_error *err);

/* Counts of links, added up over texts. */
struct attn_link_counts {
    /* |A|, |S| and |P|: the links found, the sure ones, and the possible ones, which include the
     * sure ones. */
    size_t links, sure, possible;
    size_t hits_sure, hits; /* |A and S|, |A and P| */
};

/* Adds the counts of LINKS [n] and GOLD [n] to COUNTS. */
void attn_links_count(const unsigned char *links, const unsigned char *gold, size_t n,
                      struct attn_link_counts *counts);

/* A file of links, a line for each pair of texts. Initialize with = {.path = ...}; end with
 * attn_link_lines_release, also after a failure. */
struct attn_link_lines {
    const char *path;  /* borrowed; its words count from 1 if it ends in ":1", which is no part of
                          the file's name */
    bool is_one_based; /* set by the reader */
    char *text;        /* owns; the lines, each null-terminated */
    char **items;      /* [n] owns the array */
    size_t n;
};

/* Reads the lines of the file. ATTN_INVALID for a byte 0. */
enum attn_status attn_link_lines_read(struct attn_link_lines *lines, struct attn_error *err);
void attn_link_lines_release(struct attn_link_lines *lines);

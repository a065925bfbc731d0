/*
 * links.h - which word of one text is which of another: links found in a matrix of similarities,
 * and how well they agree with links that people made. For the files of this layer and above.
 *
 *     unsigned char *links = ...;                          // [m, n] zeros
 *     attn_links_find(&rule, similarities, m, n, links, &err);
 *     attn_links_read("0-0 1-2 2p3", m, n, false, gold, &err);
 *     attn_links_count(links, gold, m * n, &counts);
 *
 * Matrices are [m, n]: word i of the source, word j of the text.
 */
#ifndef ATTN_ANALYSIS_LINKS_H
#define ATTN_ANALYSIS_LINKS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* X(ID, number, name). How links follow from similarities. */
#define ATTN_LINK_METHOD_MAP(X)                                                                    \
    X(ARGMAX, 0, "argmax")   /* each is the other's most similar */                                \
    X(ITERMAX, 1, "itermax") /* these, then those among words that are still free (SimAlign,       \
                                2004.08728) */                                                     \
    X(MATCH, 2, "match")     /* pairs with the largest sum, each word in one at most */            \
    X(SOFTMAX, 3, "softmax") /* probable from both sides (awesome-align, 2101.08231) */

enum attn_link_method {
#define ATTN_LINK_METHOD_ENUM(id, number, ...) ATTN_LINK_##id = (number),
    ATTN_LINK_METHOD_MAP(ATTN_LINK_METHOD_ENUM)
#undef ATTN_LINK_METHOD_ENUM
};

struct attn_link_rule {
    enum attn_link_method method;
    double threshold; /* of SOFTMAX */
};

/* Sets links[i * n + j], 0 before, to 1 for each link. X [m, n]: cosines, larger is more similar;
 * for SOFTMAX dot products, which become the smaller of both probabilities, and a link has one
 * above the threshold. Of equal numbers the first counts. ATTN_NO_MEMORY is the only failure. */
enum attn_status attn_links_find(const struct attn_link_rule *rule, double *x, size_t m, size_t n,
                                 unsigned char *links, struct attn_error *err);

enum { ATTN_LINK_SURE = 1, ATTN_LINK_POSSIBLE = 2 };

/* Reads TEXT, "0-0 1p2": `-` is a sure link, `p` or `?` one that is only possible. Sets
 * gold[i * n + j], 0 before. ATTN_INVALID for another form, and for words that are not there. */
enum attn_status attn_links_read(const char *text, size_t m, size_t n, bool is_one_based,
                                 unsigned char *gold, struct attn_error *err);

/* Sums over texts. */
struct attn_link_counts {
    size_t links, sure, possible; /* |A|, |S|, and |P|, which has the sure ones, too */
    size_t hits_sure, hits;       /* |A and S|, |A and P| */
};

/* Adds the [n] cells of LINKS and GOLD to COUNTS. */
void attn_links_count(const unsigned char *links, const unsigned char *gold, size_t n,
                      struct attn_link_counts *counts);

#endif

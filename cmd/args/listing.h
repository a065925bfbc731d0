/* listing.h - the common part of `run` and `generate` with --items: the rows of each item are
 * written to one file or to standard output; means over items are not computed. */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include "cmd/args/question.h"

struct listing {
    /* options that the command allows in addition to those of every listing: by the heading they
     * are under, and by their names, "at|sites" */
    const char *headings, *names;
    /* no rows are printed without --csv, --json or --jsonl; else they are printed as CSV */
    bool has_no_rows;
    bool has_records; /* --jsonl holds a record for each item instead of rows */
};

/* Opens the items of LISTING and the host. */
enum attn_status listing_begin(struct question *question, const struct listing *listing,
                               struct attn_error *err);

#endif

/*
 * listing.h - the common part of `run` and `generate` with --items: the rows of each item are
 * written to one file or to standard output; means over items are not computed.
 */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include "cmd/args/question.h"
#include "cmd/args/request.h"

/* The arguments of the command. All are borrowed. */
struct listing {
    const struct prompt_args *prompt;
    const struct items_args *items;
    const struct model_args *model;
    const struct request_args *request;
    const char *example;
    /* options that the command allows in addition to those of every listing: by the heading they
     * are under, and by their names, "at|sites" */
    const char *headings, *names;
    struct question_args *args; /* set by listing_answer */
    /* no rows are printed without --csv, --json or --jsonl; else they are printed as CSV */
    bool has_no_rows;
};

/* Opens the items and the host, calls ASK, which finds LISTING in question->own, and sets the exit
 * code. */
enum attn_status listing_answer(struct call *call, struct listing *listing,
                                enum attn_status (*ask)(struct question *, struct attn_error *),
                                struct attn_error *err);

/* ASK calls this first. It opens the items and the host. */
enum attn_status listing_begin(struct question *question, struct attn_error *err);

#endif

/*
 * listing.h - what `run` and `generate` share for --items: each item has its own rows, which go to
 * one file or to standard output, and no table of means is made.
 */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include "cmd/args/question.h"
#include "cmd/args/request.h"

/* --items, --items-format and --marks, which fill a struct items_args; items_restart_options come
 * after. */
extern const struct option_group listing_options;

/* The arguments of the command. Borrowed. */
struct listing {
    const struct prompt_args *prompt;
    const struct items_args *items;
    const struct model_args *model;
    const struct request_args *request;
    const char *example;
    const char *headings, *names; /* the options that are taken beside those of every listing: below
                                     these headings, and of these names, "at|sites" */
    struct question_args *args;   /* set by listing_answer */
    bool has_no_rows; /* without --csv, --json or --jsonl; else they are CSV on standard output */
};

/* Opens the items and the host, calls ASK, which finds LISTING in question->own, and sets the exit
 * code. */
enum attn_status listing_answer(struct call *call, struct listing *listing,
                                enum attn_status (*ask)(struct question *, struct attn_error *),
                                struct attn_error *err);

/* Call it first in ASK: opens items and host. */
enum attn_status listing_begin(struct question *question, struct attn_error *err);

#endif

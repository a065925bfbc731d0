/*
 * listing.h - what `run` and `generate` share for --items: each item has its own rows, which go to
 * one file or to standard output, and no table of means is made.
 *
 *     struct listing listing = {.args = QUESTION_ARGS_DEFAULT, .names = "at"};
 *     listing_fill(&listing, &args->request, &args->model, &args->prompt);
 *     struct question question = {.call = call, .args = &listing.args, .own = &listing};
 *     return question_answer(&question, work, err);
 *
 *     static enum attn_status work(struct question *question, struct attn_error *err)
 *     {
 *         ATTN_TRY(listing_begin(question, err));
 *         how.study = &question->items.args;
 *         ATTN_TRY(attn_collect(question->host, &question->request, &how, err));
 *         return listing_end(question);
 *     }
 */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include "cmd/args/question.h"
#include "cmd/args/request.h"

/* --items and --items-format, which fill a struct items_args; the options of its `restart` come
 * after. */
extern const struct option_group listing_options;

struct listing {
    struct question_args args;        /* without outputs */
    const struct output_args *output; /* where rows go: --csv, --json or --jsonl, */
    bool has_no_rows;             /* without such a file; else they are CSV on standard output */
    const char *headings, *names; /* other options that are not refused: those below these, and
                                     these, "top|next" */
};

/* Sets the arguments and the output of LISTING from those of the command. */
void listing_fill(struct listing *listing, const struct request_args *request,
                  const struct model_args *model, const struct prompt_args *prompt);

/* Opens the items and the host. Borrows until question_answer returns. */
enum attn_status listing_begin(struct question *question, struct attn_error *err);

/* Sets the exit code. */
enum attn_status listing_end(const struct question *question);

#endif

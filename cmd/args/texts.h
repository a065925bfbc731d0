/* texts.h - a file of texts in place of one, for commands that take a mean over many. */
#ifndef CMD_TEXTS_ARGS_H
#define CMD_TEXTS_ARGS_H

#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "extra.h"

struct texts_args {
    const char *path; /* NULL: not given */
    bool is_lines;    /* each line is a text, and not an object */
};

extern const struct option_group texts_options; /* fills a struct texts_args: --texts, --lines */

/* Whether there is a text, or many in its place: prompt_check without --texts. Reports a failure;
 * an exit code. */
int texts_check(const struct texts_args *args, const struct prompt_args *prompt,
                const char *example);

/* Reads the file, if there is one: ITEMS [*n] are borrowed from *texts, the caller's
 * (attn_texts_free). Likewise. */
int texts_read(const struct texts_args *args, struct attn_texts **texts,
               const struct attn_input **items, size_t *n);

#endif

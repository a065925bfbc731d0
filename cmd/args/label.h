/*
 * label.h - labels of the rows and columns of arrays: --query-labels and --key-labels.
 *
 *     struct label_files labels = {0};
 *     label_files_read(&args, &labels, &request);     // the request borrows from them
 *     label_files_release(&labels);
 */
#ifndef CMD_LABEL_ARGS_H
#define CMD_LABEL_ARGS_H

#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "attn.h"

/* Files of lines, or NULL. */
struct label_args {
    const char *queries, *keys;
};

/* Options that fill a struct label_args. */
extern const struct option_group label_options;

/* The lines of one file. */
struct label_file {
    struct text text;
    const char **items; /* [list.n] owns; where each line begins in the text */
    size_t *sizes;      /* [list.n] owns */
};

struct label_files {
    struct label_file queries, keys;
};

/* Reads the files of ARGS and puts their lines into REQUEST. */
enum attn_status label_files_read(const struct label_args *args, struct label_files *files,
                                  struct attn_request *request, struct attn_error *err);
void label_files_release(struct label_files *files);

#endif

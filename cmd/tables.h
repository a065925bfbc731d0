/*
 * tables.h - where a command's table goes: aligned text on standard output, or the files that were
 * asked for.
 */
#ifndef CMD_TABLES_H
#define CMD_TABLES_H

#include "options.h"

#include "attn.h"

/* Forms of a table that have an option. */
enum { TABLES_CSV, TABLES_JSON, TABLES_JSONL, TABLES_N_FORM };

/* What was asked for. Initialize with precision -1. */
struct tables_args {
    const char *paths[TABLES_N_FORM]; /* "-" is standard output; NULL: not asked for */
    int64_t precision;                /* -1: as many digits as bring back the same number */
};

/* Options that fill a struct tables_args. */
extern const struct option_group tables_options;

/* Whether the outputs go together: one of them at most goes to standard output, no two are one
 * file. Reports and returns an exit code. */
int tables_check(const struct tables_args *args);

/* Refuses outputs that are files of HOST's model. Reports and returns an exit code. */
int tables_check_model(const struct tables_args *args, const struct attn_host *host);

/* Writes TABLE to the outputs of ARGS, or as text to OUT where there are none; OUT is standard
 * output. Reports and returns an exit code. */
int tables_write(const struct tables_args *args, const struct attn_table *table,
                 struct attn_sink *out);

#endif

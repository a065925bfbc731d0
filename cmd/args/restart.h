/* restart.h - the common part of commands whose runs can be resumed. */
#ifndef CMD_RESTART_ARGS_H
#define CMD_RESTART_ARGS_H

#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

/* Names the options that do not change results, so that they may differ when a run is resumed. */
struct restart_form {
    const char *headings; /* headings of such options, "Output|Other"; NULL: none */
    const char *names;    /* names of further such options, "threads|quiet" */
    const char *outputs;  /* options of which only matters whether they are given; NULL: none */
    bool has_command;     /* the name of the command is compared, too */
};

/* The command line of a run, which its manifest stores. Initialize with = {0}. */
struct restart {
    /* owned; the options that change results, as a JSON object on one line */
    struct attn_buffer asked;
    const char **command; /* owned; [n] the command line as typed */
    size_t n;
};

/* Fills RESTART from CALL. */
enum attn_status restart_begin(const struct call *call, const struct restart_form *form,
                               struct restart *restart, struct attn_error *err);
void restart_end(struct restart *restart);

/* An is_spoiled function. It returns true if the model was truncated while it was read. */
bool restart_is_spoiled(void *user);

#endif

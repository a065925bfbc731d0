/* restart.h - what commands share whose runs are resumed. */
#ifndef CMD_RESTART_ARGS_H
#define CMD_RESTART_ARGS_H

#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

/* Which options say where and how, and not what. */
struct restart_form {
    const char *headings; /* those below these, "Output|Other"; NULL: none */
    const char *names;    /* and these, "threads|quiet" */
    const char *outputs;  /* of these it matters only that they are given; NULL: there are none */
    bool has_command;     /* the name of the command is one more key */
};

/* The command line, for a manifest. Initialize with = {0}. */
struct restart {
    struct attn_buffer asked; /* owns; the options that shape the results: an object of JSON on one
                                 line, where lists have all their values */
    const char **command;     /* [n] owns; as it was typed */
    size_t n;
};

/* Fills RESTART from CALL. */
enum attn_status restart_begin(const struct call *call, const struct restart_form *form,
                               struct restart *restart, struct attn_error *err);
void restart_end(struct restart *restart);

/* An is_spoiled function: whether the model was truncated while it was read. */
bool restart_is_spoiled(void *user);

#endif

/* live.h - the options of a live page, and the files that are embedded in it. */
#pragma once

#include "cmd/args/question.h"

extern const struct attn_param_list live_options;

/* Refuses options that cannot be combined with a live page, before anything is opened. */
enum attn_status live_check(const struct question *question, struct attn_error *err);

/* If no input is given, makes the text of the story's first step that of PROMPT. */
enum attn_status live_read_text(struct question *question, struct prompt_args *prompt,
                                struct attn_error *err);

/* The files of a page. */
struct live {
    struct attn_live_files *files;
    struct attn_option *reading;
    char *text; /* of the first step of a story, if no text is given */
    /* the types of heads, if the model brings none along: a table, and its bytes as JSON */
    struct attn_table *heads;
    struct attn_sink *written;
    struct attn_blob types;     /* borrows from `written` */
    struct attn_table *effects; /* of each head on the next token, also without a page */
};

/* Opens the files for the page of QUESTION and adds them to the look of its outputs. The model is
 * open. LIVE remains empty if there is no live page. */
enum attn_status live_open(struct question *question, struct live *live, struct attn_error *err);
void live_release(void *own);

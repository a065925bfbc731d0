/* items.h - many items instead of one text: which file, how its rows become one table. */
#ifndef CMD_ITEMS_ARGS_H
#define CMD_ITEMS_ARGS_H

#include "cmd/args/prompt.h"
#include "cmd/args/restart.h"
#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

struct items_args {
    const char *path;              /* NULL: not given, nor are the others */
    int form;                      /* enum attn_items_form, by name unless it was given */
    const char *group_by, *paired; /* NULL: not given */
    const char *bootstrap;         /* N or N:SEED; NULL: not given */
    double interval;               /* in percent; below 0: not given */
    const char *cluster, *fdr;     /* NULL: not given */
    bool has_contrasts;
    const char *each;            /* NULL: not given */
    struct restart_args restart; /* of it */
    bool has_marks;
    bool is_listed; /* `each` is the value of another option (listing.h) */
};

#define ITEMS_ARGS_DEFAULT                                                                         \
    {                                                                                              \
        .interval = -1, .restart.n_most_failed = -1                                                \
    }

/* --items-format and --marks */
#define OPTION_ITEMS_FORMAT                                                                        \
    OPTION_CHOICE(                                                                                 \
        "items-format", "auto|jsonl|csv|tsv|lines|fasta", struct items_args, form,                 \
        "default: auto, by the name of FILE, .csv, .tsv, .fasta, else JSON Lines, or FASTA "       \
        "if it begins with > or ;. lines: a text a line"),                                         \
        OPTION_FLAG("marks", struct items_args, has_marks,                                         \
                    "in the texts `[verb are]` is `are` and its place pos.verb")

/* Fills a struct items_args; the options of its `restart` come after. */
extern const struct option_group items_options;

/* Items on their way. Initialize with = {0}. */
struct items {
    struct attn_items *items;    /* owns; NULL: there are none */
    struct attn_study_args args; /* what the library is asked */
    struct attn_study_sum sum;   /* what came of it */
    struct attn_each_options each;
    struct attn_each_result each_result;
    struct restart restart; /* owns */
};

/* Opens what ARGS name, if they name a file; is_verbose lists the labels. PROMPT and HAS_TEXTS,
 * --texts, must not be given with it. */
enum attn_status items_open(const struct call *call, const struct items_args *args,
                            const struct prompt_args *prompt, bool has_texts, struct items *items,
                            struct attn_error *err);
void items_close(struct items *items);

/* Opens the file of --texts: its lines, or JSON Lines. */
enum attn_status items_open_texts(const char *path, bool are_lines, struct items *items,
                                  struct attn_error *err);

/* Where ARGS want a line for each item, asks for it: of the model of SOURCE, borrowed. */
enum attn_status items_ask_each(const struct items_args *args, const struct call *call,
                                const struct attn_source *source, struct items *items,
                                struct attn_error *err);

/* Whether these lines take standard output. */
bool items_take_standard(const struct items *items);

/* Writes the line that says what was computed. */
void items_write_sum(const struct items *items, struct attn_sink *out);

#endif

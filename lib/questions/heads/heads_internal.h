/* heads_internal.h - the parts of `heads`. heads.c is the question, heads_table.c has the columns
 * and the rows, heads_probe.c the probes. Everything that is measured of a head is a reader: those
 * in heads_readers.c, word_pairs.c and head_effects.c. Private
 * to these files and to head_measures.c. */
#pragma once

#include "frame/frame.h"
#include "frame/parts.h"
#include "heads/heads.h"
#include "measures/head_mix.h"

extern const struct attn_question attn_question_heads;

/* --- The table (heads_table.c; its columns are in heads_columns.h) -----------------------------
 */

enum { ATTN_N_HEAD_VIEW = 2, ATTN_N_HEAD_READER = 8 };

extern const struct attn_table_view attn_head_views[ATTN_N_HEAD_VIEW];

/* What `heads` measures of an input. */
struct attn_heads_run {
    struct attn_frame frame;
    const struct attn_heads_args *args;
    bool has_pairs;         /* `from` and `to` are given */
    attn_measure_set shown; /* set of ATTN_MEASURE_BIT: measures that have a column */
    /* encoder of a model with two stacks, whose heads come first; NULL if only heads that read the
     * text are measured */
    const struct attn_config *encoder;
    struct attn_parts parts; /* owns; the heads that the request selects */
    double *found;           /* [parts.n, ATTN_N_HEAD_COLUMN] values of the text; NaN: missing */
    struct attn_head_mix *mixes;        /* [parts.n] set if types are shown */
    struct attn_answer answer;          /* with has_effect */
    double whole;                       /* with PATCHED: difference of both texts */
    bool has_right;                     /* the column `right` is shown */
    bool lacks_types;                   /* the caller of the study does not read them */
    bool needs_parks;                   /* parks are left out, or a reading knows them */
    bool needs_count;                   /* a reading needs a second pass */
    double drop_sinks;                  /* of the request, whose own maps are not made */
    void *readings[ATTN_N_HEAD_READER]; /* own; of the readers that the text needs, else NULL */
    float *row;                         /* [T]; set if a pattern is given */
    struct attn_parks *parks[2];        /* own; if they are left out; or NULL */
    struct attn_view *view;             /* owns; leaves them out of all measures; or NULL */
    struct attn_labels labels;          /* of the view */
    attn_trace_fn of_view;              /* gets its events */
};

/* --- Arguments (heads_table.c) ---------------------------------------------------------------- */

/* Whether HEADS have types; ARGS ask for an answer of the model; for that without each head. */
bool attn_heads_have_types(const struct attn_heads_run *heads);
bool attn_heads_have_answer(const struct attn_heads_args *args);
bool attn_heads_have_ablation(const struct attn_heads_args *args);

/* Whether INPUT has a picture beside a text. */
bool attn_heads_have_picture(const struct attn_input *input);

/* Leaves out of HEADS the measures and types that the caller of the study does not read. */
void attn_heads_narrow(struct attn_heads_run *heads);

/* `draw` and `shows` of the procedure; the flags of columns without options, of MEASURES. */
void attn_heads_draw(const void *given, struct attn_drawn *drawn);
uint64_t attn_heads_shows(const void *state);
uint64_t attn_heads_flags(attn_measure_set measures);

/* Fills the cells of ROW with the numbers FOUND, both [ATTN_N_HEAD_COLUMN]. */
void attn_heads_fill(const double *found, struct attn_cell *row);

/* Appends the rows of HEADS, whose values are complete, to ROWS. */
enum attn_status attn_heads_append(const struct attn_heads_run *heads, const struct attn_rows *rows,
                                   struct attn_error *err);

/* The numbers of a text beside its rows: the sums of each head, which add up over items, and the
 * difference of both texts. Fills MORE [attn_heads_n_beside]. */
size_t attn_heads_n_beside(const struct attn_heads_run *heads);
void attn_heads_fill_beside(const struct attn_heads_run *heads, double *more);

/* `derive` of the procedure. */
enum attn_status attn_heads_derive(const void *args, const struct attn_fold_means *means,
                                   struct attn_error *err);

/* --- Readers ---------------------------------------------------------------------------------- */

/* Reads the attention of all heads in a text, and fills its columns of `found`. All functions may
 * be NULL. */
struct attn_head_reader {
    /* selects the sites that it reads, before the run is prepared */
    enum attn_status (*choose)(struct attn_heads_run *heads, struct attn_error *err);
    /* creates *reading, which stays NULL if the text needs none */
    enum attn_status (*begin)(struct attn_heads_run *heads, void **reading, struct attn_error *err);
    void (*park)(void *reading, const bool *const is_parked[2]); /* before the first event */
    bool reads_all; /* `add` gets events of all sites; false: of the pattern */
    enum attn_status (*add)(const struct attn_heads_run *heads, void *reading,
                            const struct attn_trace_event *event, struct attn_error *err);
    /* gets the events of the pattern in a second pass */
    void (*count)(void *reading, const struct attn_trace_event *event);
    /* after the last event: fills FOUND, the values of head I; those of all heads, also without a
     * reading if there is no `begin` */
    void (*find)(const struct attn_heads_run *heads, void *reading, size_t i, double *found);
    enum attn_status (*finish)(struct attn_heads_run *heads, void *reading, struct attn_error *err);
    /* fills its columns from an item that was run in a pack, instead of the other functions */
    enum attn_status (*take)(struct attn_heads_run *heads, const struct attn_item_result *result,
                             struct attn_error *err);
    void (*release)(void *reading);
};

extern const struct attn_head_reader attn_word_pairs_reader, attn_head_effects_reader;
extern const struct attn_head_reader *const attn_head_readers[ATTN_N_HEAD_READER];

/* Sets FROM and TO to those of ITEM, by default those of ARGS; empty if there are no pairs of
 * words. `to` alone belongs to another question. */
enum attn_status attn_word_pairs_choose(const struct attn_heads_args *args,
                                        const struct attn_item *item, struct attn_number_list *from,
                                        struct attn_number_list *to, struct attn_error *err);

/* Reads the names of effects in LIST, "direct,entropy,weight", into EFFECTS, and copies the other
 * names to REST, which has room for all of LIST. Returns false if there are no others. */
bool attn_head_effects_read(const char *list, unsigned *effects, char *rest);

/* --- From weights (heads_weights.c, heads_composition.c, heads_svd.c) ------------------------- */

/* What their procedures have, whose state is a TYPE. */
#define ATTN_HEAD_WEIGHTS(type)                                                                    \
    .question = &attn_question_heads, .state_size = sizeof(type), .makes_runs = true,              \
    .choose = choose

extern const struct attn_procedure attn_head_weights_procedure, attn_head_composition_procedure,
    attn_head_svd_procedure;
extern const struct attn_procedure attn_similarity_procedure; /* by pair (similarity.c) */

/* Checks the model of FRAME, and lists those of HEADS, of the option LABEL, whose layers have
 * attention. HEADS may be NULL: all. */
enum attn_status attn_head_weights_list(struct attn_frame *frame, const char *heads,
                                        const char *label, struct attn_parts *parts,
                                        struct attn_error *err);

/* --- Probes (heads_probe.c) ------------------------------------------------------------------- */

enum { ATTN_NEEDLE_LENGTH = 8 /* tokens that come again */, ATTN_MOST_OWN_TEXTS = 24 };

/* Returns the place of a needle among LENGTH tokens. It and the token after it are among them. */
static inline size_t attn_needle_place(size_t length, double depth)
{
    return (size_t)(depth * (double)(length - ATTN_NEEDLE_LENGTH - 1));
}

/* Random ids, of which all or some are repeated: items. */
struct attn_probes {
    struct attn_study_args study; /* of the items; first, since ARGS of `heads` point to it */
    uint64_t seed;
    int32_t *ids;          /* [n_id] owns; the ids from which to draw */
    size_t *order;         /* [n_id] owns; scratch */
    size_t n_id, length;   /* number of ids; of those that a probe draws */
    size_t again, n_again; /* ids from number `again` on that come again; how many of them */
    size_t n_front;        /* 1 if BOS is in front of the random tokens, else 0 */
    int32_t bos;
    struct attn_items *items; /* owns */
    struct attn_item *first;  /* owns; or NULL */
    /* Of texts that the model writes, each of at most `length` tokens: */
    int32_t *texts; /* [n_input, length] owns */
    struct attn_input inputs[ATTN_MOST_OWN_TEXTS];
    size_t n_input;
    /* owns; the heads over random tokens, whose `induction` and `duplicate` are types here, too */
    struct attn_table *random;
};

/* Opens the items PROBES, and sets the length of ARGS' probe. Release PROBES also after a failure.
 */
enum attn_status attn_probes_open(struct attn_host *host, const struct attn_request *request,
                                  struct attn_heads_args *args, struct attn_probes *probes,
                                  struct attn_error *err);
void attn_probes_release(struct attn_probes *probes);

/* Refuses sinks and a needle for an encoder. */
enum attn_status attn_probes_check_causal(const struct attn_host *host,
                                          const struct attn_heads_args *args,
                                          struct attn_error *err);

/* `read` of the parameters `probe` and `sinks`. */
enum attn_status attn_probes_read(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err);
enum attn_status attn_head_sinks_read(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err);

/* run_internal.h - the parts of a run, for procedures that do more than run a request. */
#pragma once

#include "base/memory.h"
#include "base/status_internal.h"
#include "edits/edits.h"
#include "edits/edits_internal.h"
#include "input/arrays_input.h"
#include "input/before.h"
#include "input/pass.h"
#include "input/position.h"
#include "input/talk.h"
#include "predict/prediction.h"
#include "run/host.h"
#include "run/host_internal.h"
#include "run/item_extra.h"
#include "run/layer_attention.h"
#include "run/prepared_extra.h"
#include "run/request.h"
#include "run/run.h"
#include "run/run_extra.h"
#include "run/run_pass.h"
#include "tensors/labels_internal.h"
#include "tensors/outputs.h"
#include "tensors/view.h"

struct attn_head_mixes; /* measures/head_mix.h */
struct attn_parking;    /* measures/run_measures.h */
struct attn_parks;      /* measures/parks.h */

/* Members are in the order of the stages that set them. */
struct attn_run {
    struct attn_host *host;            /* borrowed */
    struct attn_request request;       /* a copy; borrows the data that it points to */
    struct attn_picture_options *look; /* owns; a copy, to which the request points; or NULL */
    bool is_performed;                 /* attn_run_perform was called */
    struct attn_host *labelled;        /* owns; the host of a classifier for the request's labels
                                          (run/host_internal.h), which `host` is then; or NULL */
    const struct attn_model *model;    /* the host's; NULL for arrays */
    const struct attn_run *like;       /* borrowed; gives the positions of the edits; or NULL */
    /* input: tokenizers are borrowed from the host, or NULL */
    const struct attn_tokenizer *tokenizer, *source_tokenizer;
    struct attn_sequence text, source;
    struct attn_chat_text chat; /* if the text is a conversation: its messages and places */
    /* The encoder of the source, or the tower of the pictures. Of these, those are chosen whose
     * tower is named by a site or an edit. */
    struct attn_before before;
    struct attn_layer_attention attention;  /* attention: of layers */
    const struct attn_selection *selection; /* selection: the request's, or `chosen` */
    struct attn_selection *chosen;          /* owns, or NULL */
    /* Own; the queries of the request without words, or those that it does not name; or NULL. */
    char *queries;
    int64_t *query_numbers;
    struct attn_answers asked;      /* question: continuations are set by the input */
    struct attn_edit_list edits;    /* edits: feeds fill its parts */
    struct attn_attend_args arrays; /* for attention on arrays; its trace and pool are not set */
    struct attn_array_axes axes;
    struct attn_backdrop backdrop;         /* for the labels, if the input is a picture */
    struct attn_picture_dims *image_sizes; /* own; of each image in the text */
    struct attn_images_dims images;        /* all of them */
    struct attn_labels_pictures shown;     /* owns its maps */
    /* Own; the selection with what the mixes read, and that of the encoder; or NULL. */
    struct attn_selection *watched, *own_encoder;
    struct attn_parking *parking;   /* owns; with `parks` if `hide sinks` needs them; or NULL */
    struct attn_parks *parks[2];    /* own; of the text and the encoder; or NULL */
    const struct attn_table *table; /* a page shows it above the patterns; or NULL */
    const struct attn_table_picture *table_picture; /* how the table is drawn */
    struct attn_head_mixes *mixes[2]; /* own; while outputs that show types are written */
    struct attn_labels labels;
};

/* Returns the receiver of the notes of REQUEST. */
static inline struct attn_notes attn_request_notes(const struct attn_request *request)
{
    return (struct attn_notes){request->on_note, request->user, request->on_counted};
}

/* The stages of a run over a sequence, each of which fills its own members of RUN; errors have a
 * stage. Attention (layer_attention.h) follows the input, edits follow the question. */

/* Checks that what the request gives is there, in range, and of this version, and copies its
 * options of figures. */
enum attn_status attn_run_read_given(struct attn_run *run, struct attn_error *err);

/* Reads the text and the source. */
enum attn_status attn_run_read_input(struct attn_run *run, struct attn_error *err);

/* Chooses the inputs before the text whose tower is watched or edited. */
enum attn_status attn_run_choose_before(struct attn_run *run, struct attn_error *err);

/* Selects the tensors. DIMS are the sizes; sites of gradients are added if the request needs them.
 * Heads of arrays are those of one of N_BATCH batches, in all of which they are selected. */
enum attn_status attn_run_choose(struct attn_run *run, struct attn_dims *dims, size_t n_batch,
                                 struct attn_error *err);

/* Resolves the question in `asked`: positions, metric, and the number to differentiate. */
enum attn_status attn_run_find_answers(struct attn_run *run, struct attn_error *err);

/* Returns true if predictions are needed after selected positions, which may be all. */
bool attn_run_has_positions(const struct attn_run *run);

/* Refuses MODEL if it has no output layer. NEEDS begins the message: "`top` needs one". Adds a hint
 * about what it has instead. */
enum attn_status attn_run_check_output(const struct attn_model *model, const char *needs,
                                       struct attn_error *err);

/* Notes the estimated time of N runs like RUN, whose text and attention are known, if it is more
 * than a minute. Refuses the runs if the estimate exceeds the limit of the request, or if the text
 * or the source has more tokens than the request allows. Errors have the stage ATTN_STAGE_INPUT. */
enum attn_status attn_run_check_time(const struct attn_run *run, size_t n, struct attn_error *err);

/* What estimates runs before they are made. */
struct attn_estimate {
    double (*multiply_adds)(const struct attn_run *run); /* infinity: unknown */
    /* As attn_run_check_time, for a request with `max_seconds`. */
    enum attn_status (*check_time)(const struct attn_run *run, size_t n, struct attn_error *err);
};

/* NULL: any work is for all threads, and `max_seconds` is refused. In lib/parts.c. */
extern const struct attn_estimate *const attn_estimates;

/* Returns ATTN_INVALID if QUESTION needs logits and MODEL has no output layer. */
enum attn_status attn_run_check_question(const struct attn_model *model,
                                         const struct attn_request_predict *question,
                                         struct attn_error *err);

/* Checks that gradients go through the edits of RUN. Errors have a stage. */
enum attn_status attn_run_check_gradients_of_edits(const struct attn_run *run,
                                                   struct attn_error *err);

/* Removes the tensors of an encoder from the selection of RUN, before it is performed. */
enum attn_status attn_run_drop_encoder(struct attn_run *run, struct attn_error *err);

enum { ATTN_LETTERS_SIZE = 160 };

/* Writes a note about unknown letters of a text whose tokens are letters, or else about a length
 * that its model was not trained on. Returns false if there is nothing to note. */
bool attn_run_describe_letters(const struct attn_run *run, char message[ATTN_LETTERS_SIZE]);

/* Makes the pass of RUN, of a model or arrays, and answers its question. */
enum attn_status attn_run_compute(struct attn_run *run, const struct attn_trace *trace,
                                  struct attn_pool *pool, struct attn_result *result,
                                  struct attn_error *err);

/* Feeds RUN, which must be of a model, to a new session and answers its question. TRACE and POOL
 * may be NULL. Does not write the outputs of the request. */
enum attn_status attn_run_feed(const struct attn_run *run, const struct attn_trace *trace,
                               struct attn_pool *pool, struct attn_result *result,
                               struct attn_error *err);

/* Returns the model whose tensors are selected: the encoder if only its tensors are; NULL for
 * arrays. Borrowed from RUN. */
const struct attn_model *attn_run_model(const struct attn_run *run);

/* Returns the arrays with their sizes and attention, borrowed from RUN; NULL for a model. */
const struct attn_attend_args *attn_run_arrays(const struct attn_run *run);

/* For a model, and for arrays, which have no layers. */
extern const struct attn_param_list attn_selection_params, attn_array_selection_params,
    attn_map_params, attn_sink_params;

extern const struct attn_param_list attn_prediction_params, attn_gradient_params;

/* Parameters of a struct attn_attention_args (attention_args.c). Dropout is separate, because its
 * weights are drawn for a whole sequence, so that it does not work token by token. */
extern const struct attn_param_list attn_attention_params, attn_dropout_params,
    attn_array_dropout_params;

/* Marks ITEM, whose line is set, as failed with a formatted message. */
void attn_item_fail(struct attn_item *item, enum attn_reason failure, const char *format, ...)
    ATTN_PRINTF(3, 4);

/* Frees what ITEM owns, and zeroes it. */
void attn_item_release(struct attn_item *item);

/* Gives REQUEST the variables and functions of the template of ITEM, and its messages, or what the
 * system says unless REQUEST wants no conversation. */
void attn_item_fill_chat(const struct attn_item *item, struct attn_request *request);

/* Selects the first input that ITEM has, until attn_item_choose is called. Pictures are inputs of
 * items without a text, and all inputs share the second text, the types and the mask of keys. */
void attn_item_choose_first(struct attn_item *item);

/* Selects which of PAIRS, a set of ATTN_ITEM_BIT, is used. An item may have several pairs; before
 * this call its first one is selected. The item fails unless it has exactly one of PAIRS, and both
 * of its texts. */
void attn_item_choose(struct attn_item *item, unsigned pairs);

/* run_internal.h - the parts of a run, for experiments that do more than run a request. */
#ifndef ATTN_RUN_RUN_INTERNAL_H
#define ATTN_RUN_RUN_INTERNAL_H

#include "analysis/metric.h"
#include "edits/edits.h"
#include "host/host_internal.h"
#include "input/arrays_input.h"
#include "input/sequence.h"
#include "predict/masked_copies.h"
#include "predict/prediction.h"
#include "run/layer_attention.h"
#include "run/request_params_internal.h"
#include "run/run.h"
#include "writers/outputs.h"
#include "writers/picture.h"

struct attn_run {
    struct attn_host *host;              /* borrowed */
    struct attn_request request;         /* a copy; borrows the data that it points to */
    struct attn_picture_options picture; /* a copy of the request's, which points here; or unused */
    bool is_performed;                   /* or begun */
    struct attn_host *labelled;     /* owns; `host`, where it is a classifier whose labels are texts
                                       (predict/zero_shot.h); or NULL */
    struct attn_dims encoder_dims;  /* of a model with an encoder */
    const struct attn_model *model; /* the host's; NULL for arrays */
    const struct attn_tokenizer *tokenizer; /* borrowed from the host; or NULL */
    const struct attn_tokenizer
        *source_tokenizer; /* the tokenizer of the source, which may differ; or NULL */
    struct attn_sequence text, source;
    const struct attn_run
        *like;     /* borrowed; the run that gives the positions of the edits; or NULL */
    char *queries; /* owns; the queries of the request as numbers, or NULL */
    struct attn_asked asked;
    struct attn_layer_attention attention;
    const struct attn_selection *selection; /* the request's, or `chosen` */
    struct attn_selection *chosen;          /* owns, or NULL */
    struct attn_edit_list edits;            /* its parts are filled by a feed */
    struct attn_attend_args arrays; /* for attention on arrays; its trace and pool are not set */
    struct attn_array_axes axes;
    struct attn_backdrop backdrop; /* of the labels, where a picture was run */
    struct attn_labels labels;
};

/* The receiver of the notes of REQUEST. */
static inline struct attn_notes attn_request_notes(const struct attn_request *request)
{
    return (struct attn_notes){request->on_note, request->user};
}

/* Creates the selection of GIVEN for sizes DIMS, with all queries; the caller frees it. GIVEN
 * selects heads of one batch, and N_BATCH batches have the same heads. ATTN_INVALID for an empty
 * selection. Stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_choose(const struct attn_request_selection *given,
                             const struct attn_dims *dims, size_t n_batch,
                             struct attn_selection **selection, struct attn_error *err);

/* Selects the queries of GIVEN, which are not NULL. */
enum attn_status attn_choose_queries(struct attn_selection *selection,
                                     const struct attn_request_selection *given,
                                     struct attn_error *err);

/* Refuses MODEL if it has no output layer, which NEEDS needs: "`top` needs one". Hints at what it
 * has instead. */
enum attn_status attn_run_check_output(const struct attn_model *model, const char *needs,
                                       struct attn_error *err);

/* Notes the estimated time of N runs like RUN, whose text and attention are known, if it is more
 * than a minute. Refuses them if the estimate exceeds the limit of the request, or the text or
 * source has more tokens than the request takes. Errors have the stage ATTN_STAGE_INPUT. */
enum attn_status attn_run_check_time(const struct attn_run *run, size_t n, struct attn_error *err);

/* ATTN_INVALID if QUESTION needs logits and MODEL has no output layer. */
enum attn_status attn_run_check_question(const struct attn_model *model,
                                         const struct attn_request_predict *question,
                                         struct attn_error *err);

/* Feeds the rows of the source to SESSION, if RUN has a source. */
enum attn_status attn_run_set_source(const struct attn_run *run, struct attn_session *session,
                                     struct attn_error *err);

/* Removes the tensors of an encoder from the selection of RUN, before it is performed. */
enum attn_status attn_run_drop_encoder(struct attn_run *run, struct attn_error *err);

/* Prepares a run of a second text with the edits of the prepared run LIKE, at the positions of
 * LIKE. A text of another length gets no edits; the caller must refuse it. */
enum attn_status attn_run_prepare_like(const struct attn_run *like,
                                       const struct attn_request *request, struct attn_run **run,
                                       struct attn_error *err);

enum { ATTN_RESIDUES_SIZE = 160 };

/* Describes the pieces of a protein that are not residues, or else a length that ESM-2 was not
 * trained on. Returns false for a text without either. */
bool attn_run_describe_residues(const struct attn_run *run, char message[ATTN_RESIDUES_SIZE]);

/* The options of a session over RUN: lengths, attention, host and files, without edits and without
 * a trace. */
struct attn_session_options attn_run_session_options(const struct attn_run *run);

/* The scope of questions about tokens; borrows from RUN. */
struct attn_answer_scope attn_run_answer_scope(const struct attn_run *run);

/* The scope of masked copies of its text; borrows from RUN. */
struct attn_masked_scope attn_run_masked_scope(const struct attn_run *run);

/* Resolves ARGS in RUN (attn_answer_find). */
enum attn_status attn_run_find_answer(const struct attn_run *run,
                                      const struct attn_answer_args *args,
                                      struct attn_answer *answer, struct attn_error *err);

/* The settings of measures for the tokens of RUN; borrows from RUN. */
struct attn_metric_settings attn_run_metric_settings(const struct attn_run *run);

/* Feeds RUN, of a model, to a new session and answers its question. TRACE and POOL may be NULL.
 * Does not write the outputs of its request. */
enum attn_status attn_run_feed(const struct attn_run *run, const struct attn_trace *trace,
                               struct attn_pool *pool, struct attn_result *result,
                               struct attn_error *err);

/* The model whose tensors are selected: the encoder if only its tensors are; NULL for arrays.
 * Borrowed from RUN. */
const struct attn_model *attn_run_model(const struct attn_run *run);

/* The attention of each layer [n_layer] of the model as computed; for arrays [1]. Borrowed from
 * RUN. */
const struct attn_attention *attn_run_attention(const struct attn_run *run);

/* The arrays with their sizes and attention; NULL for a model. And the edits [*n], ablations first.
 * Borrowed from RUN. */
const struct attn_attend_args *attn_run_arrays(const struct attn_run *run);
const struct attn_edit *attn_run_edits(const struct attn_run *run, size_t *n);

#endif

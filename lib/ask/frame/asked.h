/* asked.h - what a question sees of the run that it asks: the text, the tensors, what changes them.
 * The frame (frame/frame.h) prepares the run; nothing here can change it. */
#ifndef ATTN_FRAME_ASKED_H
#define ATTN_FRAME_ASKED_H

#include "run/host_extra.h"
#include "tables/table.h"
#include "trace/lists.h"
#include "trace/location_extra.h"
#include "trace/places_extra.h"
#include "trace/rows_extra.h"
#include "trace/selection.h"
#include "trace/trace_extra.h"

struct attn_chat_text; /* input/talk.h */
struct attn_model;
struct attn_run;
struct attn_sequence; /* input/sequence.h */
struct attn_tokenizer;

/* Return the host of the run, the model, the tokenizers of text and source, the selection and the
 * request; all are borrowed. The model is NULL for arrays. A tokenizer is NULL if there is none. */
ATTN_API struct attn_host *attn_asked_host(const struct attn_run *run);
ATTN_API const struct attn_model *attn_asked_model(const struct attn_run *run);
ATTN_API const struct attn_tokenizer *attn_asked_tokenizer(const struct attn_run *run);
ATTN_API const struct attn_tokenizer *attn_asked_source_tokenizer(const struct attn_run *run);
ATTN_API const struct attn_selection *attn_asked_selection(const struct attn_run *run);
ATTN_API const struct attn_request *attn_asked_request(const struct attn_run *run);

/* Return the text and the source, borrowed. Without a source, that has no rows. */
ATTN_API const struct attn_sequence *attn_asked_text(const struct attn_run *run);
ATTN_API const struct attn_sequence *attn_asked_source(const struct attn_run *run);

/* Returns T, the number of positions of the text. */
ATTN_API size_t attn_asked_n(const struct attn_run *run);

/* Returns the text of the token at POSITION; missing if tokens have no texts. */
ATTN_API struct attn_cell attn_asked_token(const struct attn_run *run, size_t position);

/* Return the sizes of the tensors of the run, borrowed. The second returns those of STACK: of the
 * tower or the encoder that runs before the text, if it is one, else the same. */
ATTN_API const struct attn_dims *attn_asked_dims(const struct attn_run *run);
ATTN_API const struct attn_dims *attn_asked_stack_dims(const struct attn_run *run,
                                                       enum attn_model_stack stack);

/* Returns the conversation from which the text was made, borrowed. It has no messages if the text
 * was made from none. */
ATTN_API const struct attn_chat_text *attn_asked_chat(const struct attn_run *run);

/* Sets FLAGS [T] of the positions that LIST names to 1; if it is not given, of all that the
 * tokenizer did not add. Errors are of the field LABEL. */
ATTN_API enum attn_status attn_asked_positions(const struct attn_run *run,
                                               const struct attn_number_list *list,
                                               const char *label, unsigned char *flags,
                                               struct attn_error *err);

/* Whether DIMS, those of a run or of a config, have the tensor AT. */
ATTN_API bool attn_asked_has(const struct attn_dims *dims, const struct attn_location *at);

/* Whether an edit of the request changes the tensor AT. */
ATTN_API bool attn_asked_is_changed(const struct attn_run *run, const struct attn_location *at);

#endif

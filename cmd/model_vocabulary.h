/* model_vocabulary.h - the tokenizer that belongs to a model. */
#ifndef CMD_MODEL_VOCABULARY_H
#define CMD_MODEL_VOCABULARY_H

#include "model_args.h"

#include "attn.h"

#include <stdbool.h>

/*
 * Opens that of SOURCE, from which MODEL was opened, and checks that the embedding has a row for
 * every token. Where it is not needed it may be missing: NULL then, with a note when IS_VERBOSE.
 * Reports and returns an exit code.
 */
int vocabulary_open(const struct model_source *source, const struct attn_model *model,
                    bool is_needed, bool is_verbose, struct attn_tokenizer **tokenizer);

#endif

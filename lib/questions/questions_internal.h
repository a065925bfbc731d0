/* questions_internal.h - the list of questions. Private to lib/questions and the commands. */
#ifndef ATTN_QUESTIONS_QUESTIONS_INTERNAL_H
#define ATTN_QUESTIONS_QUESTIONS_INTERNAL_H

#include "questions/frame.h"

/* X(NAME): a file of this folder defines attn_question_NAME. In the order of the help; those
 * without arguments, which are no commands, come last. */
#define ATTN_QUESTION_MAP(X)                                                                       \
    X(heads)                                                                                       \
    X(ablate)                                                                                      \
    X(align)                                                                                       \
    X(attribute)                                                                                   \
    X(diff)                                                                                        \
    X(examples)                                                                                    \
    X(generate)                                                                                    \
    X(lens)                                                                                        \
    X(patch)                                                                                       \
    X(score)                                                                                       \
    X(sinks)                                                                                       \
    X(spans)                                                                                       \
    X(similarity)

#define ATTN_QUESTION_EXTERN(name) extern const struct attn_question attn_question_##name;
ATTN_QUESTION_MAP(ATTN_QUESTION_EXTERN)
#undef ATTN_QUESTION_EXTERN

/* The arguments of a batch; attn_question_find finds them by name. Its parameters are about: the
 * records; their number and length; the contents of results; edges; how results are written. */
extern const struct attn_question attn_question_batch;
extern const struct attn_param_list attn_batch_record_params, attn_batch_limit_params,
    attn_batch_field_params, attn_batch_edge_params, attn_batch_writing_params;

#endif

/* parts.h - the one list of questions. Private to parts.c and the commands. */
#pragma once

#include "frame/question.h"

/* X(NAME): a folder of lib/questions defines attn_question_NAME. In the order of the help; those
 * without arguments, which are no commands, come last. */
#define ATTN_QUESTION_MAP(X)                                                                       \
    X(heads)                                                                                       \
    X(ablate)                                                                                      \
    X(align)                                                                                       \
    X(attribute)                                                                                   \
    X(diff)                                                                                        \
    X(examples)                                                                                    \
    X(features)                                                                                    \
    X(generate)                                                                                    \
    X(lens)                                                                                        \
    X(patch)                                                                                       \
    X(circuit)                                                                                     \
    X(score)                                                                                       \
    X(sinks)                                                                                       \
    X(spans)                                                                                       \
    X(similarity)

#define ATTN_QUESTION_EXTERN(name) extern const struct attn_question attn_question_##name;
ATTN_QUESTION_MAP(ATTN_QUESTION_EXTERN)
#undef ATTN_QUESTION_EXTERN

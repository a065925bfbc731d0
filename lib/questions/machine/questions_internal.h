/* questions_internal.h - the list of questions. Private to lib/questions and the commands. */
#pragma once

#include "machine/frame.h"
#include "machine/question.h"
#include "machine/questions.h"
#include "machine/study.h"

/* X(NAME): a file of this folder defines attn_question_NAME. In the order of the help; those
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

/* The rule of a sink, for sinks.c and for the notes of spans.c. */

enum { ATTN_SINK_ROWS = 8 }; /* fewest rows that see a column which counts */

#define ATTN_SINK_WEIGHT 0.3 /* a sink has more than this mean weight, by default */

/* The parameters of items and their table; of items that have rows but no table; and those that
 * follow in both cases. */
extern const struct attn_param_list attn_study_params, attn_listing_params, attn_restart_params;

/* These parameters as questions for attn_question_find: those of items with their table, and those
 * of items without. */
extern const struct attn_question attn_question_items, attn_question_listing;

/* Sets *SET to the bits of TEXT, some of WORDS ("picture|tile|cell") with commas between them.
 * Returns the first that is none of them, and *SET is as it was; NULL: all are. */
const char *attn_word_set_read(const char *words, const char *text, unsigned *set);

/* Defines attn_NAME, which asks the question NAME; the second with a sum. */
#define ATTN_ASKS(name)                                                                            \
    enum attn_status attn_##name(struct attn_host *host, const struct attn_request *request,       \
                                 const struct attn_##name##_args *given,                           \
                                 struct attn_table **table, struct attn_error *err)                \
    {                                                                                              \
        return attn_question_ask(&(struct attn_question_call){#name, host, request, given}, table, \
                                 NULL, err);                                                       \
    }
#define ATTN_ASKS_WITH_SUM(name)                                                                   \
    enum attn_status attn_##name(struct attn_host *host, const struct attn_request *request,       \
                                 const struct attn_##name##_args *given,                           \
                                 struct attn_table **table, struct attn_##name##_sum *sum,         \
                                 struct attn_error *err)                                           \
    {                                                                                              \
        return attn_question_ask(&(struct attn_question_call){#name, host, request, given}, table, \
                                 sum, err);                                                        \
    }

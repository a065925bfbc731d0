/* questions_internal.h - what questions share: the list of them, parameters of items, and the
 * functions that ask. Private to lib and the commands. */
#pragma once

#include "frame/frame.h"
#include "frame/question.h"
#include "frame/questions.h"
#include "means/study.h"

/* The questions in the order of the help, up to NULL; those without arguments, which are no
 * commands, come last (parts.h). */
extern const struct attn_question *const attn_questions[];

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

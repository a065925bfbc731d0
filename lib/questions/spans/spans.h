/*
 * spans.h - which part of the context was used: how much heads look at named spans of a text, how
 * spans rank beside a neutral query, and what changes when they cannot be seen.
 *
 *     struct attn_spans_args args = ATTN_SPANS_ARGS_DEFAULT;
 *     const struct attn_item_place spans[] = {{"doc", {.text = "4-40"}},
 *                                             {"rule", {.text = "\"Be brief.\""}}};
 *     const struct attn_places places = {.items = spans, .n = 2};
 *     const struct attn_question_call asked = {"spans", host, &request, &args};
 *     request.reading.places = &places;
 *     attn_question_ask(&asked, &table, NULL, &err); // frame/questions.h
 */
#ifndef ATTN_SPANS_SPANS_H
#define ATTN_SPANS_SPANS_H

#include "predict/answer.h"
#include "run/run.h"

struct attn_study_args; /* means/study.h */

enum attn_spans_by { ATTN_SPANS_BY_HEAD = 0, ATTN_SPANS_BY_SPAN = 1, ATTN_SPANS_BY_STEP = 2 };

/* The positions that no span has: those where weight is parked (measures/parks.h), a row. */
enum attn_spans_hidden { ATTN_SPANS_HIDE_PARKS = 0, ATTN_SPANS_HIDE_NONE = 1 };

struct attn_spans_args {
    size_t size; /* size of this struct */
    enum attn_spans_by by;
    const char *spans;              /* globs of names, "d*,rules"; NULL: all names */
    struct attn_input neutral;      /* a text or ids in place of the queries; or empty */
    const char *continuation;       /* an answer, if the request has none; or NULL */
    size_t n_generated;             /* maximum tokens of an answer that the model writes; 0: none */
    bool has_effect;                /* adds `change`, `largest` and, by span, `cut` */
    struct attn_answer_args answer; /* whose change is measured */
    enum attn_spans_hidden hides;
    /* items to use instead of the request's input; or NULL */
    const struct attn_study_args *study;
};

#define ATTN_SPANS_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("spans", attn_spans_args)

#endif

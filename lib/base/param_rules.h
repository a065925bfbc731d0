/* param_rules.h - which parameters go together. */
#ifndef ATTN_BASE_PARAM_RULES_H
#define ATTN_BASE_PARAM_RULES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* When a rule is checked. GIVEN: before a model is opened, by a caller that knows which parameters
 * were given. VALUES: for the structs of a C program, in which a parameter counts as given if it
 * differs from its default. */
enum attn_param_time { ATTN_PARAM_GIVEN = 0, ATTN_PARAM_VALUES = 1, ATTN_PARAM_BOTH = 2 };

/* What goes with what. The first rule that does not hold is reported. All names are lists,
 * "per|regions"; "verify:0" is a parameter with this value. */
struct attn_param_rule {
    const char *given;    /* the rule holds for each of these */
    const char *when;     /* only if one of these is given; or NULL. "keywords": by Python */
    const char *unless;   /* and none of these; or NULL */
    const char *needs;    /* one of these; or NULL */
    const char *excludes; /* all of these; or NULL. Without both `given` itself is refused */
    const char *message;  /* instead of the usual one; @ is the parameter of `given`, # the other
                             one; or NULL */
    const char *hint;     /* or NULL */
    enum attn_param_time time;
};

/* Rules in the order of the refusals. */
struct attn_param_rules {
    const struct attn_param_rule *items; /* [n] */
    size_t n;
};

/* Whether the parameter NAME is given; "verify:0": with the value 0. */
typedef bool (*attn_param_given_fn)(void *user, const char *name);

/* Fails with ATTN_INVALID at the first of RULES that is of TIME and does not hold. */
ATTN_API enum attn_status attn_param_rules_check(const struct attn_param_rules *rules,
                                                 enum attn_param_time time,
                                                 attn_param_given_fn is_given, void *user,
                                                 struct attn_error *err);

#endif

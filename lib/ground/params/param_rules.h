/* param_rules.h - which parameters go together. */
#ifndef ATTN_PARAMS_PARAM_RULES_H
#define ATTN_PARAMS_PARAM_RULES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* When a rule is checked. GIVEN: before a model is opened, by a caller that knows which parameters
 * were given. VALUES: for the structs of a C program, in which a parameter counts as given if it
 * differs from its default. */
enum attn_param_time { ATTN_PARAM_GIVEN = 0, ATTN_PARAM_VALUES = 1, ATTN_PARAM_BOTH = 2 };

/* A rule about which parameters go together. The first violated rule is reported. All names are
 * lists, "per|regions"; "verify:0" is a parameter with this value. */
struct attn_param_rule {
    const char *given;  /* the rule applies to each of these */
    const char *when;   /* only if one of these is given; or NULL. "keywords": for Python */
    const char *unless; /* and only if none of these is given; or NULL */
    const char *needs;  /* one of these must be given; or NULL */
    /* none of these may be given; or NULL. Without `needs` and `excludes`, `given` itself is an
     * error */
    const char *excludes;
    /* replaces the default message; @ is the parameter of `given`, # the other one; or NULL */
    const char *message;
    const char *hint; /* or NULL */
    enum attn_param_time time;
};

/* Rules, in the order in which they are checked. */
struct attn_param_rules {
    const struct attn_param_rule *items; /* [n] */
    size_t n;
};

/* Returns true if the parameter NAME is given; "verify:0": with the value 0. */
typedef bool (*attn_param_given_fn)(void *user, const char *name);

/* Sets and returns ATTN_INVALID for the first of RULES for TIME that is violated. */
ATTN_API enum attn_status attn_param_rules_check(const struct attn_param_rules *rules,
                                                 enum attn_param_time time,
                                                 attn_param_given_fn is_given, void *user,
                                                 struct attn_error *err);

#endif

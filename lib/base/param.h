/*
 * param.h - what a request or a question takes, told once. From a list of parameters come the
 * options of a command with their help, the arguments of Python, the keys of items, and refusals.
 *
 *     static const struct attn_param rows[] = {
 *         ATTN_PARAM(COUNT, "top", "K", struct attn_lens_args, top,
 *                    "print the K most probable tokens", .least = 1, .most = INT32_MAX),
 *     };
 *     const struct attn_param_list attn_lens_params = ATTN_PARAM_LIST("Lens", rows);
 *
 * The room that owns a struct of arguments owns the list of its parameters. A question lists the
 * lists that it takes, and where the struct of each lies in its own arguments (study/question.h).
 *
 * Texts name parameters in backquotes, with underscores: `heads_out`. Who shows them writes
 * --heads-out, or heads_out=.
 */
#ifndef ATTN_BASE_PARAM_H
#define ATTN_BASE_PARAM_H

#include "base/medium.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields at `offset`, and at `second`. */
enum attn_param_type {
    ATTN_PARAM_FLAG = 0,    /* bool */
    ATTN_PARAM_COUNT = 1,   /* size_t, least..most */
    ATTN_PARAM_SEED = 2,    /* uint64_t, least..most */
    ATTN_PARAM_REAL = 3,    /* double, from least on, and less than most, unless that is 0 or
                               IS_CLOSED */
    ATTN_PARAM_CHOICE = 4,  /* an enum of the size of int: one of `words` */
    ATTN_PARAM_SWITCH = 5,  /* bool: one of two `words`, whose `values` are 0 and 1 */
    ATTN_PARAM_METHOD = 6,  /* a CHOICE with `values`, of which ig may be ig:N; second: size_t, N */
    ATTN_PARAM_SEEDED = 7,  /* size_t from least on; second: uint64_t. "N" or "N:SEED" */
    ATTN_PARAM_TEXT = 8,    /* const char *, terminated and borrowed; NULL: not given */
    ATTN_PARAM_LIST = 9,    /* a TEXT, of positions, heads, sites or names: "1,3-5". Programs may
                               give lists */
    ATTN_PARAM_ID = 10,     /* const int32_t *; NULL: not given */
    ATTN_PARAM_TEXTS = 11,  /* const char *const *, borrowed; second: size_t, their number. A text
                               adds one */
    ATTN_PARAM_NAMED = 12,  /* pointer to structs of `least` bytes that begin with two texts, a
                               value and its name or NULL; second: size_t, their number.
                               "[NAME=]VALUE" adds one */
    ATTN_PARAM_OWN = 13,    /* what `read` sets */
    ATTN_PARAM_INPUT = 14,  /* struct attn_input, whose text a text sets, and at `second` its size;
                               programs fill all of it */
    ATTN_PARAM_IMAGE = 15,  /* the same, of a picture: second: const char *, its path */
    ATTN_PARAM_INPUTS = 16, /* const struct attn_input *; second: size_t, their number. Who has them
                               fills it, as the next one */
    ATTN_PARAM_ARRAY = 17,  /* const struct attn_ndarray *, of the rank `least` */
    ATTN_PARAM_SIZED = 18,  /* const char *, borrowed; second: size_t, its bytes */
    ATTN_PARAM_IDS = 19,    /* const int32_t *, "5,17,3"; second: size_t, their number. most 1:
                               messages expect 0 and 1 */
    ATTN_PARAM_PLACES = 20, /* const struct attn_item_place *; second: size_t, their number.
                               "NAME=SPEC" adds one */
    ATTN_PARAM_MASK = 21    /* const struct attn_mask_array *; second: const char *, a word or the
                               path of a file, of which a program may give the cells instead */
};

/* The struct that has the fields. */
enum attn_param_home {
    ATTN_PARAM_OF_ARGS = 0,    /* the arguments, or the struct that the list is about */
    ATTN_PARAM_OF_REQUEST = 1, /* the request */
    ATTN_PARAM_OF_CALLER = 2   /* none: the value is checked, and the caller keeps it */
};

enum attn_param_trait {
    ATTN_PARAM_SHAPES_GRADIENTS = 1, /* gradients depend on it */
    ATTN_PARAM_NOT_COMPARED = 2,     /* it does not go with a comparison */
    ATTN_PARAM_NO_OPTION = 4,        /* only programs have it */
    ATTN_PARAM_NO_KEYWORD = 8,       /* only the command line has it */
    ATTN_PARAM_SHAPES_TENSORS = 16,  /* tensors depend on it: outputs that list options list it */
    ATTN_PARAM_IN_TOPIC = 32,        /* the help of a command only names it */
    ATTN_PARAM_IS_CLOSED = 64,       /* of REAL: `most` too is allowed */
    ATTN_PARAM_TAKES_HELP = 128      /* `help` on the command line shows its values */
};

struct attn_param {
    const char *name;     /* as in texts: "heads_out" */
    const char *option;   /* of the command, where it has another name than `name`; or NULL */
    const char *argument; /* what its value is called: "K"; NULL for flags, and for words */
    const char *help;     /* other parameters in backquotes */
    enum attn_param_type type;
    enum attn_param_home home;
    const char *keys;      /* of items, which replace it: "queries|at". Messages name the first;
                              or NULL */
    const char *words;     /* "sum|token|word" */
    const int *values;     /* of the words; of METHOD 0 is the default; NULL: 0, 1, ... */
    const char *meant;     /* other names that people have for these, "nll=ce|loss=ce"; or NULL */
    size_t offset, second; /* of its fields in the struct of its home */
    int64_t least, most;   /* most 0: any */
    unsigned traits;
    unsigned mark;  /* the bit that is set when it is given; 0: none */
    size_t marks;   /* offset of the unsigned that has this bit */
    unsigned media; /* that it changes, a set of enum attn_medium (base/medium.h); 0: all */
    /* Reads TEXT into HOME, instead of what the type says. LABEL is the name of the parameter in
     * messages. */
    enum attn_status (*read)(const struct attn_param *param, void *home, const char *label,
                             const char *text, struct attn_error *err);
    void (*release)(const struct attn_param *param, void *home); /* what `read` allocated */
    char letter;                                                 /* of the command, or 0 */
};

/* A row of (TYPE, NAME, ARGUMENT, STRUCT, FIELD, HELP), and of one that the caller keeps. */
#define ATTN_PARAM(kind, word, what, structure, member, ...)                                       \
    {                                                                                              \
        .name = (word), .argument = (what), .type = ATTN_PARAM_##kind,                             \
        .offset = offsetof(structure, member), .help = __VA_ARGS__                                 \
    }
#define ATTN_PARAM_KEPT(kind, word, what, ...)                                                     \
    {                                                                                              \
        .name = (word), .argument = (what), .type = ATTN_PARAM_##kind,                             \
        .home = ATTN_PARAM_OF_CALLER, .help = __VA_ARGS__                                          \
    }

/* Parameters that stand together in the help. */
struct attn_param_list {
    const char *heading;
    const struct attn_param *items; /* [n] */
    size_t n;
    bool is_input; /* of a question: its options stand with those of the input, before the others */
};

#define ATTN_PARAM_LIST(title, array)                                                              \
    {                                                                                              \
        .heading = (title), .items = (array), .n = sizeof(array) / sizeof *(array)                 \
    }

/* A list in a larger struct of arguments. */
struct attn_param_part {
    const struct attn_param_list *list;
    size_t offset; /* of the struct that the list is about */
};

/* Sets PARAM in HOME, the struct of its home, to TEXT as a command line has it. LABEL is its name
 * in messages: "top" or "--top". HOME borrows TEXT; what else was allocated is freed by
 * attn_param_release. */
ATTN_API enum attn_status attn_param_set(const struct attn_param *param, void *home,
                                         const char *label, const char *text,
                                         struct attn_error *err);

ATTN_API void attn_param_release(const struct attn_param *param, void *home);

#endif

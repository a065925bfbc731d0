/*
 * param.h - parameters, each defined once. The options of commands with their help, the arguments
 * of Python, the keys of items, and error messages are derived from these lists.
 *
 *     static const struct attn_param rows[] = {
 *         ATTN_PARAM(COUNT, "top", "K", struct attn_lens_args, top,
 *                    "print the K most probable tokens", .least = 1, .most = INT32_MAX),
 *     };
 *     const struct attn_param_list attn_lens_params = ATTN_PARAM_LIST("Lens", rows);
 *
 * The folder that defines a struct of arguments also defines its list. A question names the lists
 * that it uses, and the offset of each struct in its arguments (frame/question.h).
 *
 * Texts name parameters in backquotes: `heads_out`, which the command line shows as --heads-out.
 */
#ifndef ATTN_PARAMS_PARAM_H
#define ATTN_PARAMS_PARAM_H

#include "base/status.h"
#include "params/medium.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The types of the fields at `offset` and, for some types, at `second`. */
enum attn_param_type {
    ATTN_PARAM_FLAG = 0,  /* bool */
    ATTN_PARAM_COUNT = 1, /* size_t, least..most */
    ATTN_PARAM_SEED = 2,  /* uint64_t, least..most */
    /* double, least <= x < most (0: no limit); IS_CLOSED: x <= most; IS_OPEN: x > least */
    ATTN_PARAM_REAL = 3,
    ATTN_PARAM_CHOICE = 4, /* an enum of the size of int: one of `words` */
    ATTN_PARAM_SWITCH = 5, /* bool: one of two `words`, whose `values` are 0 and 1 */
    ATTN_PARAM_METHOD = 6, /* a CHOICE with `values`, in which ig may be ig:N; second: size_t, N */
    ATTN_PARAM_SEEDED = 7, /* size_t, at least `least`; second: uint64_t. "N" or "N:SEED" */
    /* const char *, null-terminated and borrowed; NULL: not given. Programs may set `second`, if it
     * is not 0, instead: const struct attn_ndarray *, of rank `least` */
    ATTN_PARAM_TEXT = 8,
    /* a TEXT with a list of positions, heads, sites or names: "1,3-5"; second: n of a struct */
    ATTN_PARAM_LIST = 9,
    ATTN_PARAM_ID = 10, /* const int32_t *; NULL: not given */
    /* const char *const *, borrowed; second: size_t, their number. Each use appends one text */
    ATTN_PARAM_TEXTS = 11,
    /* pointer to structs of `least` bytes that begin with a struct attn_head_list and a name (or
     * NULL); second: size_t, their number. "[NAME=]HEADS" appends one */
    ATTN_PARAM_NAMED = 12,
    ATTN_PARAM_OWN = 13, /* set by `read` */
    /* struct attn_input, whose text is set; second: its size. Programs set the whole struct */
    ATTN_PARAM_INPUT = 14,
    ATTN_PARAM_IMAGE = 15, /* the same for a picture; second: const char *, its path */
    /* const struct attn_input *; second: size_t, their number. The caller fills it and ARRAY */
    ATTN_PARAM_INPUTS = 16,
    ATTN_PARAM_ARRAY = 17, /* const struct attn_ndarray *, of rank `least` */
    ATTN_PARAM_SIZED = 18, /* const char *, borrowed; second: size_t, its bytes */
    /* const int32_t *, "5,17,3"; second: size_t, their number. `most` 1: only 0 and 1 */
    ATTN_PARAM_IDS = 19,
    /* const struct attn_item_place *; second: size_t, their number. "NAME=SPEC" appends one */
    ATTN_PARAM_PLACES = 20,
    /* const struct attn_mask_array *, the cells; or second: const char *, a word or a path */
    ATTN_PARAM_MASK = 21,
    /* no field: an option of the command whose settings are the parameters with `of` */
    ATTN_PARAM_SETTINGS = 22,
    /* structs {int32_t *ids; size_t n; char *text; void *later[4]}; second: size_t; may repeat */
    ATTN_PARAM_ID_LISTS = 23,
    ATTN_PARAM_IMAGES = 24 /* TEXTS, paths; the first also lies at offset `least` */
};

/* The struct that contains the fields. */
enum attn_param_home {
    ATTN_PARAM_OF_ARGS = 0,    /* the arguments, or the struct to which the list belongs */
    ATTN_PARAM_OF_REQUEST = 1, /* the request */
    ATTN_PARAM_OF_CALLER = 2   /* none: the value is checked, and the caller stores it */
};

enum attn_param_trait {
    ATTN_PARAM_SHAPES_GRADIENTS = 1, /* gradients depend on this parameter */
    ATTN_PARAM_NO_OPTION = 4,        /* only available to programs */
    ATTN_PARAM_NO_KEYWORD = 8,       /* only available on the command line */
    ATTN_PARAM_SHAPES_TENSORS = 16,  /* tensors depend on it; outputs record it */
    ATTN_PARAM_IS_OPEN = 32,         /* for REAL: the value may not equal `least` */
    ATTN_PARAM_IS_CLOSED = 64,       /* for REAL: the value may equal `most` */
    ATTN_PARAM_TAKES_HELP = 128,     /* the value `help` on the command line lists its values */
    ATTN_PARAM_HAS_ZERO = 512,       /* for COUNT: 0 is not the default */
    ATTN_PARAM_NOT_EXPLAINED = 1024, /* does not change the picture of an explanation */
    ATTN_PARAM_OF_SCALE = 2048,      /* this and the next: what a figure must have to show it */
    ATTN_PARAM_OF_NUMBERS = 8192,
    ATTN_PARAM_MAY_BE_ALONE = 32768 /* the option may lack a value: it is "-" then */
};

struct attn_param {
    const char *name;   /* as in texts: "heads_out" */
    const char *option; /* name of the command's option, if it differs from `name`; or NULL */
    const char *of;     /* the option of the command whose setting it is, "style": its value is
                           given as --style 'dpi=300'; or NULL */
    const char *prefix; /* instead, with `of`: a form of the value of that option, which begins so:
                           --target ids:5; or NULL */
    const char *argument; /* placeholder for its value: "K"; NULL for flags and for words */
    const char *help;     /* other parameters in backquotes */
    enum attn_param_type type;
    enum attn_param_home home;
    /* keys of items that replace it: "queries|at"; messages use the first; or NULL */
    const char *keys;
    const char *words; /* "sum|token|word" */
    const int *values; /* values of the words; for METHOD 0 is the default; NULL: 0, 1, ... */
    /* other names for the words that people may try, "nll=ce|loss=ce"; or NULL */
    const char *meant;
    size_t offset, second; /* offsets of its fields in the struct of its home */
    int64_t least, most;   /* most 0: any */
    unsigned traits;
    unsigned mark; /* bit that is set when the parameter is given; 0: none */
    size_t marks;  /* offset of the unsigned that contains this bit */
    /* kinds of output that it affects, a set of enum attn_medium (params/medium.h); 0: all */
    unsigned media;
    /* Reads TEXT into HOME, instead of the reader of the type. LABEL is its name for messages. */
    enum attn_status (*read)(const struct attn_param *param, void *home, const char *label,
                             const char *text, struct attn_error *err);
    void (*release)(const struct attn_param *param, void *home); /* frees what `read` allocated */
    const char *variable; /* environment variable with the command's default, or NULL */
    const char *aliases;  /* names of the option in earlier versions, "skip-first|omit", or NULL */
    char letter;          /* one-letter option of the command, or 0 */
};

/* Initializers of a parameter from TYPE, NAME, ARGUMENT, STRUCT, FIELD and HELP, and of one that
 * the caller stores. */
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

/* An option of the command alone, whose settings are parameters with `of`. */
#define ATTN_PARAM_WITH_SETTINGS(word, ...)                                                        \
    ATTN_PARAM_KEPT(SETTINGS, word, "'NAME=VALUE ...'", __VA_ARGS__,                               \
                    .traits = ATTN_PARAM_NO_KEYWORD)

/* Parameters under one heading of the help. */
struct attn_param_list {
    const char *heading;
    const struct attn_param *items; /* [n] */
    size_t n;
    bool is_input; /* for a question: its options are listed with those of the input, first */
};

#define ATTN_PARAM_LIST(title, array)                                                              \
    {                                                                                              \
        .heading = (title), .items = (array), .n = sizeof(array) / sizeof *(array)                 \
    }

/* A list whose struct is part of a larger struct of arguments. */
struct attn_param_part {
    const struct attn_param_list *list;
    size_t offset; /* offset of the list's struct */
};

/* Sets PARAM in HOME, the struct with its fields, to TEXT as written on a command line. Messages
 * call it LABEL, "--top". HOME borrows TEXT; attn_param_release frees memory that was allocated. */
ATTN_API enum attn_status attn_param_set(const struct attn_param *param, void *home,
                                         const char *label, const char *text,
                                         struct attn_error *err);

ATTN_API void attn_param_release(const struct attn_param *param, void *home);

#endif

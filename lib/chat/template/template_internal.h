/*
 * template_internal.h - values, syntax trees and the machine that renders them.
 *
 * A failure is sticky: the machine keeps the first, and every function returns some value of
 * undefined after it. Loops ask attn_machine_is_alive.
 */
#pragma once

#include "template/template.h"

#include <stdbool.h>

/* --- Values ----------------------------------------------------------------------------------- */

enum attn_value_kind {
    ATTN_IS_UNDEFINED,
    ATTN_IS_NONE,
    ATTN_IS_BOOL,
    ATTN_IS_INT,
    ATTN_IS_FLOAT,
    ATTN_IS_LARGE, /* an integer beyond 64 bits, as its digits: nothing is computed with it */
    ATTN_IS_STRING,
    ATTN_IS_LIST,
    ATTN_IS_TUPLE,
    ATTN_IS_RANGE,
    ATTN_IS_DICT,
    ATTN_IS_VIEW,      /* keys, values or items of a dictionary */
    ATTN_IS_GENERATOR, /* the result of map, select, ...: can be iterated once */
    ATTN_IS_NAMESPACE,
    ATTN_IS_LOOP,
    ATTN_IS_MACRO,
    ATTN_IS_METHOD,  /* `name` of `self` */
    ATTN_IS_FUNCTION /* range, namespace, ... */
};

/* Everything that a value points to belongs to a pool and does not move. */
struct attn_value {
    unsigned char kind;
    bool is_safe; /* a string of filter `safe` */
    union {
        int64_t integer; /* INT, BOOL */
        double real;
        struct {
            const char *text; /* STRING: UTF-8 [size]; LARGE; FUNCTION */
            size_t size;
        };
        struct attn_value_list *list;        /* LIST, TUPLE, RANGE, VIEW, GENERATOR */
        struct attn_value_dict *dict;        /* DICT, NAMESPACE */
        const struct attn_value_pair *about; /* UNDEFINED: {object, name}; METHOD: {self, name} */
        struct attn_macro *macro;
        struct attn_loop *loop;
    };
};

struct attn_value_list {
    size_t n, capacity;
    struct attn_value *items; /* [n] */
    bool is_used;             /* of generators */
};

/* Keys in the order in which they were added. */
struct attn_value_dict {
    size_t n, capacity;
    struct attn_value *keys, *values; /* [n] */
};

/* HINT replaces the message about an undefined value. */
struct attn_value_pair {
    struct attn_value first, second;
    const char *hint;
};

/* --- Trees ------------------------------------------------------------------------------------ */

enum attn_token_kind {
    ATTN_TOKEN_END,
    ATTN_TOKEN_DATA,
    ATTN_TOKEN_PRINT,     /* {{ */
    ATTN_TOKEN_PRINT_END, /* }} */
    ATTN_TOKEN_BLOCK,     /* {% */
    ATTN_TOKEN_BLOCK_END, /* %} */
    ATTN_TOKEN_NAME,
    ATTN_TOKEN_CONSTANT, /* a number or a string */
    ATTN_TOKEN_OPERATOR
};

struct attn_template_token {
    enum attn_token_kind kind;
    int line, op; /* op: of OPERATOR, its characters: '+', or '*' << 8 | '*' */
    struct attn_value value;
};

enum attn_node_kind {
    ATTN_NODE_CONSTANT,
    ATTN_NODE_NAME,
    ATTN_NODE_LIST,
    ATTN_NODE_TUPLE,
    ATTN_NODE_DICT, /* list: keys and values in turn */
    ATTN_NODE_ATTRIBUTE,
    ATTN_NODE_ITEM,
    ATTN_NODE_SLICE, /* list: begin, end and step; EMPTY if absent */
    ATTN_NODE_EMPTY,
    ATTN_NODE_CALL,
    ATTN_NODE_FILTER,
    ATTN_NODE_TEST,
    ATTN_NODE_NOT,
    ATTN_NODE_AND,
    ATTN_NODE_OR,
    ATTN_NODE_CHOICE,  /* left if right else third */
    ATTN_NODE_COMPARE, /* list: nodes OPERATION with op and left */
    ATTN_NODE_OPERATION,
    ATTN_NODE_UNARY,
    ATTN_NODE_CONCAT,
    ATTN_NODE_KEYWORD, /* name = left */
    /* statements */
    ATTN_NODE_DATA,
    ATTN_NODE_PRINT,
    ATTN_NODE_IF,           /* left, body, other */
    ATTN_NODE_FOR,          /* left: target, right: what is iterated, third: test, body, other */
    ATTN_NODE_SET,          /* left: target; right, or body with `third` filters */
    ATTN_NODE_MEMBER,       /* a target NAME.attribute, `right` is a constant */
    ATTN_NODE_MACRO,        /* name, list: KEYWORD for each parameter, body */
    ATTN_NODE_CALL_BLOCK,   /* left: the call; list, body: as those of a macro */
    ATTN_NODE_FILTER_BLOCK, /* left: filters over EMPTY */
    ATTN_NODE_WITH,         /* list: KEYWORD */
    ATTN_NODE_SCOPE,        /* generation */
    ATTN_NODE_BREAK,
    ATTN_NODE_CONTINUE
};

struct attn_template_node {
    unsigned char kind;
    bool is_soft;      /* an unknown filter or test is an error only if it is reached */
    bool takes_caller; /* of macros */
    int line, op;
    struct attn_value value; /* of constants, data; a string: of names */
    struct attn_template_node *left, *right, *third, *list, *body, *other;
    struct attn_template_node *next;
};

/* --- Machine ---------------------------------------------------------------------------------- */

struct attn_pool_block;

/* Memory that is released as a whole, and the failure. */
struct attn_machine {
    struct attn_pool_block *blocks;
    size_t memory, steps;
    int depth, line;
    int64_t now;
    const char *name; /* of the template */
    enum attn_status status;
    struct attn_error *err;
    struct attn_template_node none; /* what the parser returns after a failure */
};

struct attn_scope {
    struct attn_scope *parent;
    struct attn_value_dict names;
};

struct attn_macro {
    const struct attn_template_node *node;
    struct attn_scope *scope;
};

/* Arguments of a call. */
struct attn_given_values {
    struct attn_value *items; /* [n] */
    size_t n;
    struct attn_value_dict names;
};

/* --- values: template_value.c ----------------------------------------------------------------- */

bool attn_machine_is_alive(const struct attn_machine *machine);

/* Fails with the message of a template: "'NAME' line 3: ...". Returns a value of undefined. */
struct attn_value attn_machine_fail(struct attn_machine *machine, const char *format, ...)
    ATTN_PRINTF(2, 3);

/* Counts N steps, and fails if there were too many. */
bool attn_machine_spend(struct attn_machine *machine, size_t n);
/* Fails if a text of SIZE bytes is larger than the output of a template may be. */
bool attn_machine_check_size(struct attn_machine *machine, size_t size);
/* Enters a level of nesting, and fails if there are too many. The caller leaves it by depth--. */
bool attn_machine_enter(struct attn_machine *machine);
void *attn_machine_take(struct attn_machine *machine, size_t n, size_t size); /* zeroed, or NULL */
void attn_machine_release(struct attn_machine *machine);

struct attn_value attn_value_string(const char *text, size_t size);
struct attn_value attn_value_word(const char *text); /* a constant */
struct attn_value attn_value_int(int64_t integer);
struct attn_value attn_value_bool(bool is_true);
/* Returns the integer of TEXT [size] in the pool: digits, perhaps after a minus. Fails if it has
 * more digits than Python reads. */
struct attn_value attn_value_whole(struct attn_machine *machine, const char *text, size_t size);
struct attn_value attn_value_none(void);
/* Copies TEXT to the pool and empties it. */
struct attn_value attn_value_of_buffer(struct attn_machine *machine, struct attn_buffer *text);
struct attn_value attn_value_list_of(struct attn_machine *machine, enum attn_value_kind kind);
void attn_value_append(struct attn_machine *machine, struct attn_value value,
                       struct attn_value item); /* VALUE is a list */
/* Returns a tuple of both. */
struct attn_value attn_value_pair_of(struct attn_machine *machine, struct attn_value first,
                                     struct attn_value second);
void attn_value_dict_set(struct attn_machine *machine, struct attn_value_dict *dict,
                         struct attn_value key, struct attn_value value);
const struct attn_value *attn_value_dict_find(struct attn_machine *machine,
                                              const struct attn_value_dict *dict,
                                              struct attn_value key);
struct attn_value attn_value_missing(struct attn_machine *machine, struct attn_value object,
                                     struct attn_value name, const char *hint);
/* Fails because an integer has more than 64 bits. */
struct attn_value attn_value_fail_large(struct attn_machine *machine);
/* Fails with the message about VALUE, which is undefined. */
struct attn_value attn_value_fail(struct attn_machine *machine, struct attn_value value);

bool attn_value_is(struct attn_value value, const char *text); /* the string TEXT */
bool attn_value_is_list(struct attn_value value);
bool attn_value_is_number(struct attn_value value);
double attn_value_real(struct attn_value number);
bool attn_value_is_true(struct attn_value value);
const char *attn_value_type(struct attn_value value); /* Python's name of its type */
/* The number of characters of a string. */
size_t attn_value_length(struct attn_machine *machine, struct attn_value text);

bool attn_value_equals(struct attn_machine *machine, struct attn_value a, struct attn_value b);
/* Below 0, 0 or above 0; fails if the types have no order. OP is for the message. */
int attn_value_compare(struct attn_machine *machine, struct attn_value a, struct attn_value b,
                       const char *op);
bool attn_value_contains(struct attn_machine *machine, struct attn_value whole,
                         struct attn_value part);

/* Returns what a loop over VALUE visits, as a list; uses up a generator. */
struct attn_value_list attn_value_iterate(struct attn_machine *machine, struct attn_value value);

/* --- texts: template_text.c ------------------------------------------------------------------- */

/* Append str(VALUE) and repr(VALUE) of Python. */
void attn_value_print(struct attn_machine *machine, struct attn_value value,
                      struct attn_buffer *text);
void attn_value_represent(struct attn_machine *machine, struct attn_value value,
                          struct attn_buffer *text);
/* Returns str(VALUE) as a string. */
struct attn_value attn_value_text(struct attn_machine *machine, struct attn_value value);

struct attn_json_style {
    bool is_ascii, sorts_keys;
    const char *indent; /* of a level, or NULL: one line */
    size_t indent_size;
    struct attn_value comma, colon;
};

/* Appends json.dumps(VALUE). */
void attn_value_dump(struct attn_machine *machine, struct attn_value value,
                     const struct attn_json_style *style, struct attn_buffer *text);
/* Parses JSON. */
struct attn_value attn_value_parse(struct attn_machine *machine, const char *json, size_t size,
                                   const char *name);
struct attn_value attn_value_time(struct attn_machine *machine, struct attn_value format);

/* --- operators: template_operators.c ---------------------------------------------------------- */

/* Writes the characters of OP, as tokens have it, to TEXT, and returns TEXT. */
const char *attn_operator_text(int op, char text[3]);
struct attn_value attn_value_operate(struct attn_machine *machine, int op, struct attn_value a,
                                     struct attn_value b);
/* Returns whether A OP B. OP is ==, !=, <, <=, >, >=, 'i' (in) or 'n' (not in). */
bool attn_value_relate(struct attn_machine *machine, int op, struct attn_value a,
                       struct attn_value b);
struct attn_value attn_value_slice(struct attn_machine *machine, struct attn_value value,
                                   const struct attn_value bounds[3]);
struct attn_value attn_value_item(struct attn_machine *machine, struct attn_value value,
                                  struct attn_value key);

/* --- strings: template_strings.c -------------------------------------------------------------- */

enum { ATTN_STRIP_LEFT = 1, ATTN_STRIP_RIGHT = 2 };
struct attn_value attn_value_strip(struct attn_machine *machine, struct attn_value text,
                                   struct attn_value set, int sides);
struct attn_value attn_value_change_case(struct attn_machine *machine, struct attn_value text,
                                         const char *method);
struct attn_value attn_value_replace(struct attn_machine *machine, struct attn_value text,
                                     struct attn_value from, struct attn_value to, int64_t limit);
/* Fails if a line of TEXT ends, for splitlines of Python, with anything but \n. */
bool attn_value_has_plain_lines(struct attn_machine *machine, struct attn_value text);
/* Returns the attribute NAME of VALUE. */
struct attn_value attn_value_attribute(struct attn_machine *machine, struct attn_value value,
                                       struct attn_value name);
struct attn_value attn_value_call_method(struct attn_machine *machine, struct attn_value method,
                                         const struct attn_given_values *given);
/* Fails unless there are MIN to MAX arguments by place, and others only by one of NAMES, which
 * spaces separate. WHAT is whom they are given to. */
bool attn_given_fits(struct attn_machine *machine, const struct attn_given_values *given,
                     size_t min, size_t max, const char *names, struct attn_value what);
/* Returns argument INDEX or NAME, or FALLBACK. NAME may be NULL. */
struct attn_value attn_given_value(struct attn_machine *machine,
                                   const struct attn_given_values *given, size_t index,
                                   const char *name, struct attn_value fallback);

/* --- filters: template_filters.c -------------------------------------------------------------- */

bool attn_template_has_filter(struct attn_value name);
bool attn_template_has_test(struct attn_value name);
struct attn_value attn_template_filter(struct attn_machine *machine, struct attn_value name,
                                       struct attn_value value,
                                       const struct attn_given_values *given);
bool attn_template_test(struct attn_machine *machine, struct attn_value name,
                        struct attn_value value, const struct attn_given_values *given);

/* --- syntax: template_tokens.c, template_parser.c --------------------------------------------- */

/* Returns the tokens of SOURCE [size], in the pool, ended by ATTN_TOKEN_END; NULL on failure. */
struct attn_template_token *attn_template_read_tokens(struct attn_machine *machine,
                                                      const char *source, size_t size);
/* Returns the statements of the template. */
struct attn_template_node *attn_template_read_tree(struct attn_machine *machine,
                                                   const struct attn_template_token *tokens);

/* --- rendering: template_machine.c ------------------------------------------------------------ */

/* Renders TREE with VARIABLES, a dictionary. */
void attn_machine_render(struct attn_machine *machine, const struct attn_template_node *tree,
                         struct attn_value variables, struct attn_buffer *text);

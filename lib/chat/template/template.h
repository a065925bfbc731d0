/*
 * template.h - reads and renders the part of Jinja that published chat templates use.
 *
 * The rules are those of jinja2 3.1 in the sandbox of transformers: trim_blocks and lstrip_blocks
 * on, loop controls, lists and dictionaries that cannot be changed, tojson of transformers. A
 * construct that is not known is an error that names it with its line; it never leads to another
 * text. Templates are hostile: the size of the source, steps, depth, memory and output are bounded.
 */
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "tokenizer/chat_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_template;

/* The limits of a template, of which each ends in an error. */
enum {
    ATTN_TEMPLATE_MAX_SOURCE = 1 << 20,
    ATTN_TEMPLATE_MAX_STEPS = 10000000,
    ATTN_TEMPLATE_MAX_DEPTH = 800, /* of expressions, statements, calls and values together */
    ATTN_TEMPLATE_MAX_MEMORY = 256 << 20,
    ATTN_TEMPLATE_MAX_OUTPUT = 16 << 20
};

/* Parses SOURCE [size], UTF-8. NAME is what messages call it. Copies all that it keeps. */
enum attn_status attn_template_parse(const char *source, size_t size, const char *name,
                                     struct attn_template **parsed, struct attn_error *err);
void attn_template_free(struct attn_template *parsed); /* NULL is allowed */

/* A conversation, as transformers gives it to a template. */
struct attn_talk {
    const char *messages; /* [n_messages] JSON: a list of objects with `role` and `content` */
    size_t n_messages;
    const char *variables; /* [n_variables] JSON: an object with other variables, as bos_token */
    size_t n_variables;
    const char *tools; /* [n_tools] JSON: a list of functions; NULL: None */
    size_t n_tools;
    /* [n_set] further variables, "NAME=JSON" or JSON objects; the template must read each */
    const char *const *sets;
    size_t n_set;
    const char *owner; /* whose template it is, for messages */
    int64_t now; /* the time that strftime_now formats: seconds since 1970 of the clock on the wall;
                    0: unknown, and strftime_now fails */
};

/* Whether PARSED reads the variable NAME [size] anywhere. */
bool attn_template_reads(const struct attn_template *parsed, const char *name, size_t size);

/* Appends the text of GIVEN to TEXT. If the last message is the assistant's, the text ends with it;
 * otherwise the template is asked for the begin of an answer. SPANS, if not NULL, gets an array for
 * *N messages, which the caller releases with attn_free. */
enum attn_status attn_template_render(const struct attn_template *parsed,
                                      const struct attn_talk *given, struct attn_buffer *text,
                                      struct attn_talk_span **spans, size_t *n,
                                      struct attn_error *err);

/* pattern.c - see pattern.h. */
#include "text/pattern.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/pattern_syntax.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/*
 * What one match may try before it counts against the walk, what it may try more each time that
 * this was too little, and what a walk may try in all beside some for each byte. PCRE2's own limit
 * for one match is ten million.
 */
enum {
    FIRST_LIMIT = 10000,
    LIMIT_FACTOR = 16,
    WALK_LIMIT = 20000000,
    WALK_LIMIT_PER_BYTE = 16,
    DEPTH_LIMIT = 100000,
    HEAP_LIMIT = 64 << 10, /* KiB */
};

/*
 * PCRE2's limits count branches, not bytes: a*b|a looks at each place of a run to its end, and
 * nothing stops it. So of long texts a match sees a window at first, and more each time that it
 * needs to see what lies behind. What it has looked at in vain counts against the walk, too.
 */
enum {
    SHORT_TEXT = 64 << 10, /* bytes; seen whole */
    FIRST_WINDOW = 4 << 10,
    WINDOW_FACTOR = 8,
    WALK_BYTES = 16 << 20,
    WALK_BYTES_PER_BYTE = 64
};

struct attn_pattern {
    pcre2_general_context *memory; /* owns */
    pcre2_code *code;              /* owns */
    bool is_machine_code;
};

struct attn_match {
    const struct attn_pattern *pattern; /* borrows */
    pcre2_match_data *data;             /* owns */
    pcre2_match_context *context;       /* owns */
    uint64_t budget;                    /* what may still be tried */
    uint64_t bytes;                     /* what may still be looked at in vain */
};

static void *allocate(size_t size, void *context)
{
    (void)context;
    return attn_alloc_uninitialized(size, 1, NULL);
}

static void release(void *block, void *context)
{
    (void)context;
    attn_free(block);
}

static bool is_lack_of_memory(int code)
{
    return code == PCRE2_ERROR_NOMEMORY || code == 121; /* pcre2_compile's own number for it */
}

/* How a pattern is written in a file, for messages, and for PCRE2. */
struct source {
    const char *name;      /* of the file */
    const char *written;   /* [n_written] */
    const char *rewritten; /* [n_rewritten] */
    size_t n_written, n_rewritten;
};

static enum attn_status compile(struct attn_pattern *pattern, const struct source *source,
                                uint32_t options, struct attn_error *err)
{
    PCRE2_UCHAR message[128] = {0};
    pcre2_compile_context *context;
    int code = 0;
    size_t offset;

    pattern->memory = pcre2_general_context_create(allocate, release, NULL);
    context = pattern->memory ? pcre2_compile_context_create(pattern->memory) : NULL;
    if (!context)
        return attn_error_no_memory(err);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code = pcre2_compile((PCRE2_SPTR)source->rewritten, source->n_rewritten,
                                  PCRE2_UTF | options, &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code && is_lack_of_memory(code))
        return attn_error_no_memory(err);
    if (!pattern->code) {
        pcre2_get_error_message(code, message, sizeof message);
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the pattern '%s' in '%s' cannot be compiled: %s",
                              attn_quote(source->written, source->n_written).text,
                              attn_quote_string(source->name).text, (const char *)message);
    }
    /* Without machine code pcre2_match interprets the pattern: slower, same pieces. */
    pattern->is_machine_code =
        pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
    return ATTN_OK;
}

static enum attn_status create(const struct source *source, uint32_t options,
                               struct attn_pattern **out, struct attn_error *err)
{
    struct attn_pattern *pattern = attn_alloc(1, sizeof *pattern, err);
    enum attn_status status;

    if (!pattern)
        return ATTN_NO_MEMORY;
    status = compile(pattern, source, options, err);
    if (status == ATTN_OK)
        *out = pattern;
    else
        attn_pattern_free(pattern);
    return status;
}

enum attn_status attn_pattern_create(const char *text, size_t size, const char *name,
                                     struct attn_pattern **out, struct attn_error *err)
{
    struct attn_buffer rewritten = {0};
    enum attn_status status = attn_pattern_rewrite(text, size, name, &rewritten, err);

    if (status == ATTN_OK)
        status = create(&(struct source){name, text, rewritten.data, size, rewritten.size},
                        PCRE2_UCP | PCRE2_MULTILINE, out, err);
    attn_buffer_release(&rewritten);
    return status;
}

enum attn_status attn_pattern_create_literal(const char *text, size_t size, const char *name,
                                             struct attn_pattern **out, struct attn_error *err)
{
    return create(&(struct source){name, text, text, size, size}, PCRE2_LITERAL, out, err);
}

void attn_pattern_free(struct attn_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_general_context_free(pattern->memory);
    attn_free(pattern);
}

enum attn_status attn_match_create(const struct attn_pattern *pattern, size_t n,
                                   struct attn_match **out, struct attn_error *err)
{
    struct attn_match *match = attn_alloc(1, sizeof *match, err);

    if (!match)
        return ATTN_NO_MEMORY;
    match->pattern = pattern;
    match->data = pcre2_match_data_create(1, pattern->memory);
    match->context = pcre2_match_context_create(pattern->memory);
    if (!match->data || !match->context) {
        attn_match_free(match);
        return attn_error_no_memory(err);
    }
    pcre2_set_match_limit(match->context, FIRST_LIMIT);
    pcre2_set_depth_limit(match->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(match->context, HEAP_LIMIT);
    match->budget = WALK_LIMIT + (uint64_t)WALK_LIMIT_PER_BYTE * n;
    match->bytes = WALK_BYTES + (uint64_t)WALK_BYTES_PER_BYTE * n;
    *out = match;
    return ATTN_OK;
}

void attn_match_free(struct attn_match *match)
{
    if (!match)
        return;
    pcre2_match_data_free(match->data);
    pcre2_match_context_free(match->context);
    attn_free(match);
}

static int interpret(const struct attn_match *match, const char *text, size_t size, size_t from,
                     uint32_t options)
{
    return pcre2_match(match->pattern->code, (PCRE2_SPTR)text, size, from,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT | options, match->data, match->context);
}

static int try(const struct attn_match *match, const char *text, size_t size, size_t from,
               uint32_t options)
{
    if (!match->pattern->is_machine_code)
        return interpret(match, text, size, from, options);
    return pcre2_jit_match(match->pattern->code, (PCRE2_SPTR)text, size, from, options, match->data,
                           match->context);
}

/* Finds with the first limit, then with ever more of what is left of the budget. */
static int find(struct attn_match *match, const char *text, size_t size, size_t from,
                uint32_t options)
{
    /* The machine code's stack is small; the interpreter has one of its own, with limits. */
    bool is_interpreted = false;
    uint64_t limit = FIRST_LIMIT;
    int code = try(match, text, size, from, options);

    if (code != PCRE2_ERROR_MATCHLIMIT && code != PCRE2_ERROR_JIT_STACKLIMIT)
        return code;
    while (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT) {
        limit = limit * LIMIT_FACTOR < match->budget ? limit * LIMIT_FACTOR : match->budget;
        if (limit <= FIRST_LIMIT)
            break;
        match->budget -= limit;
        pcre2_set_match_limit(match->context, (uint32_t)(limit < UINT32_MAX ? limit : UINT32_MAX));
        is_interpreted = is_interpreted || code == PCRE2_ERROR_JIT_STACKLIMIT;
        code = is_interpreted ? interpret(match, text, size, from, options)
                              : try(match, text, size, from, options);
    }
    pcre2_set_match_limit(match->context, FIRST_LIMIT);
    return code;
}

/* The end of a window of SIZE bytes behind FROM, between two characters. */
static size_t window_end(const char *text, size_t size, size_t from, size_t window)
{
    size_t end = size - from > window ? from + window : size;

    while (end < size && ((unsigned char)text[end] & 0xc0) == 0x80)
        end++;
    return end;
}

static int find_in_windows(struct attn_match *match, const char *text, size_t size, size_t from)
{
    for (size_t window = FIRST_WINDOW;;) {
        const size_t end = window_end(text, size, from, window);
        const int code = find(match, text, end, from, end < size ? PCRE2_PARTIAL_HARD : 0);

        if (end == size || (code < 0 && code != PCRE2_ERROR_PARTIAL && code != PCRE2_ERROR_NOMATCH))
            return code;
        if (code == PCRE2_ERROR_PARTIAL) { /* it must see what lies behind */
            if (end - from > match->bytes)
                return PCRE2_ERROR_MATCHLIMIT;
            match->bytes -= end - from;
            window *= WINDOW_FACTOR;
        } else if (code < 0 || pcre2_get_ovector_pointer(match->data)[0] == end) {
            from = end; /* no match begins before, and one there has seen nothing */
        } else {
            return code;
        }
    }
}

static enum attn_status refuse(int code, struct attn_error *err)
{
    PCRE2_UCHAR message[128] = {0};

    if (is_lack_of_memory(code))
        return attn_error_no_memory(err);
    pcre2_get_error_message(code, message, sizeof message);
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "the tokenizer's pattern takes too long to split the text: %s",
                          (const char *)message);
}

enum attn_status attn_match_find(struct attn_match *match, const char *text, size_t size,
                                 size_t from, struct attn_found *found, struct attn_error *err)
{
    const int code = size - from <= SHORT_TEXT ? find(match, text, size, from, 0)
                                               : find_in_windows(match, text, size, from);

    if (code == PCRE2_ERROR_NOMATCH) {
        *found = (struct attn_found){size + 1, size + 1};
        return ATTN_OK;
    }
    if (code < 0)
        return refuse(code, err);
    found->begin = pcre2_get_ovector_pointer(match->data)[0];
    found->end = pcre2_get_ovector_pointer(match->data)[1];
    return ATTN_OK;
}

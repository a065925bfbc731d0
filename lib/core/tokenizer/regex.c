#include "tokenizer/regex.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "tokenizer/regex_syntax.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

/* Limits for the time of a walk. PCRE2's match limit counts branches, but not the characters that a
 * repetition passes over, and no branches in a*+X|b. So each match sees only a window of the text,
 * and its cost is at most its limit times the window, because each branch passes over the window
 * once. The first window has a few words, and the first limit is a few branches: such a match is
 * cheap, and the next one continues where it ended. Larger windows and more branches are paid from
 * a budget. */
enum {
    FIRST_WINDOW = 64, /* bytes */
    WINDOW_FACTOR = 8,
    FIRST_LIMIT = 256, /* branches */
    LIMIT_FACTOR = 4,
    BRANCH_COST = 256, /* cost of a branch, in characters */
    WALK_COST_PER_BYTE = 4 << 10,
    DEPTH_LIMIT = 100000,
    HEAP_LIMIT = 64 << 10,    /* KiB */
    COMPILE_LIMIT = 32 << 20, /* bytes that PCRE2 may allocate to compile a pattern */
    LOOKBEHIND_LIMIT = 255,   /* number of characters that each match may look behind */
    CANCELED = -10000,        /* in addition to PCRE2's error codes */
};

/* Budget of a walk in characters: some seconds. */
static const uint64_t walk_cost = UINT64_C(1) << 31;
static const uint64_t match_cost =
    UINT64_C(1) << 32; /* maximum cost of one attempt with more than the first limit */

struct attn_regex {
    pcre2_general_context *memory; /* owns */
    pcre2_code *code;              /* owns */
    bool is_machine_code;
    size_t n_left; /* bytes that may still be allocated while it is compiled; afterwards SIZE_MAX */
};

struct attn_match {
    const struct attn_regex *pattern;    /* borrows */
    pcre2_match_data *data;              /* owns */
    pcre2_match_context *context;        /* owns */
    uint64_t budget;                     /* the rest of the budget of the walk */
    const volatile sig_atomic_t *cancel; /* borrowed; NULL: cannot be canceled */
};

static void *allocate(size_t size, void *context)
{
    struct attn_regex *pattern = context;

    if (pattern->n_left != SIZE_MAX) {
        if (size > pattern->n_left)
            return NULL;
        pattern->n_left -= size;
    }
    return attn_alloc_uninitialized(size, 1, NULL);
}

static void release(void *block, void *context)
{
    (void)context;
    attn_free(block);
}

static bool is_lack_of_memory(int code)
{
    /* Pcre2_compile has a separate code for it. */
    return code == PCRE2_ERROR_NOMEMORY || code == 121;
}

/* A pattern as it is in a file, and as it is passed to PCRE2. */
struct pattern_source {
    const char *name; /* name of the file, for messages */
    const char *text; /* [size] */
    size_t size;
    bool is_literal, is_ours;
    struct attn_buffer rewritten; /* owns; the pattern for PCRE2, unless it is literal */
};

static enum attn_status compile(struct attn_regex *pattern, struct pattern_source *source,
                                struct attn_error *err)
{
    struct attn_buffer *rewritten = &source->rewritten;
    uint32_t options = PCRE2_LITERAL, look_behind = 0;
    PCRE2_UCHAR message[128] = {0};
    pcre2_compile_context *context;
    int code = 0;
    size_t offset;

    if (!source->is_literal) {
        options = PCRE2_UCP | PCRE2_MULTILINE;
        if (source->is_ours)
            attn_buffer_append(rewritten, source->text, source->size);
        else
            ATTN_TRY(attn_regex_rewrite(source->text, source->size, source->name,
                                        attn_property_form_find(), rewritten, err));
        ATTN_TRY(attn_buffer_check(rewritten, err));
    }
    pattern->n_left = COMPILE_LIMIT;
    pattern->memory = pcre2_general_context_create(allocate, release, pattern);
    context = pattern->memory ? pcre2_compile_context_create(pattern->memory) : NULL;
    if (!context)
        return attn_error_no_memory(err);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)(source->is_literal ? source->text : rewritten->data),
                      source->is_literal ? source->size : rewritten->size,
                      PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT | options, &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code && is_lack_of_memory(code) && pattern->n_left > COMPILE_LIMIT / 2)
        return attn_error_no_memory(err);
    if (!pattern->code) {
        pcre2_get_error_message(code, message, sizeof message);
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the pattern '%s' in '%s' cannot be compiled: %s",
                              attn_quote(source->text, source->size).text,
                              attn_quote_string(source->name).text, (const char *)message);
    }
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_MAXLOOKBEHIND, &look_behind);
    if (look_behind > LOOKBEHIND_LIMIT)
        return attn_error_set(
            err, ATTN_UNSUPPORTED,
            "the pattern '%s' in '%s' looks back at %u characters, at most %d are supported",
            attn_quote(source->text, source->size).text, attn_quote_string(source->name).text,
            (unsigned)look_behind, LOOKBEHIND_LIMIT);
    /* Without machine code, pcre2_match interprets the pattern, which is slower and gives the same
     * pieces. */
    pattern->is_machine_code =
        pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
    pattern->n_left = SIZE_MAX;
    return ATTN_OK;
}

static enum attn_status create(struct pattern_source *source, struct attn_regex **out,
                               struct attn_error *err)
{
    struct attn_regex *pattern;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(pattern, 1, err));
    status = compile(pattern, source, err);
    attn_buffer_release(&source->rewritten);
    ATTN_RETURN_MADE(status, out, pattern, attn_regex_free);
}

enum attn_status attn_regex_create(const char *text, size_t size, const char *name, bool is_literal,
                                   struct attn_regex **out, struct attn_error *err)
{
    struct pattern_source source = {name, text, size, is_literal, false, {0}};

    return create(&source, out, err);
}

enum attn_status attn_regex_create_cluster(struct attn_regex **out, struct attn_error *err)
{
    static const char cluster[] = "\\X";
    struct pattern_source source = {"UAX 29", cluster, sizeof cluster - 1, false, true, {0}};

    return create(&source, out, err);
}

void attn_regex_free(struct attn_regex *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_general_context_free(pattern->memory);
    attn_free(pattern);
}

enum attn_status attn_match_create(const struct attn_regex *pattern, size_t n,
                                   struct attn_match **out, struct attn_error *err)
{
    struct attn_match *match;

    ATTN_TRY(ATTN_ALLOC(match, 1, err));
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
    match->budget = walk_cost + (uint64_t)WALK_COST_PER_BYTE * n;
    *out = match;
    return ATTN_OK;
}

void attn_match_watch(struct attn_match *match, const volatile sig_atomic_t *cancel)
{
    match->cancel = cancel;
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

static uint64_t cost(uint64_t limit, size_t window)
{
    return limit * (window + BRANCH_COST);
}

/* Subtracts COST from the budget. Returns PCRE2_ERROR_MATCHLIMIT if the budget is exhausted,
 * CANCELED if the walk is canceled, else 0. */
static int spend_budget(struct attn_match *match, uint64_t cost)
{
    if (attn_is_canceled(match->cancel))
        return CANCELED;
    if (cost > match->budget)
        return PCRE2_ERROR_MATCHLIMIT;
    match->budget -= cost;
    return 0;
}

/* Searches with the first limit, and then with larger ones. */
static int find_with_limits(struct attn_match *match, const char *text, size_t size, size_t from,
                            uint32_t options)
{
    /* The stack of machine code is small; the interpreter uses the heap, which is limited. */
    bool is_interpreted = false;
    uint64_t limit = FIRST_LIMIT;
    int code = try(match, text, size, from, options);

    if (code != PCRE2_ERROR_MATCHLIMIT && code != PCRE2_ERROR_JIT_STACKLIMIT)
        return code;
    while (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT) {
        int problem = PCRE2_ERROR_MATCHLIMIT;

        limit *= LIMIT_FACTOR;
        if (cost(limit, size - from) <= match_cost)
            problem = spend_budget(match, cost(limit, size - from));
        if (problem != 0) {
            code = problem;
            break;
        }
        pcre2_set_match_limit(match->context, (uint32_t)(limit < UINT32_MAX ? limit : UINT32_MAX));
        is_interpreted = is_interpreted || code == PCRE2_ERROR_JIT_STACKLIMIT;
        code = is_interpreted ? interpret(match, text, size, from, options)
                              : try(match, text, size, from, options);
    }
    pcre2_set_match_limit(match->context, FIRST_LIMIT);
    return code;
}

/* Returns the begin of the first character that begins at or after AT. */
static size_t find_character(const char *text, size_t size, size_t at)
{
    while (at < size && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Searches in windows. In the first window a match may begin anywhere; in a larger one only at
 * FROM, where a smaller window ended too early. So the cost of each window is bounded by what was
 * subtracted for it. */
static int find(struct attn_match *match, const char *text, size_t size, size_t from)
{
    size_t window = FIRST_WINDOW;
    int problem = 0;

    while (problem == 0) {
        const size_t end = find_character(text, size, size - from > window ? from + window : size);
        const bool is_first = window == FIRST_WINDOW;
        int code;

        pcre2_set_offset_limit(match->context, is_first ? PCRE2_UNSET : from);
        code = find_with_limits(match, text, end, from, end < size ? PCRE2_PARTIAL_HARD : 0);
        if (code == PCRE2_ERROR_PARTIAL) { /* the match needs text after the window */
            from = pcre2_get_ovector_pointer(match->data)[0];
            window *= WINDOW_FACTOR;
            problem =
                spend_budget(match, cost(FIRST_LIMIT, window < size - from ? window : size - from));
        } else if (code == PCRE2_ERROR_NOMATCH && !is_first && from < size) {
            from = find_character(text, size, from + 1);
            window = FIRST_WINDOW;
        } else if (end < size && is_first &&
                   (code == PCRE2_ERROR_NOMATCH ||
                    (code >= 0 && pcre2_get_ovector_pointer(match->data)[0] == end))) {
            /* No match begins before END, and one that begins there has not been tried. */
            from = end;
        } else {
            return code;
        }
    }
    return problem;
}

enum attn_status attn_match_find(struct attn_match *match, const char *text, size_t size,
                                 size_t from, struct attn_match_range *found,
                                 struct attn_error *err)
{
    const int code = find(match, text, size, from);
    PCRE2_UCHAR message[128];

    if (code == PCRE2_ERROR_NOMATCH) {
        *found = (struct attn_match_range){size + 1, size + 1};
        return ATTN_OK;
    }
    if (code >= 0) {
        found->begin = pcre2_get_ovector_pointer(match->data)[0];
        found->end = pcre2_get_ovector_pointer(match->data)[1];
        return ATTN_OK;
    }
    if (code == CANCELED)
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    if (is_lack_of_memory(code))
        return attn_error_no_memory(err);
    message[0] = '\0';
    pcre2_get_error_message(code, message, sizeof message);
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "the tokenizer's pattern takes too long to split the text: %s",
                          (const char *)message);
}

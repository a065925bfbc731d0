/* split.c - see split.h. */
#include "text/split.h"

#include "base/memory.h"
#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define RANGE(first, last) "\\x{" #first "}-\\x{" #last "}"
#define WHITE_SPACE ATTN_WHITE_SPACE_MAP(RANGE)

/* encoder.py: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static const char pattern[] = "'s|'t|'re|'ve|'m|'ll|'d"
                              "| ?\\p{L}+"
                              "| ?\\p{N}+"
                              "| ?[^" WHITE_SPACE "\\p{L}\\p{N}]+"
                              "|[" WHITE_SPACE "]+(?![^" WHITE_SPACE "])"
                              "|[" WHITE_SPACE "]+";

struct attn_split {
    pcre2_general_context *memory; /* owns */
    pcre2_code *code;              /* owns */
};

struct attn_split_walk {
    const struct attn_split *split; /* borrows */
    pcre2_match_data *match;        /* owns */
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

static enum attn_status refuse(int code, const char *what, struct attn_error *err)
{
    PCRE2_UCHAR text[128] = {0};

    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAPLIMIT ||
        code == 121 /* pcre2_compile's own number for lack of memory */)
        return attn_error_no_memory(err);
    pcre2_get_error_message(code, text, sizeof text);
    return attn_error_set(err, ATTN_UNSUPPORTED, "PCRE2 cannot %s: %s", what, (const char *)text);
}

static enum attn_status compile(struct attn_split *split, struct attn_error *err)
{
    pcre2_compile_context *context;
    int code;
    size_t offset;

    split->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!split->memory)
        return attn_error_no_memory(err);
    context = pcre2_compile_context_create(split->memory);
    if (!context)
        return attn_error_no_memory(err);
    split->code = pcre2_compile((PCRE2_SPTR)pattern, sizeof pattern - 1, PCRE2_UTF | PCRE2_UCP,
                                &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!split->code)
        return refuse(code, "compile the split rule", err);
    /* Without machine code pcre2_match interprets the pattern: slower, same pieces. */
    (void)pcre2_jit_compile(split->code, PCRE2_JIT_COMPLETE);
    return ATTN_OK;
}

enum attn_status attn_split_create(struct attn_split **out, struct attn_error *err)
{
    struct attn_split *split = attn_alloc(1, sizeof *split, err);
    enum attn_status status;

    if (!split)
        return ATTN_NO_MEMORY;
    status = compile(split, err);
    if (status != ATTN_OK) {
        attn_split_free(split);
        return status;
    }
    *out = split;
    return ATTN_OK;
}

void attn_split_free(struct attn_split *split)
{
    if (!split)
        return;
    pcre2_code_free(split->code);
    pcre2_general_context_free(split->memory);
    attn_free(split);
}

enum attn_status attn_split_walk_create(const struct attn_split *split,
                                        struct attn_split_walk **out, struct attn_error *err)
{
    struct attn_split_walk *walk = attn_alloc(1, sizeof *walk, err);

    if (!walk)
        return ATTN_NO_MEMORY;
    walk->split = split;
    walk->match = pcre2_match_data_create(1, split->memory);
    if (!walk->match) {
        attn_free(walk);
        return attn_error_no_memory(err);
    }
    *out = walk;
    return ATTN_OK;
}

void attn_split_walk_free(struct attn_split_walk *walk)
{
    if (!walk)
        return;
    pcre2_match_data_free(walk->match);
    attn_free(walk);
}

enum attn_status attn_split_next(struct attn_split_walk *walk, const char *text, size_t size,
                                 size_t begin, size_t *end, struct attn_error *err)
{
    int code = pcre2_match(walk->split->code, (PCRE2_SPTR)text, size, begin, PCRE2_NO_UTF_CHECK,
                           walk->match, NULL);

    /* Every character begins a match, so there is one, at BEGIN, and it is not empty. */
    if (code < 0)
        return refuse(code, "split the text", err);
    *end = pcre2_get_ovector_pointer(walk->match)[1];
    return ATTN_OK;
}

/* draw.c - see draw.h. */
#include "model/draw.h"

#include "base/escape.h"
#include "base/number.h"

#include <stddef.h>
#include <string.h>

static const char *const groups[] = {
#define GROUP_NAME(name, text) text,
    ATTN_DRAW_GROUP_MAP(GROUP_NAME)
#undef GROUP_NAME
};

static const char *const distributions[] = {
#define DISTRIBUTION_NAME(name, text) text,
    ATTN_DISTRIBUTION_MAP(DISTRIBUTION_NAME)
#undef DISTRIBUTION_NAME
};

/* Index of the SIZE bytes at TEXT among NAMES [n], or n. */
static int find(const char *const *names, int n, const char *text, size_t size)
{
    int i = 0;

    while (i < n && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    return i;
}

static enum attn_status refuse(const char *text, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' draws nothing, expected GROUP=DIST[:STD][@SEED]",
                   attn_quote_string(text).text);
    attn_error_hint(err, "GROUP: embed, pos, heads, qkv, W_O, mlp, unembed; DIST: randn, rand, "
                         "linear, gpt2; :STD for randn");
    return ATTN_INVALID;
}

enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err)
{
    struct attn_draw parsed = {.deviation = 1};
    const char *name = text + strcspn(text, "="), *at;
    size_t size;
    int group = find(groups, ATTN_N_DRAW_GROUP, text, (size_t)(name - text)), distribution;

    if (group == ATTN_N_DRAW_GROUP || *name != '=')
        return refuse(text, err);
    size = strcspn(++name, ":@");
    distribution = find(distributions, ATTN_N_DISTRIBUTION, name, size);
    if (distribution == ATTN_N_DISTRIBUTION)
        return refuse(text, err);
    parsed.group = (enum attn_draw_group)group;
    parsed.distribution = (enum attn_distribution)distribution;
    at = name + size;
    if (*at == ':') {
        size = strcspn(++at, "@");
        if (parsed.distribution != ATTN_DISTRIBUTION_RANDN ||
            !attn_parse_double(at, size, &parsed.deviation) || parsed.deviation <= 0)
            return refuse(text, err);
        at += size;
    }
    if (*at == '@') {
        parsed.has_seed = true;
        if (!attn_parse_uint(at + 1, strlen(at + 1), &parsed.seed))
            return refuse(text, err);
    }
    *draw = parsed;
    return ATTN_OK;
}

const char *attn_draw_group_name(enum attn_draw_group group)
{
    return groups[group];
}

/*
 * fuzz_draw.c - the values of init's --draw.
 *
 * What is taken, written out again, is taken as the same; what is refused leaves the draw alone.
 */
#include "drawn/model_init.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, text) text,
static const char *const groups[] = {ATTN_DRAW_GROUP_MAP(NAME)};
static const char *const distributions[] = {ATTN_DISTRIBUTION_MAP(NAME)};
#undef NAME

static void check_taken(const struct attn_draw *draw)
{
    struct attn_draw again = {.deviation = 0};
    struct attn_error err = {0};
    char text[160], numbers[96] = "", seed[32] = "";

    FUZZ_CHECK(draw->group < ATTN_N_DRAW_GROUP && draw->distribution < ATTN_N_DISTRIBUTION);
    FUZZ_CHECK(draw->deviation > 0 && draw->deviation <= 1.7976931348623157e308);
    if (draw->distribution == ATTN_DISTRIBUTION_RANDN)
        snprintf(numbers, sizeof numbers, ":%.17g", draw->deviation);
    else if (draw->distribution == ATTN_DISTRIBUTION_NORMAL)
        snprintf(numbers, sizeof numbers, ":%.17g:%.17g", draw->mean, draw->deviation);
    else
        FUZZ_CHECK(draw->deviation == 1);
    if (draw->has_seed)
        snprintf(seed, sizeof seed, "@%" PRIu64, draw->seed);
    else
        FUZZ_CHECK(draw->seed == 0);
    snprintf(text, sizeof text, "%s=%s%s%s", groups[draw->group], distributions[draw->distribution],
             numbers, seed);
    FUZZ_CHECK(attn_draw_parse(text, &again, &err) == ATTN_OK);
    FUZZ_CHECK(again.group == draw->group && again.distribution == draw->distribution);
    FUZZ_CHECK(again.mean == draw->mean && again.deviation == draw->deviation);
    FUZZ_CHECK(again.has_seed == draw->has_seed && again.seed == draw->seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = attn_fuzz_string(data, size);
    const struct attn_draw untouched = {ATTN_DRAW_MLP, ATTN_DISTRIBUTION_RAND, 2, 3, true, 4};
    struct attn_draw draw = untouched;
    struct attn_error err = {0};
    enum attn_status status = attn_draw_parse(text, &draw, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    if (status == ATTN_OK)
        check_taken(&draw);
    else
        FUZZ_CHECK(draw.group == untouched.group && draw.distribution == untouched.distribution &&
                   draw.mean == 2 && draw.deviation == 3 && draw.has_seed && draw.seed == 4);
    free(text);
    return 0;
}

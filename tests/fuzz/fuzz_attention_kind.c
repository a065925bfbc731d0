/*
 * fuzz_attention_kind.c - kinds of attention as users write them, one a line: each is read over
 * what the one before left.
 *
 * What is read is written in a form that reads back to the same, whatever stood there before; what
 * is refused changes nothing. With any mask that passes, few rows hold what they promise: ascending
 * keys that are there, no more than the most, and as many as are counted.
 */
#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "attention/kind.h"
#include "tests/fuzz/fuzz.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 128, N_KEY = 23 };

/* TEXT over BEFORE: what becomes of it. */
static struct attn_attention read_over(const struct attn_attention *before, const char *text)
{
    struct attn_attention attention = *before;
    struct attn_error err = {0};
    const enum attn_status status = attn_attention_parse(text, &attention, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    if (status != ATTN_OK)
        FUZZ_CHECK(memcmp(&attention, before, sizeof attention) == 0);
    return attention;
}

static void check_text(const struct attn_attention *attention)
{
    struct attn_attention again = ATTN_ATTENTION_DEFAULT;
    struct attn_error err = {0};
    char text[ATTN_ATTENTION_TEXT_SIZE], second[ATTN_ATTENTION_TEXT_SIZE];

    FUZZ_CHECK(attn_attention_text(attention, text) == strlen(text));
    FUZZ_CHECK(attn_attention_parse(text, &again, &err) == ATTN_OK);
    attn_attention_text(&again, second);
    FUZZ_CHECK(again.kind == attention->kind && strcmp(text, second) == 0);
}

static void check_rows(struct attn_attention attention)
{
    const size_t most = attn_keys_largest(&attention, N_KEY);
    int32_t *keys = malloc(most * sizeof *keys);
    uint64_t n_pair = 0;

    FUZZ_CHECK(keys != NULL && most <= N_KEY);
    for (size_t i = 0; i < N_KEY; i++) {
        const struct attn_key_row row = {1, 2, i, i, N_KEY};
        const size_t n = attn_keys_list(&attention, &row, keys);

        FUZZ_CHECK(n <= most);
        for (size_t k = 0; k < n; k++)
            FUZZ_CHECK(keys[k] >= (k > 0 ? keys[k - 1] + 1 : 0) && keys[k] < N_KEY);
        n_pair += n;
    }
    FUZZ_CHECK(attn_attention_n_pair(&attention, N_KEY, N_KEY,
                                     &(struct attn_location){.layer = 1, .head = 2}) == n_pair);
    free(keys);
}

static void check_kind(const struct attn_attention *attention)
{
    struct attn_attention run = *attention;

    check_text(attention);
    attn_attention_resolve_stride(&run, N_KEY);
    for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
        struct attn_error err = {0};
        enum attn_status status;

        run.mask = (enum attn_mask)mask;
        status = attn_attention_check(&run, false, &err);
        attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
        if (status == ATTN_OK && attn_sites_have(attn_attention_sites(&run), ATTN_SITE_QK))
            check_rows(run);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = attn_fuzz_string(data, size < MAX_TEXT ? size : MAX_TEXT);
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;

    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        attention = read_over(&attention, line);
        check_kind(&attention);
    }
    free(text);
    return 0;
}

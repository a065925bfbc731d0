/* Tables of keys from files: keys that collide without a seed do not collide. */
#include "base/hash.h"
#include "tests/support/suite.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/models_internal.h"

#include <stdlib.h>

/* Keys that begin in one of N_NEAR slots of N_SLOT fill one run of slots; without an order, the
 * longest run of a table that is half full is some 100 slots. */
enum { N_KEY = 4000, N_SLOT = 8192, N_NEAR = 64, LONGEST = N_KEY / 4 };

static bool is_near(uint64_t hash)
{
    return hash % N_SLOT < N_NEAR;
}

/* The length of the longest run of slots that IS_FREE, of TABLE, does not hold for. */
static size_t longest_run(const void *table, size_t n, bool (*is_free)(const void *table, size_t i))
{
    size_t run = 0, longest = 0;

    for (size_t i = 0; i < n; i++) {
        run = is_free(table, i) ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static bool is_free_of_token(const void *table, size_t i)
{
    return ((const struct attn_vocabulary *)table)->slots[i] == UINT64_MAX;
}

START_TEST(tokens_that_were_made_to_collide_do_not)
{
    struct attn_vocabulary vocabulary = {.n = 0};
    struct attn_error err = {0};

    for (uint64_t key = 0; vocabulary.n < N_KEY; key++) {
        char bytes[sizeof key];

        memcpy(bytes, &key, sizeof key);
        if (is_near(attn_hash_bytes(0, bytes, sizeof key)))
            ck_assert(attn_vocabulary_add(&vocabulary, bytes, sizeof key, (int32_t)vocabulary.n,
                                          &err) == ATTN_OK);
    }
    ck_assert(attn_vocabulary_finish(&vocabulary, "toy", false, &err) == ATTN_OK);
    ck_assert(attn_vocabulary_index(&vocabulary, "toy", &err) == ATTN_OK);
    ck_assert_uint_eq(vocabulary.n_slot, N_SLOT);
    ck_assert_uint_lt(longest_run(&vocabulary, N_SLOT, is_free_of_token), LONGEST);
    attn_vocabulary_release(&vocabulary);
}
END_TEST

static bool is_free_of_pair(const void *table, size_t i)
{
    return ((const struct attn_merges *)table)->pairs[i] == UINT64_MAX;
}

START_TEST(merges_that_were_made_to_collide_do_not)
{
    struct attn_merges merges = {.n = 0};
    struct attn_error err = {0};

    ck_assert(attn_merges_allocate(&merges, N_KEY, "toy", &err) == ATTN_OK);
    for (struct attn_merge merge = {.left = 7}; merges.n < N_KEY; merge.right++)
        if (is_near(attn_hash_mix(attn_merges_pair(merge.left, merge.right))))
            ck_assert(attn_merges_add(&merges, &merge, false));
    ck_assert_uint_eq(merges.mask + 1, N_SLOT);
    ck_assert_uint_lt(longest_run(&merges, N_SLOT, is_free_of_pair), LONGEST);
    attn_merges_release(&merges);
}
END_TEST

static bool is_free_of_edge(const void *table, size_t i)
{
    return ((const struct attn_search *)table)->edges[i].key == 0;
}

/* Node K of the search for one word is its last K bytes. */
START_TEST(an_added_token_whose_edges_were_made_to_collide_does_no_harm)
{
    struct attn_search search = {.n = 0};
    struct attn_error err = {0};
    char *text = malloc(N_KEY);
    const struct attn_search_word word = {text, N_KEY};

    ck_assert_ptr_nonnull(text);
    for (uint32_t node = 0; node < N_KEY; node++) {
        uint32_t byte = 0;

        while (byte < 255 && !is_near(attn_hash_mix((node << 8 | byte) + 1)))
            byte++;
        text[N_KEY - 1 - node] = (char)byte;
    }
    ck_assert(attn_search_build(&search, &word, 1, &err) == ATTN_OK);
    ck_assert_uint_eq(search.mask + 1, N_SLOT);
    ck_assert_uint_lt(longest_run(&search, N_SLOT, is_free_of_edge), LONGEST);
    attn_search_release(&search);
    free(text);
}
END_TEST

ATTN_SUITE("hash", tokens_that_were_made_to_collide_do_not, merges_that_were_made_to_collide_do_not,
           an_added_token_whose_edges_were_made_to_collide_does_no_harm)

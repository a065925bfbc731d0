/* The order of merges, against a plain loop that looks at all pairs before each merge. */
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define N(array) (sizeof(array) / sizeof *(array))

enum { MAX_TOKENS = 300, MAX_MERGES = 400, MAX_PIECE = 600 };

/* A random vocabulary over the letters a, b, c, with merges in any order. */
struct random_bpe {
    char tokens[MAX_TOKENS][8];
    size_t n_token;
    struct merge {
        int32_t left, right, merged;
    } merges[MAX_MERGES];
    size_t n_merge;
    struct attn_buffer vocab, lines;
};

static int32_t find_token(const struct random_bpe *bpe, const char *text)
{
    for (size_t i = 0; i < bpe->n_token; i++)
        if (strcmp(bpe->tokens[i], text) == 0)
            return (int32_t)i;
    return -1;
}

/* Adds the merge of two tokens, and its result if that is new; false when that is not possible. */
static bool add_merge(struct random_bpe *bpe, int32_t left, int32_t right)
{
    char joined[16];
    int32_t merged;

    snprintf(joined, sizeof joined, "%s%s", bpe->tokens[left], bpe->tokens[right]);
    for (size_t i = 0; i < bpe->n_merge; i++)
        if (bpe->merges[i].left == left && bpe->merges[i].right == right)
            return false;
    merged = find_token(bpe, joined);
    if (merged < 0 && strlen(joined) < sizeof bpe->tokens[0]) {
        merged = (int32_t)bpe->n_token;
        memcpy(bpe->tokens[bpe->n_token++], joined, strlen(joined) + 1);
    }
    if (merged < 0)
        return false;
    bpe->merges[bpe->n_merge].left = left;
    bpe->merges[bpe->n_merge].right = right;
    bpe->merges[bpe->n_merge++].merged = merged;
    return true;
}

static void make_random_bpe(struct random_bpe *bpe, size_t n_merge)
{
    static const char *const letters[] = {"a", "b", "c"};

    *bpe = (struct random_bpe){.n_token = N(letters)};
    for (size_t i = 0; i < N(letters); i++)
        memcpy(bpe->tokens[i], letters[i], 2);
    for (size_t attempt = 0; attempt < 4000 && bpe->n_merge < n_merge; attempt++)
        add_merge(bpe, (int32_t)((size_t)rand() % bpe->n_token),
                  (int32_t)((size_t)rand() % bpe->n_token));
    /* Shuffled, a pair may rank below the one that makes its left token. */
    for (size_t i = bpe->n_merge; i-- > 1;) {
        size_t other = (size_t)rand() % (i + 1);
        struct merge merge = bpe->merges[i];

        bpe->merges[i] = bpe->merges[other];
        bpe->merges[other] = merge;
    }
    for (size_t i = 0; i < bpe->n_token; i++)
        attn_buffer_append_format(&bpe->vocab, "%s\"%s\": %zu", i == 0 ? "{" : ", ", bpe->tokens[i],
                                  i);
    attn_buffer_append_string(&bpe->vocab, "}");
    for (size_t i = 0; i < bpe->n_merge; i++)
        attn_buffer_append_format(&bpe->lines, "%s %s\n", bpe->tokens[bpe->merges[i].left],
                                  bpe->tokens[bpe->merges[i].right]);
}

static size_t rank_of(const struct random_bpe *bpe, int32_t left, int32_t right)
{
    size_t rank = 0;

    while (rank < bpe->n_merge &&
           (bpe->merges[rank].left != left || bpe->merges[rank].right != right))
        rank++;
    return rank;
}

/* Merges the leftmost pair of the lowest rank until no pair has one. */
static size_t merge_plainly(const struct random_bpe *bpe, int32_t *word, size_t n)
{
    for (;;) {
        size_t best = bpe->n_merge, at = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            size_t rank = rank_of(bpe, word[i], word[i + 1]);

            at = rank < best ? i : at;
            best = rank < best ? rank : best;
        }
        if (best == bpe->n_merge)
            return n;
        word[at] = bpe->merges[best].merged;
        memmove(word + at + 1, word + at + 2, (--n - at - 1) * sizeof *word);
    }
}

static void compare_with_plain(const struct attn_tokenizer *tokenizer, const struct random_bpe *bpe,
                               size_t size)
{
    char text[MAX_PIECE];
    int32_t word[MAX_PIECE];
    struct attn_expected_token expected[MAX_PIECE];
    size_t n, at = 0;

    for (size_t i = 0; i < size; i++) {
        word[i] = rand() % 3;
        text[i] = bpe->tokens[word[i]][0];
    }
    n = merge_plainly(bpe, word, size);
    for (size_t i = 0; i < n; i++) {
        size_t end = at + strlen(bpe->tokens[word[i]]);

        expected[i] = (struct attn_expected_token){word[i], at, end};
        at = end;
    }
    attn_assert_tokens(tokenizer, text, size, NULL, expected, n);
}

/* "ab a" has a lower rank than "a b", which makes its left token: after the first "ab" comes "aba",
 * as in the library tokenizers, where encoder.py would first make the other "ab". */
START_TEST(a_merge_may_make_a_pair_of_lower_rank)
{
    struct attn_tokenizer *tokenizer = attn_make_tokenizer(&(struct attn_tokenizer_files){
        .vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"aba\": 3}", .merges = "ab a\na b\n"});
    static const struct attn_expected_token expected[] = {{3, 0, 3}, {1, 3, 4}};

    attn_assert_tokens(tokenizer, "abab", 4, NULL, expected, 2);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(merges_the_leftmost_pair_of_the_lowest_rank)
{
    srand(20240917);
    for (size_t round = 0; round < 60; round++) {
        static struct random_bpe bpe;
        struct attn_tokenizer_files files;
        struct attn_tokenizer *tokenizer;

        make_random_bpe(&bpe, 1 + (size_t)rand() % 60);
        files = (struct attn_tokenizer_files){.vocab = attn_buffer_string(&bpe.vocab),
                                              .merges = attn_buffer_string(&bpe.lines)};
        tokenizer = attn_make_tokenizer(&files);
        for (size_t i = 0; i < 60; i++)
            compare_with_plain(tokenizer, &bpe, 1 + (size_t)rand() % (i == 0 ? MAX_PIECE : 24));
        attn_tokenizer_free(tokenizer);
        attn_buffer_release(&bpe.vocab);
        attn_buffer_release(&bpe.lines);
    }
}
END_TEST

/* --- Canceled --------------------------------------------------------------------------------- */

static volatile sig_atomic_t cancel;

static void cancel_now(int signal)
{
    (void)signal;
    cancel = 1;
}

/* Merges N tokens 0, of which two make token 1; canceled after SECONDS of work, unless that is 0.
 */
static bool merge_many(struct attn_bpe_work *work, const struct attn_merges *merges, size_t n,
                       double seconds)
{
    const struct itimerval timer = {.it_value = {.tv_usec = (suseconds_t)(seconds * 1e6)}};

    for (size_t i = 0; i < n; i++)
        work->symbols[i].id = 0;
    cancel = 0;
    ck_assert_int_eq(setitimer(ITIMER_VIRTUAL, &timer, NULL), 0);
    return attn_bpe_merge(work, n, merges);
}

START_TEST(many_merges_can_be_canceled)
{
    enum { N_TOKEN = 1 << 22, N_TRY = 20 };
    const struct sigaction action = {.sa_handler = cancel_now};
    const struct attn_merge pair = {.merged = 1};
    struct attn_bpe_work work = {.cancel = &cancel};
    struct attn_merges merges = {0};
    struct attn_error err = {0};
    size_t n_left = 0;
    clock_t begin;
    double seconds;

    ck_assert(attn_merges_allocate(&merges, 1, "toy", &err) == ATTN_OK);
    ck_assert(attn_merges_add(&merges, &pair, false));
    ck_assert(attn_bpe_begin(&work, N_TOKEN, &err) == ATTN_OK);
    work.cancel = &cancel;
    ck_assert_int_eq(sigaction(SIGVTALRM, &action, NULL), 0);
    begin = clock();
    ck_assert(merge_many(&work, &merges, N_TOKEN, 0));
    seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    /* Half of that time ends while merging, a third, and so on. A clock may be late by
     * milliseconds. */
    for (int i = 0; i < N_TRY && n_left <= N_TOKEN / 2; i++) {
        merge_many(&work, &merges, N_TOKEN, fmin(seconds / (2 + i), 0.9));
        n_left = 0;
        for (size_t k = 0; k < N_TOKEN; k = work.symbols[k].next)
            n_left++;
    }
    ck_assert_uint_gt(n_left, N_TOKEN / 2);
    ck_assert_int_eq(setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0}, {0}}, NULL), 0);
    attn_bpe_release(&work);
    attn_merges_release(&merges);
}
END_TEST

ATTN_SUITE("bpe", a_merge_may_make_a_pair_of_lower_rank,
           merges_the_leftmost_pair_of_the_lowest_rank, many_merges_can_be_canceled)

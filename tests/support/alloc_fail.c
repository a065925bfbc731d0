/* alloc_fail.c - see alloc_fail.h. Defines the question that lib/ground/base/memory.c asks. */
#include "tests/support/alloc_fail.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

bool attn_test_allocation_fails(void);

static atomic_long count;
static atomic_long first_failing = LONG_MAX;
static atomic_long last_failing = LONG_MAX;

static void fail_between(long first, long last)
{
    count = 0;
    first_failing = first;
    last_failing = last;
}

void attn_alloc_fail_at(long n)
{
    fail_between(n, n);
}

void attn_alloc_fail_from(long n)
{
    fail_between(n, LONG_MAX);
}

void attn_alloc_fail_off(void)
{
    fail_between(LONG_MAX, LONG_MAX);
}

long attn_alloc_count(void)
{
    return count;
}

bool attn_test_allocation_fails(void)
{
    long n = atomic_fetch_add(&count, 1);

    return n >= first_failing && n <= last_failing;
}

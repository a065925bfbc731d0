/*
 * alloc_fail.h - makes the library's allocations fail on demand.
 *
 *     for (long n = 0;; n++) {
 *         attn_alloc_fail_at(n);
 *         status = attn_thing_create(&thing, &err);
 *         attn_alloc_fail_off();
 *         if (status == ATTN_OK)
 *             break; // every allocation has failed once
 *         ck_assert_int_eq(status, ATTN_NO_MEMORY);
 *     }
 *
 * Allocations are counted from 0 since the last call of _at, _from or _off.
 */
#pragma once

void attn_alloc_fail_at(long n);   /* allocation N fails, once */
void attn_alloc_fail_from(long n); /* allocation N and all that follow fail */
void attn_alloc_fail_off(void);

/* How many allocations were asked for. */
long attn_alloc_count(void);

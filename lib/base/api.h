/* api.h - ATTN_API marks functions of public headers: the shared library exports only these, as
 * everything else is compiled with hidden visibility. */
#ifndef ATTN_BASE_API_H
#define ATTN_BASE_API_H

#ifdef __cplusplus
#define ATTN_API extern "C" __attribute__((visibility("default")))
#else
#define ATTN_API __attribute__((visibility("default")))
#endif

/* Lets the compiler check the arguments of functions that take a printf format. */
#define ATTN_PRINTF(index, first) __attribute__((format(printf, index, first)))

/* Given as the argument of an X-macro, sums to the number of its entries. */
#define ATTN_COUNT(...) +1 /* NOLINT(bugprone-macro-parentheses) */

#endif

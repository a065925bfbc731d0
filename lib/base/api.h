/* api.h - ATTN_API marks functions of public headers: the shared library exports no others, since
 * all else is compiled with hidden visibility. */
#ifndef ATTN_BASE_API_H
#define ATTN_BASE_API_H

#ifdef __cplusplus
#define ATTN_API extern "C" __attribute__((visibility("default")))
#else
#define ATTN_API __attribute__((visibility("default")))
#endif

/* Lets the compiler check the arguments of functions that take a printf format. */
#define ATTN_PRINTF(index, first) __attribute__((format(printf, index, first)))

/* As the argument of an X-macro in an expression: how many entries it has. */
#define ATTN_COUNT(...) +1 /* NOLINT(bugprone-macro-parentheses) */

#endif

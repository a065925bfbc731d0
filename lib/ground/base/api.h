/* api.h - ATTN_API marks functions of public headers: the shared library exports only these, as
 * everything else is compiled with hidden visibility. */
#ifndef ATTN_BASE_API_H
#define ATTN_BASE_API_H

#if defined _WIN32
#define ATTN_EXPORTED __attribute__((dllexport))
#else
#define ATTN_EXPORTED __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define ATTN_API extern "C" ATTN_EXPORTED
#else
#define ATTN_API ATTN_EXPORTED
#endif

/* Lets the compiler check the arguments of functions that take a printf format. */
#define ATTN_PRINTF(index, first) __attribute__((format(printf, index, first)))

/* The defaults of struct NAME as a value, to initialize variables in functions. Programs in other
 * languages call NAME_init, which zeroes the fields that this library does not know. */
#define ATTN_DEFAULT_OF(name) (*name##_init(&(struct name){0}, sizeof(struct name)))

/* Given as the argument of an X-macro, sums to the number of its entries. */
#define ATTN_COUNT(...) +1 /* NOLINT(bugprone-macro-parentheses) */

#endif

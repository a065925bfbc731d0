/*
 * command.h - runs the attn-cli of the same build folder as a user would, and keeps what came of
 * it.
 *
 *     struct attn_ran ran = attn_command((const char *[]){"run", "-m", "m", "hello", NULL});
 *     ck_assert_int_eq(ran.exit, 3);
 *     attn_ran_release(&ran);
 *
 * The command has the working directory of the test and, unless more is given, an environment with
 * nothing in it but the language.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct attn_ran {
    int exit;            /* or 128 + the signal that ended it */
    char *out, *err;     /* standard output and error, terminated; owned */
    size_t n_out, n_err; /* bytes */
    double seconds;      /* of the processor: other processes play no part */
    long resident;       /* most memory that was resident, KiB */
};

/* ARGS follow the program's name and end with NULL. Fails the current test when it cannot be
 * run. */
struct attn_ran attn_command(const char *const *args);
struct attn_ran attn_command_in(const char *const *environment, const char *const *args);
void attn_ran_release(struct attn_ran *ran);

/* Fails the current test unless TEXT holds what a terminal shows and line ends, and nothing else:
 * no control, bidi or zero-width character, nothing that is not UTF-8. WHAT names it. */
void attn_assert_printable(const char *what, const char *text, size_t size);

/* Fails the current test unless the command ended with CODE, wrote nothing on standard output and
 * one printable line "attn-cli: error: ...", with at most one "hint: ..." after it. */
void attn_assert_failed(const char *what, const struct attn_ran *ran, int code);

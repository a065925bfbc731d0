/*
 * test_cli_memory.c - a run's memory is what the manual says (MEMORY), at 8,192 tokens, whatever
 * is written: a matrix of 256 MiB, all vectors, predictions.
 */
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sizes of the model that is made here. */
enum { T = 8192, D = 128, H = 4, E = 32, F = 512, L = 2 };

static void make_model(void)
{
    struct attn_ran ran = attn_command((const char *const[]){
        "init",   "long",           "--vocab-from", "a b c d e f g h", "--set",  "d_model=128",
        "--set",  "n_head=4",       "--set",        "d_mlp=512",       "--set",  "n_layer=2",
        "--set",  "norm=layernorm", "--set",        "residual=true",   "--set",  "out_proj=true",
        "--set",  "output=tied",    "--draw",       "embed=randn",     "--draw", "qkv=linear",
        "--draw", "W_O=linear",     "--draw",       "mlp=linear",      NULL});

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

/* Sanitizers take memory of their own. */
enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    IS_SANITIZED = 1
#else
    IS_SANITIZED = 0
#endif
};

/* T words in the file `text`. */
static void make_text(void)
{
    char *text = malloc((size_t)2 * T);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < T; i++) {
        text[2 * i] = (char)('a' + i % 8);
        text[2 * i + 1] = ' ';
    }
    attn_folder_write("text", text, (size_t)2 * T);
    free(text);
}

/* The manual's formula in KiB, N_CACHED layers of keys and values. */
static long bound(long n_cached)
{
    const long rows = 3L * D + (F > 2 * H * 2 * E ? F : 2 * H * 2 * E) + n_cached * H * 2 * E;
    const long weights = 2048; /* those of the model take 1.6 MiB */

    return (64 + 50) * 1024L + 4L * T / 1024 * rows + weights;
}

static void assert_bounded(const char *const *args, long n_cached)
{
    struct attn_ran ran = attn_command(args);

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_msg(IS_SANITIZED || ran.resident < bound(n_cached),
                  "%s: %ld KiB resident, expected less than %ld", args[6], ran.resident,
                  bound(n_cached));
    attn_ran_release(&ran);
}

START_TEST(a_long_run_takes_what_the_manual_says)
{
    attn_folder_enter();
    make_model();
    make_text();
    assert_bounded((const char *const[]){"run", "-m", "long", "-f", "text", "-q", "--sites",
                                         "pattern", "--heads", "1.3", "--npz", "/dev/null", NULL},
                   1);
    if (attn_one_of(2) == 1)
        assert_bounded((const char *const[]){"run", "-m", "long", "-f", "text", "-q", "--sites",
                                             "resid_*,q,k,v,z,mlp_*", "--npz", "/dev/null", NULL},
                       1);
    assert_bounded(
        (const char *const[]){"run", "-m", "long", "-f", "text", "-q", "--next", "a b", NULL}, L);
    ck_assert_int_eq(remove("text"), 0);
    ck_assert_int_eq(remove("long/config.json"), 0);
    ck_assert_int_eq(remove("long/vocab.json"), 0);
    ck_assert_int_eq(remove("long/model.safetensors"), 0);
    ck_assert_int_eq(remove("long"), 0);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("cli_memory", a_long_run_takes_what_the_manual_says)

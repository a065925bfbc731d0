/*
 * test_cli_memory.c - a run's memory is what the manual says (MEMORY), at 8,192 tokens, whatever
 * is written: a matrix of 256 MiB, all vectors, predictions. Windows of a picture need no matrix.
 */
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A picture of 64 x 64 patches as an array of zeros in the file `p.npy`. */
static void make_picture(void)
{
    enum { N_HEADER = 128 };
    static char bytes[N_HEADER + 3 * 256 * 256 * sizeof(float)];
    static const char start[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': "
                                "False, 'shape': (3, 256, 256)}";

    memset(bytes, ' ', N_HEADER);
    memcpy(bytes, start, sizeof start - 1);
    bytes[N_HEADER - 1] = '\n';
    attn_folder_write("p.npy", bytes, sizeof bytes);
}

/* 4,096 patches: a mask of all pairs would take 16 MiB, the patterns of a layer 128 MiB. */
START_TEST(windows_of_a_picture_take_no_matrix)
{
    static const char *const runs[][13] = {
        {"run", "-q", "-m", "qwen2_5_vl", "--config", "c", "--image", "p.npy", "--sentence",
         "What?", "--top", "1"},
        {"run", "-q", "-m", "qwen2_5_vl", "--config", "c", "--image", "p.npy", "--sentence",
         "What?", "--sites=tower:pattern", "--heads=2.1", "--npz=/dev/null"}};
    char root[2048], command[4096];

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
    make_picture();
    snprintf(
        command, sizeof command,
        "tar -xf '%s/tests/fixtures/vision.tar' qwen2_5_vl && sed 's/\"max_position_embeddings\""
        ": 512/\"max_position_embeddings\": 4096/' qwen2_5_vl/config.json > c",
        root);
    ck_assert_int_eq(system(command), 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const char *args[14] = {NULL};
        struct attn_ran ran;

        memcpy(args, runs[i], sizeof runs[i]);
        ran = attn_command(args);
        ck_assert_msg(ran.exit == 0, "%s", ran.err);
        ck_assert_msg(IS_SANITIZED || ran.resident < 24 * 1024, "%s: %ld KiB", args[10],
                      ran.resident);
        attn_ran_release(&ran);
    }
    ck_assert_int_eq(system("rm -r qwen2_5_vl"), 0);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("cli_memory", a_long_run_takes_what_the_manual_says, windows_of_a_picture_take_no_matrix)

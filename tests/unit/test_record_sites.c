/*
 * test_record_sites.c - `run --items --npz` of every site of models of every kind: the numbers of
 * an item are those of a run of its input alone, at its position, or all of them if the site is
 * one vector of the input.
 */
#include "attn.h"
#include "extra.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ITEM = 2, MOST_LAYERS = 4, PATH_SIZE = 4200 };

static const struct kind {
    const char *model; /* a directory of tests/fixtures */
    bool is_of_picture;
    size_t n_token[N_ITEM]; /* positions of each input */
    size_t n_joined;        /* its sites that are one array over all items */
} kinds[] = {{"gpt2-relu", false, {5, 3}, 14},
             {"sentences", false, {5, 3}, 15},
             {"family-mpnet-vectors", false, {5, 3}, 15},
             {"family-siglip", false, {5, 3}, 14},
             {"family-siglip", true, {9, 9}, 18},
             {"family-deit", true, {11, 11}, 15},
             {"classifier", false, {5, 3}, 16},
             {"attn-grouped", false, {5, 3}, 9},
             {"family-deberta-v3", false, {5, 3}, 16},
             {"family-falcon-h1", false, {5, 3}, 25},
             {"family-qwen3-next", false, {5, 3}, 27},
             {"decoder-mixtral", false, {5, 3}, 17}};

static const char *const ids[N_ITEM] = {"2,5,7,9,3", "4,1,6"};

static void run(const char *const *args)
{
    struct attn_ran ran = attn_command(args);

    ck_assert_msg(ran.exit == 0, "%s: %s", args[3], ran.err);
    attn_ran_release(&ran);
}

/* Reads SITE of LAYER of the run of input K alone. Returns false if it has none. */
static bool read_single(size_t k, enum attn_site site, int layer, struct attn_npy *one)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], path[2 * sizeof name];

    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "%zu.npz/%s.npy", k, name);
    return (layer == 0 || strncmp(name, "blocks.", 7) == 0) && attn_npy_read(path, one);
}

/* Compares the numbers of SITE in `all.npz` with those of the single runs at position AT. Returns
 * false if each item has a member. */
static bool compare(const struct kind *kind, enum attn_site site, size_t at)
{
    char path[64];
    struct attn_npy all, one;
    size_t done = 0;

    snprintf(path, sizeof path, "all.npz/%s.npy", attn_site_name(site));
    if (!attn_npy_read(path, &all))
        return false;
    ck_assert_uint_eq(all.shape[0], N_ITEM);
    for (size_t i = 0; i < N_ITEM * MOST_LAYERS; i++) {
        const size_t k = i / MOST_LAYERS;
        size_t width, first;

        if (!read_single(k, site, (int)(i % MOST_LAYERS), &one))
            continue;
        width = one.rank == 1 ? one.n : one.n / one.shape[0];
        first = one.n == width ? 0 : (at + one.shape[0] - kind->n_token[k]) * width;
        ck_assert_uint_le(done + width, all.n);
        ck_assert_msg(
            memcmp(all.values + done, one.values + first, width * sizeof *all.values) == 0,
            "%s of %s, layer %zu, item %zu", attn_site_name(site), kind->model, i % MOST_LAYERS, k);
        done += width;
        attn_npy_release(&one);
    }
    ck_assert_msg(done == all.n, "%s of %s: %zu of %zu numbers", attn_site_name(site), kind->model,
                  done, all.n);
    attn_npy_release(&all);
    return true;
}

static void check(const struct kind *kind, const char *fixtures)
{
    char model[PATH_SIZE], picture[PATH_SIZE + 16], items[3 * PATH_SIZE] = "";
    const char *option = kind->is_of_picture ? "--image" : "--ids";
    size_t n_joined = 0;

    snprintf(model, sizeof model, "%s/%s", fixtures, kind->model);
    snprintf(picture, sizeof picture, "%s/pixels_1.npy", model);
    for (size_t k = 0; k < N_ITEM; k++) {
        const char *input = kind->is_of_picture ? picture : ids[k], *file = k ? "1.npz" : "0.npz";

        run((const char *[]){"run", "-q", "-m", model, option, input, "--sites", "*", "--npz", file,
                             NULL});
        snprintf(items + strlen(items), sizeof items - strlen(items),
                 kind->is_of_picture ? "{\"image\":\"%s\"}\n" : "{\"ids\":[%s]}\n", input);
    }
    attn_folder_write("items.jsonl", items, strlen(items));
    for (int site = 0; site < ATTN_N_SITE; site++) {
        struct attn_npy one;
        int layer = 0;

        while (layer < MOST_LAYERS && !read_single(0, site, layer, &one))
            layer++;
        if (layer == MOST_LAYERS)
            continue;
        attn_npy_release(&one);
        if (site == ATTN_SITE_MIXING || site == ATTN_SITE_MIXING_BAND)
            continue; /* they have columns for keys and taps */
        run((const char *[]){"run", "-q", "-m", model, "--items", "items.jsonl", "--at", "2",
                             "--sites", attn_site_name(site), "--npz", "all.npz", NULL});
        n_joined += compare(kind, site, 2);
    }
    ck_assert_msg(n_joined == kind->n_joined, "%s: %zu sites", kind->model, n_joined);
}

START_TEST(records_have_the_numbers_of_single_runs)
{
    char *fixtures = realpath("tests/fixtures", NULL);

    attn_folder_enter();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check(&kinds[i], fixtures);
    for (const char *const *file =
             (const char *const[]){"items.jsonl", "0.npz", "1.npz", "all.npz", NULL};
         *file; file++)
        remove(*file);
    attn_folder_leave();
    free(fixtures);
}
END_TEST

ATTN_SUITE("records of sites", records_have_the_numbers_of_single_runs)

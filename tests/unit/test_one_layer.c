/*
 * test_one_layer.c - lib/examples/one_layer.c, which a student reads first, computes what the
 * library computes with a model of the same x and matrices.
 */
#include "tests/support/folder.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As in the example. */
enum { T = 6, D = 3, H = 2, E = 2 };

/* What the example prints, with 6 digits after the point: x and the matrices are exact, the rest is
 * rounded by up to 0.5e-6. */
struct layer {
    float x[T][D], W_Q[H][D][E], W_K[H][D][E], W_V[H][D][E];
    float q[H][T][E], k[H][T][E], v[H][T][E], pattern[H][T][T], z[H][T][E];
};

static const double tolerance = 1e-6;

/* Reads ROWS [n_row, n_column] after the line "NAME [n_row, n_column]". A row may begin with a
 * word. */
static void read_rows(FILE *text, const char *name, int n_row, int n_column, float *rows)
{
    char expected[64], line[256];

    snprintf(expected, sizeof expected, "%s [%d, %d]\n", name, n_row, n_column);
    while (fgets(line, sizeof line, text) && strcmp(line, expected) != 0) /* blank, or a heading */
        ck_assert_msg(line[0] == '\n' || line[0] == '-', "'%s' before '%s'", line, name);
    for (int i = 0; i < n_row; i++) {
        char *cell;

        ck_assert_msg(fgets(line, sizeof line, text) != NULL, "%s ends at row %d", name, i);
        cell = line + strcspn(line, "-0123456789");
        for (int j = 0; j < n_column; j++)
            rows[i * n_column + j] = strtof(cell, &cell);
        ck_assert_msg(strcmp(cell, "\n") == 0, "%s, row %d: '%s'", name, i, line);
    }
}

/* Runs BUILD/lib/examples/one_layer; this program is BUILD/tests/unit/test_one_layer. */
static void read_layer(struct layer *layer)
{
    char path[4096], command[4200];
    ssize_t size = readlink("/proc/self/exe", path, 4000);
    FILE *text;

    ck_assert_int_gt(size, 0);
    path[size] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    snprintf(command, sizeof command, "'%s/lib/examples/one_layer'", path); /* it may hold spaces */
    ck_assert_ptr_nonnull(text = popen(command, "r"));
    read_rows(text, "x", T, D, layer->x[0]);
    for (int h = 0; h < H; h++) {
        read_rows(text, "W_Q", D, E, layer->W_Q[h][0]);
        read_rows(text, "q = x W_Q", T, E, layer->q[h][0]);
        read_rows(text, "W_K", D, E, layer->W_K[h][0]);
        read_rows(text, "k = x W_K", T, E, layer->k[h][0]);
        read_rows(text, "W_V", D, E, layer->W_V[h][0]);
        read_rows(text, "v = x W_V", T, E, layer->v[h][0]);
        read_rows(text, "pattern", T, T, layer->pattern[h][0]);
        read_rows(text, "z = pattern v", T, E, layer->z[h][0]);
    }
    ck_assert_int_eq(pclose(text), 0);
}

/* Writes an attention-only model of one layer, whose id t has the embedding x[t]. */
static void write_model(const struct layer *layer)
{
    static const char config[] = "{\"model_type\": \"attn\", \"d_model\": 3, \"n_head\": 2, "
                                 "\"d_head\": 2, \"causal\": true, \"n_vocab\": 6}";
    const size_t n_x = sizeof layer->x, n_W = sizeof layer->W_Q;
    unsigned char file[2048] = {0};
    int size = snprintf(
        (char *)file + 8, sizeof file - 8,
        "{\"embed.W_E\": {\"dtype\": \"F32\", \"shape\": [6, 3], \"data_offsets\": [0, %zu]},"
        "\"blocks.0.attn.W_Q\": {\"dtype\": \"F32\", \"shape\": [2, 3, 2], \"data_offsets\": [%zu, "
        "%zu]},"
        "\"blocks.0.attn.W_K\": {\"dtype\": \"F32\", \"shape\": [2, 3, 2], \"data_offsets\": [%zu, "
        "%zu]},"
        "\"blocks.0.attn.W_V\": {\"dtype\": \"F32\", \"shape\": [2, 3, 2], \"data_offsets\": [%zu, "
        "%zu]}}",
        n_x, n_x, n_x + n_W, n_x + n_W, n_x + 2 * n_W, n_x + 2 * n_W, n_x + 3 * n_W);

    file[0] = (unsigned char)(size & 0xff), file[1] = (unsigned char)(size >> 8);
    memcpy(file + 8 + size, layer, n_x + 3 * n_W); /* x and the matrices, which come first */
    attn_folder_write("config.json", config, strlen(config));
    attn_folder_write("model.safetensors", file, 8 + (size_t)size + n_x + 3 * n_W);
}

/* Compares ROWS [T, n] of head h with what the library recorded as SITE, [T, H, n] or [H, T, n]. */
static void assert_near(const struct attn_recording *recording, enum attn_site site, int h,
                        size_t n, const float *rows)
{
    const struct attn_recorded *recorded = attn_recording_find(recording, site, 0);
    const size_t head = (size_t)h;

    ck_assert_uint_eq(recorded->n, T * H * n);
    for (size_t t = 0; t < T; t++)
        for (size_t i = 0; i < n; i++) {
            const size_t row = site == ATTN_SITE_PATTERN ? head * T + t : t * H + head;
            const double expected = (double)recorded->data[row * n + i];
            const double seen = (double)rows[t * n + i];

            ck_assert_msg(fabs(seen - expected) <= tolerance,
                          "%s, head %d, token %zu, %zu: %.9f, the library has %.9f",
                          attn_site_name(site), h, t, i, seen, expected);
        }
}

START_TEST(computes_what_the_library_computes)
{
    static const int32_t ids[T] = {0, 1, 2, 3, 4, 5};
    struct layer layer;
    struct attn_source source = {.directory = "."};
    struct attn_recording recording;
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    read_layer(&layer);
    attn_folder_enter();
    write_model(&layer);
    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    attn_recording_init(&recording, attn_model_config(model), T);
    ck_assert_msg(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, T,
                                     &err) == ATTN_OK,
                  "%s", err.message);
    for (int h = 0; h < H; h++) {
        assert_near(&recording, ATTN_SITE_Q, h, E, layer.q[h][0]);
        assert_near(&recording, ATTN_SITE_K, h, E, layer.k[h][0]);
        assert_near(&recording, ATTN_SITE_V, h, E, layer.v[h][0]);
        assert_near(&recording, ATTN_SITE_PATTERN, h, T, layer.pattern[h][0]);
        assert_near(&recording, ATTN_SITE_Z, h, E, layer.z[h][0]);
    }
    attn_recording_release(&recording);
    attn_model_free(model);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("one_layer", computes_what_the_library_computes)

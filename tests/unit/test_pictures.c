/*
 * test_pictures.c - pictures in files, resized, and as the pixels of a model, with the bytes that
 * Pillow 12 and transformers 5.23 give: tests/fixtures/pictures.tar.
 */
#include "attn.h"
#include "base/memory.h"
#include "image/image_file_internal.h"
#include "run/host_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/npy.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "towers/before_pictures.h"
#include "towers/pixels.h"
#include "towers/prompt/picture_sizes.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 512 };

static char folder[PATH_SIZE - 64];

/* Unpacks the fixtures NAME.tar into a folder of their own. */
static void unpack(const char *name)
{
    const char *base = getenv("TMPDIR");
    char command[2 * PATH_SIZE];

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
        ck_assert_msg(mkdtemp(folder) != NULL, "%s: %s", folder, strerror(errno));
    }
    snprintf(command, sizeof command, "tar -xf tests/fixtures/%s.tar -C '%s'", name, folder);
    ck_assert_int_eq(system(command), 0);
}

static void remove_all(void)
{
    char command[2 * PATH_SIZE];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    folder[0] = '\0';
}

static const char *path_of(const char *name)
{
    static char path[PATH_SIZE];

    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", folder, name), PATH_SIZE);
    return path;
}

static FILE *open_member(const char *name)
{
    FILE *file = fopen(path_of(name), "r");

    ck_assert_ptr_nonnull(file);
    return file;
}

static uint64_t hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t value = 0xcbf29ce484222325;

    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 0x100000001b3;
    return value;
}

/* As tests/tools/make_pictures.py has it. */
static struct attn_image make_pattern(size_t height, size_t width)
{
    struct attn_error err = {0};
    struct attn_image image = {height, width, attn_alloc(height * width, 3, &err),
                               NULL,   false, false};

    ck_assert_ptr_nonnull(image.rgb);
    for (size_t i = 0; i < height * width * 3; i++) {
        const size_t k = i % 3, x = i / 3 % width, y = i / 3 / width;
        const size_t value =
            x * 7 + y * 3 + k * 50 + (x * x * 31 + y * y * 17 + x * y * (k + 1)) / 16;

        image.rgb[i] = (unsigned char)((x / 8 + y / 8) % 3 == 2 ? 255 * ((x + y + k) % 2) : value);
    }
    return image;
}

/* Whether the library that reads NAME is not there; says so. */
static bool is_missing(enum attn_status status, const struct attn_error *err, const char *name)
{
    if (status != ATTN_IO || !strstr(err->message, "not installed"))
        return false;
    attn_skip_test(strstr(name, ".png") ? "there is no libpng (Debian package libpng16-16)"
                   : strstr(name, ".webp")
                       ? "there is no libwebp (Debian package libwebp7)"
                       : "there is no TurboJPEG (Debian package libturbojpeg0)");
    return true;
}

/* Reads the pictures whose names end in ENDING. */
static void read_all(const char *ending)
{
    char line[LINE_SIZE], name[64];
    size_t height, width, n_read = 0;
    uint64_t expected[2]; /* without alpha, and laid on white */
    bool is_skipped = false;
    FILE *file;

    unpack("pictures");
    file = open_member("pictures.txt");
    while (!is_skipped && fgets(line, sizeof line, file)) {
        ck_assert_int_eq(sscanf(line, "%63s %zu %zu %" SCNx64 " %" SCNx64, name, &height, &width,
                                &expected[0], &expected[1]),
                         5);
        for (int on_white = 0; strstr(name, ending) && on_white < 2; on_white++) {
            struct attn_image image = {.lays_on_white = on_white};
            struct attn_error err = {0};
            const enum attn_status status = attn_image_read(path_of(name), &image, NULL, &err);

            is_skipped = is_missing(status, &err, name);
            if (is_skipped)
                break;
            ck_assert_msg(status == ATTN_OK, "%s", err.message);
            ck_assert_msg(image.height == height && image.width == width, "%s: %zu x %zu", name,
                          image.width, image.height);
            ck_assert_msg(hash(image.rgb, height * width * 3) == expected[on_white], "%s differs%s",
                          name, on_white ? " on white" : "");
            ck_assert_msg(image.is_transparent || expected[0] == expected[1] ||
                              strstr(name, "gray16"),
                          "%s has alpha", name);
            attn_image_release(&image);
            n_read++;
        }
    }
    ck_assert(is_skipped || n_read > 0);
    fclose(file);
    remove_all();
}

START_TEST(a_png_of_every_kind_has_the_bytes_of_pillow)
{
    read_all(".png");
}
END_TEST

START_TEST(a_jpeg_of_every_kind_has_the_bytes_of_pillow)
{
    read_all(".jpg");
}
END_TEST

START_TEST(a_webp_of_every_kind_has_the_bytes_of_pillow)
{
    read_all(".webp");
}
END_TEST

START_TEST(a_resized_picture_has_the_bytes_of_pillow)
{
    size_t height, width, new_height, new_width, n = 0;
    uint64_t expected;
    unsigned filter;
    FILE *file;

    unpack("pictures");
    file = open_member("resize.txt");
    while (fscanf(file, "%zu %zu %zu %zu %u %" SCNx64, &height, &width, &new_height, &new_width,
                  &filter, &expected) == 6) {
        struct attn_image image = make_pattern(height, width), resized = {0};
        struct attn_error err = {0};

        ck_assert_msg(attn_image_resize(&image, new_height, new_width,
                                        (enum attn_image_filter)filter, &resized, &err) == ATTN_OK,
                      "%s", err.message);
        ck_assert_msg(hash(resized.rgb, new_height * new_width * 3) == expected,
                      "%zu x %zu to %zu x %zu by %u differs", width, height, new_width, new_height,
                      filter);
        attn_image_release(&image);
        attn_image_release(&resized);
        n++;
    }
    ck_assert_uint_gt(n, 100);
    fclose(file);
    remove_all();
}
END_TEST

/* Makes the SIZE bytes at TEXT the file NAME. */
static void write_file(const char *name, const char *text, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, size, file), size);
    fclose(file);
}

/* Makes the SIZE bytes at TEXT the preprocessor_config.json of a model of pictures. */
static void write_config(const char *text, size_t size)
{
    write_file("vit/preprocessor_config.json", text, size);
}

/* A model of pictures whose preprocessor_config.json is TEXT. */
static struct attn_host *open_host(const char *text)
{
    write_config(text, strlen(text));
    return attn_open_host(path_of("vit"), NULL);
}

START_TEST(pixels_are_those_of_transformers)
{
    char line[LINE_SIZE];
    size_t height, width, n = 0;
    FILE *file;

    unpack("pictures");
    unpack("image-encoders");
    file = open_member("steps.txt");
    for (; fgets(line, sizeof line, file); n++) {
        struct attn_pixels expected = {0}, pixels = {0};
        struct attn_error err = {0};
        struct attn_image image;
        struct attn_host *host;
        uint64_t sum;
        int begin = 0;

        ck_assert_int_eq(sscanf(line, "%zu %zu %zu %zu %" SCNx64 " %n", &height, &width,
                                &expected.height, &expected.width, &sum, &begin),
                         5);
        image = make_pattern(height, width);
        host = open_host(line + begin);
        ck_assert_msg(attn_pixel_maker_make(&host->pictures->maker, image.rgb, height, width,
                                            &pixels, &err) == ATTN_OK,
                      "%s: %s", line, err.message);
        ck_assert_msg(pixels.n_channel == 3 && pixels.height == expected.height &&
                          pixels.width == expected.width,
                      "%s: %zu x %zu", line, pixels.width, pixels.height);
        ck_assert_msg(
            hash(pixels.values, 3 * pixels.height * pixels.width * sizeof *pixels.values) == sum,
            "%s differs", line);
        attn_pixels_release(&pixels);
        attn_image_release(&image);
        attn_host_free(host);
    }
    ck_assert_uint_gt(n, 30);
    fclose(file);
    remove_all();
}
END_TEST

/* Sizes in the functions of transformers 5.23, in which `int(w / (w / h))` may be h - 1. */
START_TEST(sizes_in_prompts_are_those_of_transformers)
{
    enum { SCALE, TILES, ROUND };
    static const struct {
        int step;
        struct attn_picture_limits limits; /* of the first two, the edge alone */
        struct attn_picture_size given, expected;
    } cases[] = {
        {SCALE, {1456, 0, 0}, {86, 23}, {1456, 390}},
        {SCALE, {5000, 0, 0}, {318, 16}, {4096, 206}},
        {SCALE, {48, 0, 0}, {8069, 554}, {48, 4}},
        {SCALE, {1456, 0, 0}, {4574, 22}, {1456, 8}},
        {SCALE, {1536, 0, 0}, {465, 64}, {1536, 212}},
        {SCALE, {47, 0, 0}, {6921, 161}, {47, 2}},
        {SCALE, {1456, 0, 0}, {1065, 5719}, {272, 1456}},
        {SCALE, {2048, 0, 0}, {2, 21}, {196, 2048}},
        {TILES, {24, 0, 0}, {473, 86}, {480, 96}},
        {TILES, {384, 0, 0}, {1, 90}, {384, 384}},
        {TILES, {364, 0, 0}, {3020, 493}, {3276, 728}},
        {TILES, {24, 0, 0}, {55, 4708}, {72, 4728}},
        {TILES, {512, 0, 0}, {226, 916}, {512, 1024}},
        {TILES, {364, 0, 0}, {4434, 37}, {4732, 364}},
        {TILES, {24, 0, 0}, {3355, 1114}, {3360, 1128}},
        {TILES, {384, 0, 0}, {1392, 58}, {1536, 384}},
        {ROUND, {32, 1048576, 16777216}, {1, 163}, {96, 13088}},
        {ROUND, {28, 1, 100}, {44, 1897}, {28, 56}},
        {ROUND, {8, 64, 900}, {106, 2394}, {8, 136}},
        {ROUND, {32, 64, 900}, {1, 21}, {32, 64}},
        {ROUND, {32, 1048576, 16777216}, {3, 83}, {224, 5408}},
        {ROUND, {32, 64, 800}, {491, 1907}, {32, 32}},
        {ROUND, {28, 1048576, 16777216}, {96, 2041}, {224, 4732}},
        {ROUND, {32, 64, 900}, {10, 19}, {32, 32}},
        {ROUND, {8, 64, 900}, {12, 20}, {16, 16}}, /* half to even */
        {SCALE, {48, 0, 0}, {1, 1000}, {1, 48}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_picture_limits *limits = &cases[i].limits;
        const struct attn_picture_size given = cases[i].given;
        const struct attn_picture_size found =
            cases[i].step == SCALE   ? attn_picture_scale(given, limits->factor)
            : cases[i].step == TILES ? attn_picture_fill_tiles(given, limits->factor)
                                     : attn_picture_round(given, limits);

        ck_assert_msg(found.height == cases[i].expected.height &&
                          found.width == cases[i].expected.width,
                      "%zu: %zu x %zu", i, found.height, found.width);
    }
}
END_TEST

static const struct {
    const char *model, *picture;
    int number; /* of the prompt, whose pixels are expected */
    bool lacks_tiles;
    size_t tile_rows, tile_cols;
} in_prompts[] = {
    {"smolvlm", "picture_0.png", 0, false, 2, 2},
    {"smolvlm", "picture_1.jpg", 1, false, 2, 1},
    {"smolvlm", "picture_2.png", 2, true, 0, 0},
    {"gemma3", "picture_0.png", 0, false, 0, 0},
    {"gemma3", "picture_1.png", 1, false, 0, 0},
    {"paligemma", "picture_0.png", 0, false, 0, 0},
    {"paligemma", "picture_1.png", 1, false, 0, 0},
    {"qwen2_5_vl", "picture_0.png", 0, false, 0, 0},
    {"qwen2_5_vl", "picture_1.png", 1, false, 0, 0},
    {"qwen2_5_vl", "picture_2.png", 2, false, 0, 0},
    {"qwen2_vl", "picture_0.png", 0, false, 0, 0},
};

START_TEST(pixels_in_prompts_are_those_of_transformers)
{
    unpack("vision");
    for (size_t i = 0; i < sizeof in_prompts / sizeof *in_prompts; i++) {
        struct attn_host *host = attn_open_host(path_of(in_prompts[i].model), NULL);
        struct attn_pixels pixels = {0};
        struct attn_error err = {0};
        enum attn_status status;
        char name[PATH_SIZE];
        float *expected;
        size_t n;

        snprintf(name, sizeof name, "%s/%s", in_prompts[i].model, in_prompts[i].picture);
        host->pictures->maker.lacks_tiles = in_prompts[i].lacks_tiles;
        status = attn_pixel_maker_read(&host->pictures->maker, path_of(name),
                                       (struct attn_notes){0}, &pixels, &(bool){false}, &err);
        if (!is_missing(status, &err, name)) {
            ck_assert_msg(status == ATTN_OK, "%s: %s", name, err.message);
            snprintf(name, sizeof name, "%s/expected/%d.npz/pixel_values.npy", in_prompts[i].model,
                     in_prompts[i].number);
            expected = attn_npy_load_floats(path_of(name), &n);
            ck_assert_uint_eq(n, pixels.n_picture * 3 * pixels.height * pixels.width);
            ck_assert_msg(memcmp(pixels.values, expected, n * sizeof *expected) == 0, "%s", name);
            ck_assert_uint_eq(pixels.tile_rows, in_prompts[i].tile_rows);
            ck_assert_uint_eq(pixels.tile_cols, in_prompts[i].tile_cols);
            free(expected);
        }
        attn_pixels_release(&pixels);
        attn_host_free(host);
    }
    remove_all();
}
END_TEST

/* The settings are those of the second file, if it has the object; null is as good as missing.
 * Texts can be read whatever they are. */
START_TEST(settings_of_prompts_are_refused)
{
    static const struct {
        const char *model, *file, *text, *picture, *message;
        enum attn_status status;
    } cases[] = {
        {"gemma3", "processor_config.json", "{\"image_processor\": null}", "picture_0.png", NULL,
         ATTN_OK},
        {"gemma3", "processor_config.json", "{\"image_processor\": {\"size\": 25}}",
         "picture_0.png", "'size' in", ATTN_UNSUPPORTED},
        {"gemma3", "preprocessor_config.json", "{\"size\": 24, \"do_resize\": false}",
         "picture_0.png", "expected 24 x 24", ATTN_INVALID},
        {"gemma3", "preprocessor_config.json", "{\"do_pan_and_scan\": true}", "picture_0.png",
         "do_pan_and_scan", ATTN_UNSUPPORTED},
        {"gemma3", "preprocessor_config.json",
         "{\"image_processor_type\": \"PixtralImageProcessor\"}", "picture_0.png",
         "is 'PixtralImageProcessor', expected Gemma3ImageProcessor", ATTN_UNSUPPORTED},
        {"smolvlm", "preprocessor_config.json",
         "{\"image_processor_type\": \"SmolVLMImageProcessorFast\", \"max_image_size\": "
         "{\"longest_edge\": 48}}",
         "picture_0.png", "'max_image_size' in", ATTN_UNSUPPORTED},
        {"smolvlm", "preprocessor_config.json", "{\"max_image_size\": {\"height\": 24}}",
         "picture_0.png", "expected longest_edge", ATTN_UNSUPPORTED},
        {"smolvlm", "preprocessor_config.json", "{\"max_image_size\": {\"longest_edge\": 24}}",
         "wrong.npy", "expected 24 x 24", ATTN_INVALID},
        {"qwen2_vl", "preprocessor_config.json", "{\"patch_size\": 4, \"merge_size\": null}",
         "thin.npy", "expected a longer side of at most 200 times the shorter one", ATTN_INVALID},
        {"qwen2_vl", "preprocessor_config.json", "{\"patch_size\": 4, \"merge_size\": 1}",
         "picture_0.png", "'merge_size' in", ATTN_UNSUPPORTED},
        {"qwen2_vl", "preprocessor_config.json", "{\"patch_size\": 4, \"do_resize\": false}",
         "wrong.npy", "expected multiples of 8", ATTN_INVALID},
    };

    unpack("vision");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_pixels pixels = {0};
        struct attn_error err = {0};
        struct attn_host *host;
        enum attn_status status;
        char name[PATH_SIZE];

        snprintf(name, sizeof name, "%s/%s", cases[i].model, cases[i].file);
        write_file(name, cases[i].text, strlen(cases[i].text));
        host = attn_open_host(path_of(cases[i].model), NULL);
        snprintf(name, sizeof name, "%s/%s", cases[i].model, cases[i].picture);
        status = attn_pixel_maker_read(&host->pictures->maker, path_of(name),
                                       (struct attn_notes){0}, &pixels, &(bool){false}, &err);
        if (!is_missing(status, &err, name))
            ck_assert_msg(status == cases[i].status &&
                              (!cases[i].message || strstr(err.message, cases[i].message)) &&
                              (status != ATTN_UNSUPPORTED || err.stage == ATTN_STAGE_MODEL),
                          "%zu: %s", i, err.message);
        attn_pixels_release(&pixels);
        attn_host_free(host);
        snprintf(name, sizeof name, "%s/processor_config.json", cases[i].model);
        remove(path_of(name));
    }
    remove_all();
}
END_TEST

/* Reads the SIZE bytes at DATA as a picture. */
static enum attn_status try_bytes(const void *data, size_t size, struct attn_error *err)
{
    struct attn_file file = {.data = data, .size = size, .storage = ATTN_FILE_BORROWED};
    struct attn_image image = {0};
    enum attn_status status;

    *err = (struct attn_error){0};
    file.path = attn_strndup("damaged", 7, err);
    ck_assert_ptr_nonnull(file.path);
    status = attn_image_read_file("damaged", &file, &image, NULL, err);
    ck_assert_msg((status == ATTN_OK) == (image.rgb != NULL), "%d", (int)status);
    attn_image_release(&image);
    attn_file_release(&file);
    return status;
}

/* Cuts the picture NAME at every byte, and changes every seventh bit of it.
 * False: the library that reads it is not there. */
static bool damage(const char *name)
{
    unsigned char bytes[4096];
    struct attn_error err = {0};
    enum attn_status status;
    size_t size;
    FILE *file;

    unpack("pictures");
    /* Loaded once: to load a library takes longer than what it reads here. */
    (void)dlopen("libpng16.so.16", RTLD_LAZY);
    (void)dlopen("libturbojpeg.so.0", RTLD_LAZY);
    (void)dlopen("libwebp.so.7", RTLD_LAZY);
    file = open_member(name);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert(size > 50 && size < sizeof bytes);
    status = try_bytes(bytes, size, &err);
    if (is_missing(status, &err, name))
        size = 0;
    ck_assert_msg(size == 0 || status == ATTN_OK, "%s", err.message);
    for (size_t n = 8; n + 2 < size; n++) {
        ck_assert_msg(try_bytes(bytes, n, &err) == ATTN_FORMAT, "%zu bytes of %s", n, name);
        ck_assert_ptr_null(strchr(err.message, '\n'));
    }
    for (size_t bit = 64; bit < 8 * size; bit += attn_one_in(7)) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        status = try_bytes(bytes, size, &err);
        ck_assert_msg(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED,
                      "bit %zu of %s: %s", bit, name, err.message);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    remove_all();
    return size > 0;
}

START_TEST(a_damaged_png_is_refused)
{
    if (damage("gray4.png"))
        damage("interlaced.png");
}
END_TEST

START_TEST(a_damaged_jpeg_is_refused)
{
    if (damage("420.jpg") && damage("progressive.jpg"))
        damage("turned6.jpg");
}
END_TEST

START_TEST(a_damaged_webp_is_refused)
{
    if (damage("lossy.webp") && damage("lossless.webp"))
        damage("lossless_alpha.webp");
}
END_TEST

/* A picture of one color, 16383 x 16383, takes gigabytes of memory; and one of many is none. */
START_TEST(a_webp_of_other_kinds_is_refused)
{
    static const unsigned char huge[] = {'R', 'I',  'F',  'F',  20,   0,   0, 0, 'W', 'E',
                                         'B', 'P',  'V',  'P',  '8',  'L', 8, 0, 0,   0,
                                         '/', 0xfe, 0xbf, 0xff, 0x0f, 0,   0, 0};
    static const unsigned char animated[] = {
        'R', 'I', 'F', 'F', 36, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0, 0, 2, 0,
        0,   0,   3,   0,   0,  3, 0, 0, 'A', 'N', 'I', 'M', 6,   0,   0,   0,   0,  0, 0, 0, 0, 0};
    struct attn_error err;
    enum attn_status status = try_bytes(huge, sizeof huge, &err);

    if (is_missing(status, &err, ".webp"))
        return;
    ck_assert_int_eq(status, ATTN_FORMAT);
    ck_assert_msg(strstr(err.message, "16383 x 16383"), "%s", err.message);
    ck_assert_int_eq(try_bytes(animated, sizeof animated, &err), ATTN_UNSUPPORTED);
    ck_assert_msg(strstr(err.message, "animation"), "%s", err.message);
}
END_TEST

/* What the first SIZE bytes say, in memory that ends there. */
static int orientation_of(const unsigned char *bytes, size_t size)
{
    unsigned char *exact = malloc(size + !size);
    int found;

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, size);
    found = attn_image_orientation(exact, size);
    free(exact);
    return found;
}

START_TEST(an_orientation_that_lies_is_none)
{
    static const unsigned char webp[] = /* after a chunk of one byte and a gap */
        "RIFF\0\0\0\0WEBPXMP \1\0\0\0X\0EXIF\x1a\0\0\0"
        "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x08\0\0\0\0\0\0";
    static const unsigned char good[] = /* the tag of 6 begins at byte 40 */
        "\xff\xd8\xff\xe0\0\x06JFIF\xff\xff\xe1\0\x22"
        "Exif\0\0MM\0*\0\0\0\x08\0\x01\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0\xff\xda\0\2";
    static const struct {
        size_t at;
        unsigned char byte;
        int expected;
    } changes[] = {
        {0, 0, 6},     {5, 0x07, 6},  {5, 0, 1},     {14, 0xff, 1}, {14, 0x10, 1}, {14, 1, 1},
        {14, 0x21, 6}, {15, 'e', 1},  {19, 1, 1},    {21, 'I', 1},  {22, 'X', 1},  {24, 0, 1},
        {25, 0x80, 1}, {25, 0xff, 1}, {28, 0x7f, 1}, {28, 9, 1},    {29, 0xff, 6}, {30, 0, 1},
        {32, 0x13, 1}, {34, 4, 1},    {34, 2, 1},    {38, 2, 6},    {38, 0, 1},    {40, 9, 1},
        {40, 0, 1},    {40, 8, 8},    {12, 0xe2, 1},
    };
    const size_t size = sizeof good - 1;
    unsigned char bytes[sizeof good];

    ck_assert_int_eq(orientation_of(good, size), 6);
    ck_assert_int_eq(orientation_of(webp, sizeof webp), 8);
    for (size_t n = 0; n < sizeof webp; n++)
        ck_assert_int_eq(orientation_of(webp, n), 1);
    for (size_t n = 0; n < size; n++)
        ck_assert_int_eq(orientation_of(good, n), n < size - 4 ? 1 : 6);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(bytes, good, sizeof bytes);
        bytes[changes[i].at] = changes[i].byte;
        ck_assert_msg(orientation_of(bytes, size) == changes[i].expected, "byte %zu",
                      changes[i].at);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        memcpy(bytes, good, sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        for (size_t n = 0; n <= size; n++) {
            const int found = orientation_of(bytes, n);

            ck_assert_msg(found >= 1 && found <= 8, "bit %zu: %d", bit, found);
        }
    }
}
END_TEST

START_TEST(a_damaged_preprocessor_config_is_refused)
{
    char text[] =
        "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": {\"height\": 20, "
        "\"width\": 12}, \"crop_size\": 9, \"image_mean\": [0.1, 0.2, 0.3], \"do_pad\": null}";
    const size_t size = sizeof text - 1;
    size_t n_refused = 0, n_tried = 0;

    unpack("image-encoders");
    attn_host_free(open_host(text));
    for (size_t bit = 0; bit < 8 * size; bit += attn_one_in(7)) {
        struct attn_host *host = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        text[bit / 8] ^= (char)(1 << bit % 8);
        write_config(text, size);
        status = attn_host_open(path_of("vit"), NULL, &host, &err);
        ck_assert_msg(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED,
                      "bit %zu: %s", bit, err.message);
        ck_assert(status == ATTN_OK || err.stage == ATTN_STAGE_MODEL);
        text[bit / 8] ^= (char)(1 << bit % 8);
        attn_host_free(host);
        n_refused += status != ATTN_OK;
        n_tried++;
    }
    ck_assert_uint_gt(n_refused,
                      n_tried / 2); /* a key of another name is none, and a digit another */
    for (size_t n = 0; n < size; n += attn_one_in(7)) {
        struct attn_host *host = NULL;
        struct attn_error err = {0};

        write_config(text, n);
        ck_assert(attn_host_open(path_of("vit"), NULL, &host, &err) == ATTN_FORMAT);
    }
    remove_all();
}
END_TEST

/* --- Large pictures --------------------------------------------------------------------------- */

/* Writes a picture of zeros that is an array. */
static void write_zeros(const char *name, size_t height, size_t width)
{
    FILE *file = fopen(path_of(name), "w");
    char header[119] = "";

    ck_assert_ptr_nonnull(file);
    snprintf(header, sizeof header,
             "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu, %zu, 3), }", height, width);
    ck_assert_int_eq(fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0, header), 128);
    ck_assert_int_eq(fflush(file), 0);
    ck_assert_int_eq(ftruncate(fileno(file), (off_t)(128 + height * width * 3)), 0);
    fclose(file);
}

struct reader {
    const struct attn_host *host;
    char path[PATH_SIZE];
    enum attn_status status;
    atomic_bool is_over;
};

static void *read_one(void *user)
{
    struct reader *reader = user;
    struct attn_pixels pixels = {0};
    struct attn_error err = {0};

    reader->status = attn_pixel_maker_read(&reader->host->pictures->maker, reader->path,
                                           (struct attn_notes){0}, &pixels, &(bool){false}, &err);
    attn_pixels_release(&pixels);
    atomic_store(&reader->is_over, true);
    return NULL;
}

/* Reads NAME in a thread while another one has a large picture. Returns whether that was over
 * before the other one gave it back; then it has to be over. */
static bool is_read_beside(struct attn_host *host, const char *name, enum attn_status expected)
{
    struct reader reader = {.host = host};
    struct attn_thread thread;
    bool is_over;

    snprintf(reader.path, sizeof reader.path, "%s", path_of(name));
    atomic_init(&reader.is_over, false);
    attn_monitor_enter(host->pictures->maker.large);
    ck_assert(attn_thread_start(read_one, &reader, &thread));
    for (int i = 0; i < 30 && !atomic_load(&reader.is_over); i++)
        usleep(10000);
    is_over = atomic_load(&reader.is_over);
    attn_monitor_leave(host->pictures->maker.large);
    attn_thread_join(&thread);
    ck_assert_int_eq(reader.status, expected);
    return is_over;
}

START_TEST(threads_read_large_pictures_one_after_another)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    volatile sig_atomic_t cancel = 0;
    struct attn_host *host = NULL;
    struct attn_error err = {0};

    unpack("image-encoders");
    options.cancel = &cancel;
    ck_assert(attn_host_open(path_of("vit"), &options, &host, &err) == ATTN_OK);
    write_zeros("large.npy", 4097, 4096);
    write_zeros("small.npy", 64, 64);
    ck_assert(!is_read_beside(host, "large.npy", ATTN_OK));
    cancel = 1;
    ck_assert(!is_read_beside(host, "large.npy", ATTN_CANCELED));
    cancel = 0;
    for (int i = 0; i < 100 && !is_read_beside(host, "small.npy", ATTN_OK); i++)
        ck_assert_int_lt(i, 99); /* a machine may be busy */
    attn_host_free(host);
    remove_all();
}
END_TEST

/* Opens a model, and prepares a run of the picture NAME. */
static enum attn_status prepare(const char *name, struct attn_error *err)
{
    char image[PATH_SIZE];
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_host *host = NULL;
    struct attn_run *run = NULL;
    enum attn_status status = attn_host_open(path_of("vit"), NULL, &host, err);

    snprintf(image, sizeof image, "%s", path_of(name));
    request.input.image = image;
    request.selection.queries.text = "0,1,[CLS]";
    if (status == ATTN_OK)
        status = attn_run_prepare(host, &request, &run, err);
    attn_run_free(run);
    attn_host_free(host);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    static const char *const names[] = {"rgb.npy", "values.npy", "rgb.png", "cmyk.jpg",
                                        "turned6.jpg"};

    unpack("pictures");
    unpack("image-encoders");
    attn_host_free(open_host("{\"size\": {\"height\": 13, \"width\": 9}, \"crop_size\": 9}"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_error err = {0};
        enum attn_status status;
        long n;

        attn_alloc_fail_off();
        status = prepare(names[i], &err);
        if (is_missing(status, &err, names[i]))
            continue;
        ck_assert_msg(status == ATTN_OK, "%s", err.message);
        n = attn_alloc_count();
        ck_assert_int_gt(n, 50);
        for (long k = 0; k < n; k++) {
            err = (struct attn_error){0};
            attn_alloc_fail_at(k);
            status = prepare(names[i], &err);
            attn_alloc_fail_off();
            ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s, allocation %ld: %s",
                          names[i], k, err.message);
        }
    }
    remove_all();
}
END_TEST

ATTN_SUITE("pictures", a_png_of_every_kind_has_the_bytes_of_pillow,
           a_jpeg_of_every_kind_has_the_bytes_of_pillow,
           a_webp_of_every_kind_has_the_bytes_of_pillow, a_resized_picture_has_the_bytes_of_pillow,
           pixels_are_those_of_transformers, sizes_in_prompts_are_those_of_transformers,
           pixels_in_prompts_are_those_of_transformers, settings_of_prompts_are_refused,
           a_damaged_png_is_refused, a_damaged_jpeg_is_refused, a_damaged_webp_is_refused,
           a_webp_of_other_kinds_is_refused, an_orientation_that_lies_is_none,
           a_damaged_preprocessor_config_is_refused, threads_read_large_pictures_one_after_another,
           every_allocation_may_fail)

/* parts.c - see parts.h. */
#include "tests/support/parts.h"

#include "tests/support/assert.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attn_part attn_part_read(const char *path)
{
    enum { STEP = 1 << 16 };
    struct attn_part part = {0};
    FILE *file = fopen(path, "rb");
    size_t n = STEP;

    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    while (n == STEP) {
        part.bytes = realloc(part.bytes, part.size + STEP);
        ck_assert_ptr_nonnull(part.bytes);
        n = fread(part.bytes + part.size, 1, STEP, file);
        part.size += n;
    }
    ck_assert(!ferror(file));
    fclose(file);
    part.bytes = realloc(part.bytes, part.size + (part.size == 0)); /* for ASan: no byte more */
    ck_assert_ptr_nonnull(part.bytes);
    return part;
}

char *attn_file_text(const char *path)
{
    struct attn_part part = attn_part_read(path);
    char *text = realloc(part.bytes, part.size + 1);

    ck_assert_ptr_nonnull(text);
    text[part.size] = '\0';
    ck_assert_msg(strlen(text) == part.size, "'%s' has a NUL", path);
    return text;
}

struct attn_parts attn_parts_load(const char *directory)
{
    struct attn_parts parts;
    char path[512];

    snprintf(path, sizeof path, "%s/config.json", directory);
    parts.config = attn_part_read(path);
    snprintf(path, sizeof path, "%s/model.safetensors", directory);
    parts.weights = attn_part_read(path);
    return parts;
}

void attn_parts_release(struct attn_parts *parts)
{
    free(parts->config.bytes);
    free(parts->weights.bytes);
    *parts = (struct attn_parts){0};
}

enum attn_status attn_parts_open(const struct attn_parts *parts, struct attn_model **model,
                                 struct attn_error *err)
{
    const struct attn_blob blobs[] = {
        {"config.json", parts->config.bytes, parts->config.size},
        {"model.safetensors", parts->weights.bytes, parts->weights.size},
    };
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    enum attn_status status;

    *model = NULL;
    *err = (struct attn_error){0};
    status = attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, model, err);
    ck_assert_int_eq(status, err->status);
    ck_assert_int_eq(status == ATTN_OK, *model != NULL);
    return status;
}

size_t attn_part_header_end(const struct attn_part *weights)
{
    uint64_t size;

    memcpy(&size, weights->bytes, sizeof size);
    return 8 + (size_t)size;
}

enum attn_status attn_parts_try_config(const char *directory, struct attn_buffer *config,
                                       struct attn_error *err)
{
    struct attn_parts parts = attn_parts_load(directory);
    struct attn_model *model = NULL;
    enum attn_status status;

    ck_assert(!config->has_failed);
    free(parts.config.bytes);
    parts.config = (struct attn_part){(unsigned char *)config->data, config->size};
    status = attn_parts_open(&parts, &model, err);
    attn_model_free(model);
    parts.config = (struct attn_part){0};
    attn_parts_release(&parts);
    attn_buffer_release(config);
    return status;
}

/*
 * parts.h - the files of a model directory in memory, for tests that damage them.
 *
 *     struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
 *     parts.weights.bytes[100] ^= 1;
 *     attn_parts_open(&parts, &model, &err); // attn_model_open, and the model is called 'm'
 *     attn_parts_release(&parts);
 */
#pragma once

#include "attn.h"
#include "base/buffer.h"

#include <stddef.h>

struct attn_part {
    unsigned char *bytes; /* owns: free(); NULL for a file that is absent */
    size_t size;
};

struct attn_parts {
    struct attn_part config, weights;
};

/* Fails the current test when a file cannot be read. */
struct attn_part attn_part_read(const char *path);

/* The same as text, terminated; free it. Fails the current test if the file has a NUL, too. */
char *attn_file_text(const char *path);

struct attn_parts attn_parts_load(const char *directory);
void attn_parts_release(struct attn_parts *parts);

/* Opens what is there now and must stay until the model is closed; checks that a failure leaves no
 * model. */
enum attn_status attn_parts_open(const struct attn_parts *parts, struct attn_model **model,
                                 struct attn_error *err);

/* Whether the model in DIRECTORY opens with CONFIG as its config.json. Releases CONFIG. */
enum attn_status attn_parts_try_config(const char *directory, struct attn_buffer *config,
                                       struct attn_error *err);

/* Where the data of the tensors begin. */
size_t attn_part_header_end(const struct attn_part *weights);

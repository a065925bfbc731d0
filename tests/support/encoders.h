/*
 * encoders.h - the models of tests/fixtures/encoders.tar, image-encoders.tar, stacks.tar and
 * stack-rows.tar, in a folder of their own.
 *
 *     attn_encoders_unpack();
 *     model = attn_encoder_open("bert"); // with bert/config.json, bert/model.safetensors
 *     attn_encoder_path("bert/expected.npz/0/ids.npy", path);
 *     attn_encoders_remove();
 */
#pragma once

#include "attn.h"

#define ATTN_ENCODERS                                                                              \
    "bert", "bert-old", "roberta", "xlm-roberta", "distilbert", "electra", "albert", "modernbert"

#define ATTN_IMAGE_ENCODERS "vit", "dinov2", "dinov2_with_registers", "clip_vision_model"

/* Models with an encoder and a decoder. */
#define ATTN_STACKS                                                                                \
    "t5", "flan_t5", "bart", "marian", "whisper", "whole_opus", "nllb", "mt5", "umt5", "mbart",    \
        "pegasus", "m2m_100", "blenderbot"

enum {
    ATTN_N_ENCODER = 8,
    ATTN_N_IMAGE_ENCODER = 4,
    ATTN_N_STACK = 13,
    ATTN_ENCODER_PATH_SIZE = 4300
};

void attn_encoders_unpack(void);
void attn_encoders_remove(void);

void attn_encoder_path(const char *member, char path[ATTN_ENCODER_PATH_SIZE]);

/* Fails the current test when it cannot be opened. */
struct attn_model *attn_encoder_open(const char *name);
struct attn_host *attn_encoder_host(const char *name, int n_thread);

/* Returns the number of elements of all tensors in the files of MODEL. */
uint64_t attn_encoder_n_element(const struct attn_model *model);

/* The config of the encoder of a model with two stacks. Borrowed from HOST. */
const struct attn_config *attn_encoder_config(const struct attn_host *host);

/* Fails the current test unless STATUS is ATTN_INVALID and WORDS are in the message of ERR, which
 * is empty afterwards: the first failure stays in one. */
void attn_assert_invalid(enum attn_status status, struct attn_error *err, const char *words);

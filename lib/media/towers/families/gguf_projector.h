/*
 * gguf_projector.h - what reads the pictures of a GGUF model: a file of llama.cpp's architecture
 * `clip` ("mmproj"), or tensors `v.*` and `mm.*` in the model's own file, as Ollama writes Gemma 3.
 *
 * Keys and names are those of gguf-py/gguf/constants.py, and of Ollama's convert_gemma3.go.
 */
#pragma once

#include "gguf/projector_reader.h"
#include "model/tower_reader.h"

/* What reads towers of pictures. */
extern const struct attn_tower_reader attn_picture_towers;
extern const struct attn_projector_reader attn_picture_projectors;

/* Writes preprocessor_config.json, as the image processor of PROJECTOR's family reads it. */
enum attn_status attn_gguf_projector_write_steps(const struct attn_bundle *projector,
                                                 struct attn_buffer *json, struct attn_error *err);

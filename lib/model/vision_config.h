/* vision_config.h - the part of a config that is about pictures in the prompts of a decoder. */
#ifndef ATTN_MODEL_VISION_CONFIG_H
#define ATTN_MODEL_VISION_CONFIG_H

#include <stddef.h>
#include <stdint.h>

/* Families of models that read a picture and a text. */
enum attn_vision {
    ATTN_VISION_NONE = 0,
    ATTN_VISION_SMOLVLM = 1, /* SmolVLM and Idefics3 */
    ATTN_VISION_GEMMA3 = 2,
    ATTN_VISION_PALIGEMMA = 3,
    ATTN_VISION_QWEN = 4, /* Qwen2-VL and Qwen2.5-VL */
};

/* How pictures enter the prompts of a decoder. A tower, an encoder of patches, reads a picture; a
 * connector makes a row of the decoder from each cell of merge x merge patches. All 0 for decoders
 * of texts alone. */
struct attn_vision_config {
    enum attn_vision family;
    const char *type; /* in config.json: "smolvlm", "idefics3", ...; a constant string */
    int32_t image_id; /* the token that stands for a cell in the text */
    size_t side;      /* a picture has side x side pixels; 0: sizes vary */
    size_t patch;     /* pixels of a side of a patch */
    size_t merge;     /* patches of a side of a cell */
    size_t d_feature; /* width of the rows that the connector makes */
};

#endif

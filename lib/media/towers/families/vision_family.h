/* vision_family.h - families of models that read a picture and a text. A family is a row, which has
 * what all rooms need to know of it. The tensors of its tower are a table beside it. */
#pragma once

#include "model/config_internal.h"
#include "model/family.h"

/* How a family writes a picture into a text (towers/prompt/picture_prompt.c). A text that is NULL
 * is empty.
 */
struct attn_vision_text {
    const char *placeholder;           /* stands for the picture in the text of a user */
    const char *bare;                  /* the placeholder, if the text is no conversation */
    const char *before, *cell, *after; /* what replaces the placeholder; `cell` is repeated */
    const char *row_end;               /* stands between rows of cells */
    const char *between; /* stands between the placeholders of several pictures before a question */
    const char *last;    /* stands after the last picture */
    const char *tile;    /* stands before `<row_1_col_1>`, the name of a tile; NULL: tiles have
                            no names */
    const char *chat[2]; /* what stands before and after a question */
    const char *end;     /* is added to the text */
    bool is_plain;       /* the tokenizer adds no special tokens to any text */
};

/* What the reader of a family's config gets. */
struct attn_vision_reading {
    const struct attn_json *json;
    const struct attn_node *vision, *text; /* the objects of the tower and the decoder, or NULL */
    struct attn_config *config;            /* of the decoder */
    struct attn_config_layers *layers;
    struct attn_error *err;
};

/* A type has several rows if the form of conversations depends on the decoder, `part.text_type`, or
 * all depends on the tower, `tower_type`; the first one counts for all others. */
struct attn_vision_family {
    struct attn_decoder_part part; /* the `model_type`, the decoder, and the usual tower */
    const char *name;              /* for people */
    const char *tower_type;        /* the `model_type` of the tower; NULL: any, or none */

    /* config.json */
    struct attn_vision_config usual; /* the values of absent keys */
    size_t bare_patch;               /* the side of a patch if `vision_config` is missing */
    const char *image_key;           /* of image_id */
    enum attn_status (*read)(const struct attn_vision_reading *reading); /* reads all other keys */

    /* The classes of its image processors, whose steps are rows of towers/pixel_steps.c. The first
     * is the usual one. Ends with NULL. */
    const char *const *processors;
    struct attn_vision_text text;

    bool is_square_among_others; /* one of several pictures has no tiles: the mean color makes it a
                                    square */

    /* The decoder */
    bool needs_picture;      /* it reads no text without a picture */
    size_t first_position;   /* the number of the first position */
    bool has_grid_positions; /* cells are numbered by row and column; the text goes on after the
                                longer side of the picture */
    bool opens_cells;        /* the cells of a picture see each other; `part.sees_prompt`: so do all
                                positions of the prompt, also across windows */
};

/* Reads the sizes of LIST of JSON into VISION->grids, each in tiles of SIDE pixels. */
enum attn_status attn_vision_read_grids(const struct attn_json *json, const struct attn_node *list,
                                        size_t side, struct attn_vision_config *vision,
                                        struct attn_error *err);

/* Returns family number I; NULL after the last. */
const struct attn_vision_family *attn_vision_family_at(size_t i);

/* Reads CONFIG->vision from the config of a model of TYPE, whose decoder was read. TEXT is the
 * object of the decoder, or NULL. CONFIG is unchanged if models of that type read no pictures. */
enum attn_status attn_vision_family_read(const struct attn_json *json, const char *type,
                                         const struct attn_node *text, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

/* The encoders of pictures that are models of their own, or one of two towers. */
/* clang-format off */
#define ATTN_PICTURE_FAMILY_MAP(X) \
    X(vit) X(deit) X(dinov2_with_registers) X(dinov2) X(dinov3_vit) X(clip) X(clip_text_model) \
    X(clip_vision_model) X(siglip) X(siglip_text_model) X(siglip_vision_model)
/* clang-format on */

ATTN_PICTURE_FAMILY_MAP(ATTN_FAMILY_DECLARE)

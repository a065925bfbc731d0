/* connector.h - makes the rows of a decoder from the final rows of its tower, and goes back. */
#pragma once

#include "input/encoder.h"

/* A connector of TOWER, for PICTURE, with its pool and kernels. Borrows all. */
struct attn_connector {
    const struct attn_model *tower;
    const struct attn_sequence *picture;
    const struct attn_deep_weights *deep; /* one of DeepStack, which reads the output of an earlier
                                             layer; NULL: the connector of the final rows */
};

/* Computes ROWS [cells, d_feature] from the rows Y [positions, D of the tower]. Y and JOINED are
 * scratch afterwards, with room for [positions, the larger of D and d_feature]. */
enum attn_status attn_connector_run(const struct attn_connector *connector, float *y, float *joined,
                                    float *rows, struct attn_error *err);

/* Computes DY [patches, D of the tower], the gradient of Y, from D_ROWS [cells, d_feature], that of
 * the rows made from Y, which is scratch afterwards. */
enum attn_status attn_connector_back(const struct attn_connector *connector, float *y,
                                     const float *d_rows, float *dy, struct attn_error *err);

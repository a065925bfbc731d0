/*
 * extra.h - what libattn has beside attn.h, and what may change with the first two numbers of the
 * version: where models are found, how tensors, tables and pictures are written, batches of files,
 * and details of runs. It includes attn.h.
 */
#ifndef ATTN_EXTRA_H
#define ATTN_EXTRA_H

/* In the order to read them. */
/* clang-format off */

#include "attn.h"

/* Models and texts by their names. */
#include "model/builtin.h"
#include "catalog/catalog.h"

/* Tensors, tables and pictures as files. */
#include "base/sink.h"
#include "tables/table_order.h"
#include "tables/table_writer.h"
#include "encode/colormap.h"
#include "writers/picture.h"
#include "writers/format.h"
#include "writers/outputs.h"
#include "figures/table_picture.h"
#include "page/page_live.h"
#include "live/live.h"
#include "run/page_request.h"

/* Many inputs to files. */
#include "records/items.h"
#include "study/each.h"
#include "batch/records.h"
#include "batch/batch.h"

/* Experiments over many items, and more of them. */
#include "study/study.h"
#include "analysis/difference.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "experiment/head_measures.h"
#include "experiment/similarity.h"
#include "experiment/grids.h"

/* Details: several sequences in a session, the largest keys, the arithmetic of a row, archives. */
#include "forward/session_pack.h"
#include "analysis/edges.h"
#include "explain/explain.h"
#include "experiment/archive_diff.h"

/* clang-format on */

#endif

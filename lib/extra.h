/* extra.h - what libattn has beside attn.h, and what may change with the first two numbers of the
 * version: where models are found, how tensors, tables and pictures are written, attention on
 * arrays, many inputs, questions, and details of runs. It includes attn.h. */
#ifndef ATTN_EXTRA_H
#define ATTN_EXTRA_H

/* In the order to read them. */
/* clang-format off */

#include "attn.h"

/* Models and texts by their names. */
#include "model/builtin.h"
#include "catalog/catalog.h"

/* More about models, sites and attention, also as users write them. */
#include "base/pool.h"
#include "model/weight_arrays.h"
#include "run/run_extra.h"
#include "trace/trace_extra.h"
#include "edits/intervention.h"
#include "edits/edit_texts.h"

/* Arrays and pictures. */
#include "base/dtype.h"
#include "formats/ndarray.h"
#include "towers/pixels.h"
#include "sound/sound.h"

/* Tensors, tables and pictures as files. */
#include "base/sink.h"
#include "tables/table_order.h"
#include "tables/table_writer.h"
#include "pictures/colormap.h"
#include "pictures/figure_kind.h"
#include "pictures/picture.h"
#include "tensors/format.h"
#include "tensors/outputs.h"
#include "pictures/table_view.h"
#include "figures/table_picture.h"
#include "terminal/answer_lines.h"
#include "page/page_live.h"
#include "live/live.h"
#include "live/page_request.h"

/* Many inputs, also from and to files. */
#include "measures/measure.h"
#include "measures/head_cards.h"
#include "run/item.h"
#include "stream/item_result.h"
#include "stream/many.h"
#include "stream/items.h"
#include "stream/each.h"
#include "stream/records.h"

/* Questions, each over one input or many items. */
#include "means/study.h"
#include "ablate/ablate.h"
#include "align/align.h"
#include "attribute/attribute.h"
#include "attribute/attribute_kinds.h"
#include "attribute/attribute_generated.h"
#include "circuit/circuit.h"
#include "frame/collect.h"
#include "diff/diff.h"
#include "heads/answer_heads.h"
#include "heads/examples.h"
#include "score/generate.h"
#include "lens/lens.h"
#include "lens/life.h"
#include "diff/pair.h"
#include "circuit/patch.h"
#include "score/score.h"
#include "heads/heads_extra.h"
#include "align/align_extra.h"
#include "heads/sinks.h"
#include "spans/spans.h"
#include "heads/heads.h"
#include "run/attention_args.h"
#include "params/medium.h"
#include "params/param.h"
#include "params/param_rules.h"
#include "frame/question.h"
#include "frame/questions.h"

/* The arithmetic of a row. */
#include "explain/explain.h"

/* clang-format on */

#endif

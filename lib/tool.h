/*
 * tool.h - what the command-line tool uses of the library beside attn.h and extra.h: numbers as
 * they are typed, text in columns, numbers as people read them, what a model holds and costs,
 * models that are made, records of lines of JSON. It is not installed and promises nothing;
 * programs use attn.h and extra.h.
 */
#ifndef ATTN_TOOL_H
#define ATTN_TOOL_H

#include "analysis/analysis_internal.h"
#include "attention/attention_internal.h"
#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/fixed_text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "bench/bench.h"
#include "bench/processor.h"
#include "catalog/catalog_internal.h"
#include "compare/comparison_internal.h"
#include "encode/colormap_internal.h"
#include "encode/float_text.h"
#include "encode/text_table.h"
#include "explain/explain_internal.h"
#include "extra.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "host/host_internal.h"
#include "inspect/cost.h"
#include "inspect/inspection.h"
#include "kernels/gemm_internal.h"
#include "kernels/kernels.h"
#include "live/live.h"
#include "make/model_init.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "tables/document.h"
#include "tables/table_writer_internal.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer_internal.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"
#include "writers/format_internal.h"
#include "writers/labels_json.h"
#include "writers/outputs_internal.h"
#include "writers/token_text.h"

#endif

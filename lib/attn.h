/*
 * attn.h - the whole public interface of libattn: run GPT-style decoders on a CPU and see what
 * their attention does.
 *
 *     struct attn_error err = {0};
 *     struct attn_source source = {.directory = "gpt2"};
 *     struct attn_model *model;
 *     if (attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) != ATTN_OK)
 *         puts(err.message);
 *
 * Text goes through a tokenizer (text/tokenizer.h) into a session (model/session.h), which tells a
 * trace (trace/trace.h) about every tensor that its selection (trace/selection.h) wants and applies
 * edits (trace/edit.h); writers (output/output.h) turn events into files. The library never prints,
 * never exits, and keeps no global state.
 */
#ifndef ATTN_H
#define ATTN_H

#include "analysis/difference.h"
#include "attention/attend.h"
#include "attention/attention.h"
#include "attention/kind.h"
#include "base/dtype.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/sink.h"
#include "base/source.h"
#include "base/status.h"
#include "base/table.h"
#include "base/version.h"
#include "bench/bench.h"
#include "capture/capture.h"
#include "experiment/compare.h"
#include "experiment/comparison.h"
#include "experiment/explain.h"
#include "formats/ndarray.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "model/builtin.h"
#include "model/config.h"
#include "model/cost.h"
#include "model/draw.h"
#include "model/finite.h"
#include "model/inspection.h"
#include "model/model.h"
#include "model/model_init.h"
#include "model/session.h"
#include "output/format.h"
#include "output/output.h"
#include "output/outputs.h"
#include "output/table_writer.h"
#include "run/host.h"
#include "run/request.h"
#include "run/run.h"
#include "text/token_table.h"
#include "text/tokenizer.h"
#include "text/word_list.h"
#include "trace/edit.h"
#include "trace/selection.h"
#include "trace/site.h"
#include "trace/trace.h"

#endif

#!/usr/bin/env python3
"""Writes a GPT-2 as GGUF, its matrices in blocks: python3 tests/tools/quantize_gpt2.py DIR TYPE FILE

DIR has config.json, vocab.json, merges.txt and model.safetensors; TYPE is one that the package gguf
makes of numbers: Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, F16, F32. Rows have to be whole blocks. Names and
order are those of llama.cpp's converter. For data/recipes/damage.sh; attn-cli writes no GGUF."""
import json, pathlib, re, struct, sys

import gguf, numpy

NAMES = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm",
         "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def read_tensors(path):
    data = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    for name, tensor in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            dtype = {"F32": "<f4", "F16": "<f2"}[tensor["dtype"]]
            at = [begin + offset for offset in tensor["data_offsets"]]
            yield name, numpy.frombuffer(data[at[0] : at[1]], dtype).reshape(tensor["shape"]).astype(numpy.float32)


def add_metadata(writer, folder, kind):
    config = json.loads((folder / "config.json").read_text())
    vocab = json.loads((folder / "vocab.json").read_text())
    tokens = [token for token, _ in sorted(vocab.items(), key=lambda pair: pair[1])]
    special = [config.get("bos_token_id"), config.get("eos_token_id")]
    merges = [line for line in (folder / "merges.txt").read_text().split("\n") if line and not line.startswith("#version")]
    writer.add_file_type(gguf.LlamaFileType[("ALL_" if kind == "F32" else "MOSTLY_") + kind])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_block_count(config["n_layer"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if i in special else 1 for i in range(len(tokens))])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(special[0])
    writer.add_eos_token_id(special[1])


folder, kind, path = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
writer = gguf.GGUFWriter(path, "gpt2")
add_metadata(writer, folder, kind)
for name, tensor in read_tensors(folder / "model.safetensors"):
    name = name.removeprefix("transformer.")
    match = re.fullmatch(r"(?:h\.(\d+)\.)?(.*)\.(weight|bias)", name)
    if not match or match[2] not in NAMES:
        continue
    if match[2].split(".")[-1].startswith("c_") and match[3] == "weight":
        tensor = tensor.T
    dtype = gguf.GGMLQuantizationType[kind if tensor.ndim == 2 and match[2] != "wpe" else "F32"]
    blocks = gguf.quants.quantize(numpy.ascontiguousarray(tensor), dtype)
    where = f"blk.{match[1]}." if match[1] else ""
    writer.add_tensor(f"{where}{NAMES[match[2]]}.{match[3]}", blocks, raw_dtype=dtype)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

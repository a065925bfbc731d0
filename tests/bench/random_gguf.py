"""random_gguf.py FILE TYPE [N_LAYER] - a GGUF file of TinyLlama's shape, 1.1 billion parameters, with
random weights of TYPE: F32, F16, BF16 or blocks as Q4_K. Norms are 1, scales of blocks small and
finite. Fewer layers than its 22 make a smaller file."""

import sys

import gguf
import numpy as np

D, N_HEAD, N_KV_HEAD, F, V, N_CTX = 2048, 32, 4, 5632, 32000, 2048
N_LAYER = int(sys.argv[3]) if len(sys.argv) > 3 else 22
E = D // N_HEAD

# Where a block has numbers in F16, and how large they may be for weights of about 0.02. Where it has
# an offset, too, that is this many scales, so that the weights of a group cancel out: else scores
# grow until weights of attention are subnormal, which Intel's processors take many cycles for.
SCALES = {
    "Q4_0": {0: 0.004}, "Q4_1": {0: 0.004, 2: -7.5}, "Q5_0": {0: 0.002}, "Q5_1": {0: 0.002, 2: -15.5},
    "Q8_0": {0: 0.0003}, "Q2_K": {80: 0.001, 82: 1.5}, "Q3_K": {108: 0.0003},
    "Q4_K": {0: 0.0001, 2: 7.5}, "Q5_K": {0: 0.00005, 2: 15.5}, "Q6_K": {208: 0.00001},
    "IQ4_NL": {0: 0.0003}, "IQ4_XS": {0: 0.00002},
    "IQ2_XXS": {0: 0.0002}, "IQ2_XS": {0: 0.0002}, "IQ2_S": {0: 0.0002}, "IQ3_XXS": {0: 0.0001},
    "IQ3_S": {0: 0.0002}, "IQ1_S": {0: 0.002}, "TQ1_0": {52: 0.03}, "TQ2_0": {64: 0.03},
}


def matrices():
    yield "token_embd.weight", (V, D)
    for layer in range(N_LAYER):
        for name, shape in [("attn_q", (D, D)), ("attn_k", (N_KV_HEAD * E, D)),
                            ("attn_v", (N_KV_HEAD * E, D)), ("attn_output", (D, D)),
                            ("ffn_gate", (F, D)), ("ffn_up", (F, D)), ("ffn_down", (D, F))]:
            yield f"blk.{layer}.{name}.weight", shape
    yield "output.weight", (V, D)


def norms():
    yield "output_norm.weight"
    for layer in range(N_LAYER):
        yield f"blk.{layer}.attn_norm.weight"
        yield f"blk.{layer}.ffn_norm.weight"


def draw(random, shape, type):
    """The bytes of a matrix [rows, bytes of a row]."""
    if type.name in ("F32", "F16", "BF16"):
        x = random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
        if type.name == "BF16":
            return (x.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return x.astype(np.float32 if type.name == "F32" else np.float16).view(np.uint8)
    n_value, n_byte = gguf.GGML_QUANT_SIZES[type]
    blocks = random.integers(0, 256, (shape[0] * shape[1] // n_value, n_byte), dtype=np.uint8)
    if type.name == "MXFP4":
        blocks[:, 0] = 120
    if type.name == "NVFP4":
        blocks[:, :4] = 5
    if type.name == "IQ1_M":  # the F16 0x1000 in pieces
        blocks[:, 49::2] = blocks[:, 49::2] & 15 | np.array([0, 0, 0, 16], dtype=np.uint8)
    if type.name in ("Q4_K", "Q5_K"):  # the minima are the scales
        blocks[:, 8:12] = blocks[:, 4:8]
        blocks[:, 12:16] = blocks[:, 12:16] % 16 * 17
    if type.name == "Q2_K":
        blocks[:, :16] = blocks[:, :16] % 16 * 17
    scale = 1
    for at, size in SCALES.get(type.name, {}).items():  # after the scale comes what is a multiple
        scale = scale * size if np.ndim(scale) else random.random(len(blocks)) * size
        blocks[:, at:at + 2] = scale.astype(np.float16).view(np.uint8).reshape(-1, 2)
    return blocks.reshape(shape[0], -1)


def main(path, name):
    type = gguf.GGMLQuantizationType[name]
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(D)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(F)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(N_KV_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(V)
    writer.add_tokenizer_model("llama")
    special = ["<unk>", "<s>", "</s>"]
    writer.add_token_list(special + [f"t{i}" for i in range(V - len(special))])
    writer.add_token_scores([0.0] * V)
    writer.add_token_types([2, 3, 3] + [1] * (V - len(special)))
    sizes = [(name, shape, gguf.quant_shape_to_byte_shape(shape, type)) for name, shape in matrices()]
    for name, _, size in sizes:
        writer.add_tensor_info(name, size, np.dtype(np.uint8), int(np.prod(size)), type)
    for name in norms():
        writer.add_tensor_info(name, (D,), np.dtype(np.float32), 4 * D)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, shape, _ in sizes:
        writer.write_tensor_data(draw(random, shape, type))
    for _ in norms():
        writer.write_tensor_data(np.ones(D, dtype=np.float32))
    writer.close()


main(*sys.argv[1:3])

"""llama_cpp_python.py - llama.cpp through llama-cpp-python. It returns no attention matrices."""
import ctypes

import numpy

import gpt2
import worker

# Our names, llama.cpp's.
TENSORS = {
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm", "ln_f": "output_norm",
    "wte": "token_embd", "wpe": "position_embd",
}


def gguf_name(name):
    *layer, part, kind = name.replace(".c_", "-c_").replace("h.", "blk.", 1).split(".") \
        if name.startswith("h.") else name.split(".")
    return ".".join([*layer, TENSORS[part.replace("-", ".")], kind])


def write_gguf(model, path, compute):
    """The weights as GGUF: matrices in COMPUTE, everything else in float32. No vocabulary."""
    import gguf

    kind = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[compute]
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(gpt2.N_CTX)
    writer.add_embedding_length(gpt2.D_MODEL)
    writer.add_feed_forward_length(4 * gpt2.D_MODEL)
    writer.add_block_count(gpt2.N_LAYER)
    writer.add_head_count(gpt2.N_HEAD)
    writer.add_layer_norm_eps(1e-5)
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(gpt2.N_VOCAB)
    for name, values in gpt2.load(model).items():
        if ".c_" in name and values.ndim == 2:
            values = values.T  # GPT-2 keeps [in, out]
        is_matrix = values.ndim == 2 and not name.startswith("wpe")
        quantized = gguf.GGMLQuantizationType[kind if is_matrix else "F32"]
        data = gguf.quants.quantize(numpy.ascontiguousarray(values), quantized)
        writer.add_tensor(gguf_name(name), data, raw_dtype=quantized)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class LlamaCpp:
    def __init__(self, model, threads, compute, tuned):
        import llama_cpp

        del tuned
        self.library = llama_cpp
        self.name = f"llama-cpp-python {llama_cpp.__version__}"
        self.silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        path = gpt2.derived(model, f"{compute}.gguf",
                            lambda path: write_gguf(model, path, compute))
        self.model = llama_cpp.llama_model_load_from_file(
            path.encode(), llama_cpp.llama_model_default_params())
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = gpt2.N_CTX
        settings.n_threads = settings.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, settings)
        if not self.context:
            raise ImportError("llama.cpp cannot open the model")
        self.memory = llama_cpp.llama_get_memory(self.context)

    def feed(self, ids):
        """As the program does by itself: only the last token's logits."""
        library = self.library
        tokens = (library.llama_token * len(ids))(*ids)  # the batch points into it
        batch = library.llama_batch_get_one(tokens, len(ids))
        if library.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode")
        return library.llama_get_logits_ith(self.context, -1)

    def prefill(self, n):
        ids = worker.token_ids(n)

        def run():
            self.library.llama_memory_clear(self.memory, False)
            self.feed(ids)

        return run

    def decode(self, n):
        ids = worker.token_ids(n + 1)
        self.prefill(n)()

        def run():
            self.library.llama_memory_seq_rm(self.memory, 0, n, -1)
            self.feed(ids[n:])

        return run


if __name__ == "__main__":
    worker.main(LlamaCpp)

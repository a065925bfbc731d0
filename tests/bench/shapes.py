"""shapes.py - models of other families than GPT-2 whose random weights make bench runs: the config
of each, as published. attn-cli init draws the weights, and transformers reads them too. With
BENCH_SMALL GPT-2 and bert-base are narrow, to see that everything runs (small.sh, peers/gpt2.py)."""
import os

IS_SMALL = bool(os.environ.get("BENCH_SMALL"))
WIDTH, N_CTX = (48, 256) if IS_SMALL else (768, 1024)
GPT2 = "a small GPT-2" if IS_SMALL else "GPT-2 124M"

SHAPES = {
    "pythia-160m": {
        "model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "vocab_size": 50304,
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
        "max_position_embeddings": 2048, "rotary_pct": 0.25, "rotary_emb_base": 10000,
        "use_parallel_residual": True, "tie_word_embeddings": False, "torch_dtype": "float32"},
    "smollm2-135m": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 49152,
        "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_act": "silu",
        "rms_norm_eps": 1e-5, "rope_theta": 100000, "max_position_embeddings": 8192,
        "tie_word_embeddings": True, "torch_dtype": "float32"},
    "qwen2.5-0.5b": {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 151936,
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2, "hidden_act": "silu",
        "rms_norm_eps": 1e-6, "rope_theta": 1000000, "max_position_embeddings": 32768,
        "use_sliding_window": False, "tie_word_embeddings": True, "torch_dtype": "float32"},
    "bert-base": {
        "model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 30522,
        "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": 12,
        "num_attention_heads": 12, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "type_vocab_size": 2, "torch_dtype": "float32"},
}

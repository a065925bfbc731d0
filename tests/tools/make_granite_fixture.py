"""Makes the fixture row-granitemoeshared, a tiny random Granite with experts and a shared one, as transformers saves it:

    python tests/tools/make_granite_fixture.py

Expected are float64 results of transformers, its casts to float32 taken out, with bounds as in make_family_fixtures.py. Needs torch
and transformers. make_gguf_rows.py writes its twin.
"""

import numpy as np
import torch
from check_families import make_model, run_transformers
from make_family_fixtures import FIXTURES, KINDS, LAST_ROWS
from model_directory import write_archive

KEYS = {"vocab_size": 47, "hidden_size": 24, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 64, "num_local_experts": 5, "num_experts_per_tok": 2,
        "shared_intermediate_size": 18, "attention_multiplier": 0.3, "embedding_multiplier": 3.0, "residual_multiplier": 0.4,
        "logits_scaling": 4.0, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": False}
PROMPTS = [[12], [19, 33, 11, 12, 19, 33, 11, 18], [3, 7, 1, 9, 4, 20, 11, 2, 5, 6, 8, 30, 31, 44, 46, 0, 17]]


def kind_of(name):
    return "attn" if "pattern" in name else "final" if "final" in name else "logits" if name == "logits" else "hidden"


def make_prompt(target, ids):
    exact, rounded = (run_transformers(target, ids, is_double)[0] for is_double in (True, False))
    allowed = dict.fromkeys(KINDS, 0.0)
    off, largest = dict(allowed), dict(allowed)
    for name, x in exact.items():
        kind = kind_of(name)
        off[kind] = max(off[kind], np.abs(rounded[name] - x).max())
        largest[kind] = max(largest[kind], np.abs(x).max())
    allowed = [4 * off[kind] + 1e-6 * largest[kind] for kind in KINDS]
    share = max(a / largest[kind] for a, kind in zip(allowed, KINDS))
    arrays = {name: (x if kind_of(name) == "attn" else x[-LAST_ROWS:]).astype(np.float32) for name, x in exact.items()}
    return arrays | {"ids": np.array(ids, np.int64), "bounds": np.array(allowed + [share])}


if __name__ == "__main__":
    target = FIXTURES / "row-granitemoeshared"
    torch.manual_seed(64)
    make_model("granitemoeshared", KEYS, 64).save_pretrained(target)
    (target / "generation_config.json").unlink()
    write_archive(target / "expected.npz", {f"{k}/{name}": x for k, ids in enumerate(PROMPTS)
                                            for name, x in make_prompt(target, ids).items()})

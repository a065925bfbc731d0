"""Makes the fixtures albert-square and electra-wide: classifiers whose embedding is as wide as the stream, or wider.

    python tests/tools/make_class_fixtures.py      run in the repository root; needs torch and transformers

Prints what transformers finds in float64 for the ids 3,4,5,6: the probabilities, and the saliency of each token for label 1.
tests/cli/run/classes.test expects these.
"""

import os

import torch
import transformers

SIZES = {"vocab_size": 23, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16}
MODELS = {"albert-square": transformers.AlbertConfig(**SIZES, hidden_size=8, embedding_size=8, num_labels=3),
          "electra-wide": transformers.ElectraConfig(**SIZES, hidden_size=4, embedding_size=12, num_labels=3)}

torch.manual_seed(7)
for name, config in MODELS.items():
    model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for tensor, x in model.named_parameters():
            x.copy_(torch.randn_like(x) * 0.5 + (1 if x.dim() == 1 and tensor.endswith("weight") else 0))
    folder = f"tests/fixtures/{name}"
    model.save_pretrained(folder)
    for file in set(os.listdir(folder)) - {"config.json", "model.safetensors"}:
        os.remove(f"{folder}/{file}")
    os.chmod(f"{folder}/model.safetensors", 0o644)
    kept = []
    model.double().get_input_embeddings().register_forward_hook(
        lambda module, given, out, kept=kept: kept.append(out.detach().requires_grad_(True)) or kept[-1])
    logits = model(torch.tensor([[3, 4, 5, 6]])).logits[0]
    logits[1].backward()
    print(name, torch.softmax(logits, -1).tolist(), kept[0].grad[0].norm(dim=-1).tolist())

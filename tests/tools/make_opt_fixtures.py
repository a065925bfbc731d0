"""Makes the fixtures opt-narrow and opt-wide: OPT whose embedding is narrower or wider than the stream, as that of OPT 350M.

    python tests/tools/make_opt_fixtures.py      run in the repository root; needs torch and transformers

Prints what transformers finds in float64 for the ids 3,4,5,6 and the logit of token 7 minus that of 8: the lengths of the gradients
of the embeddings, their products with the embeddings, and those of the positions, added up. tests/cli/attribute/tokens.test expects
these.
"""

import os

import torch
import transformers

SIZES = {"vocab_size": 23, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 12, "max_position_embeddings": 16,
         "dropout": 0.0, "attn_implementation": "eager"}
MODELS = {"opt-narrow": {"hidden_size": 10, "word_embed_proj_dim": 6, "do_layer_norm_before": False},
          "opt-wide": {"hidden_size": 6, "word_embed_proj_dim": 11, "do_layer_norm_before": True}}
IDS = [3, 4, 5, 6]

torch.manual_seed(9)
for name, sizes in MODELS.items():
    model = transformers.OPTForCausalLM(transformers.OPTConfig(**SIZES, **sizes)).eval()
    with torch.no_grad():
        for tensor, x in model.named_parameters():
            x.copy_(torch.randn_like(x) * 0.5 + (1 if x.dim() == 1 and tensor.endswith("norm.weight") else 0))
    folder = f"tests/fixtures/{name}"
    model.save_pretrained(folder)
    for file in set(os.listdir(folder)) - {"config.json", "model.safetensors"}:
        os.remove(f"{folder}/{file}")
    os.chmod(f"{folder}/model.safetensors", 0o644)
    decoder = model.double().model.decoder
    rows = decoder.embed_tokens(torch.tensor([IDS])).detach().requires_grad_(True)
    places = decoder.embed_positions.weight[2:2 + len(IDS)].detach().requires_grad_(True)
    decoder.embed_positions.register_forward_hook(lambda module, given, out, places=places: places[None])
    logits = model(inputs_embeds=rows).logits[0, -1]
    (logits[7] - logits[8]).backward()
    print(name, rows.grad[0].norm(dim=-1).tolist(), (rows.grad * rows)[0].sum(-1).tolist(), (places.grad * places).sum().item(),
          (logits[7] - logits[8]).item())

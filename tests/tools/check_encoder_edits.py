#!/usr/bin/env python3
"""Compares edits of the encoder of translators with hooks of transformers in float64.

    check_encoder_edits.py FOLDER [MODEL ...]       run in the repository root; needs torch and transformers

FOLDER has the models of tests/fixtures/stacks.tar, unpacked. `run` with --ablate (zero, mean, uniform), --knockout, --rescale,
--steer and --patch in the encoder is compared with a run of transformers whose encoder has the context vectors changed
before the output projection: logits of all positions, and final rows of the encoder. A number is good within 4 times the
distance of transformers in float32, and 2e-6 of the largest. One line a model.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers

TOOL = "build/release/attn-cli"
IDS, SOURCE = [2, 5, 6], [5, 6, 7, 8, 9]


def attention_of(model, layer):
    """The self-attention of a layer of the encoder: its output projection, its values."""
    encoder = (model.model if hasattr(model, "model") else model).encoder
    if hasattr(encoder, "block"):
        attention = encoder.block[layer].layer[0].SelfAttention
        return attention.o, attention.v
    attention = encoder.layers[layer].self_attn
    return attention.out_proj, attention.v_proj


def n_head_of(config):
    return getattr(config, "encoder_attention_heads", None) or config.num_heads


class Change:
    """Changes z of one head before the output projection of its layer."""

    def __init__(self, model, layer, head, change):
        self.head, self.change, self.values = head, change, None
        out, value = attention_of(model, layer)
        self.n_head = n_head_of(model.config)
        self.handles = [value.register_forward_hook(self.on_value), out.register_forward_pre_hook(self.on_z)]

    def on_value(self, module, arguments, result):
        self.values = result[0].reshape(result.shape[1], self.n_head, -1)[:, self.head]

    def on_z(self, module, arguments):
        z = arguments[0].clone().reshape(arguments[0].shape[1], self.n_head, -1)
        z[:, self.head] = self.change(z[:, self.head], self.values)
        return (z.reshape(arguments[0].shape),)


def forward(folder, dtype, source, layer=0, head=0, change=None):
    kind = transformers.AutoModelForSpeechSeq2Seq if isinstance(source, np.ndarray) else transformers.AutoModelForSeq2SeqLM
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=dtype).eval()
    changed = Change(model, layer, head, change) if change else None
    given = ({"input_features": torch.tensor(source[None]).to(dtype)} if isinstance(source, np.ndarray)
             else {"input_ids": torch.tensor([source])})
    with torch.no_grad():
        out = model(**given, decoder_input_ids=torch.tensor([IDS]), output_attentions=True)
    for handle in changed.handles if changed else ():
        handle.remove()
    return out.logits[0].double().numpy(), out.encoder_attentions[layer][0, head].double(), out.encoder_last_hidden_state[0].double().numpy()


def cases(pattern, d_head, folder):
    """Options of the tool for head 1.0 of the encoder, and the change of z."""
    def without(z, v, query=1, keys=(0, 2)):
        z, p = z.clone(), pattern.to(z.dtype)[query].clone()
        p[list(keys)] = 0
        z[query] = (p / p.sum()) @ v
        return z

    vector = np.linspace(-1, 1, d_head).astype(np.float32)
    np.save(folder / "v.npy", vector)
    added = torch.tensor(vector)
    return {
        "zero": (["--ablate", "encoder:1.0"], lambda z, v: z * 0),
        "mean": (["--ablate", "mean:encoder:1.0"], lambda z, v: z.mean(0, keepdim=True).expand(z.shape)),
        "uniform": (["--ablate", "uniform:encoder:1.0"], lambda z, v: v.mean(0, keepdim=True).expand(z.shape)),
        "knockout": (["--knockout", "1>0,2@encoder:1.0"], without),
        "rescale": (["--rescale", "encoder:z:1.0=0.5"], lambda z, v: z * 0.5),
        "steer": (["--steer", f"encoder:z:1.0={folder}/v.npy"], lambda z, v: z + added.to(z.dtype)),
        "values": (["--ablate", "encoder:v:1.0"], lambda z, v: z * 0),
    }


def run(folder, source, options, sites, temporary):
    given = (["--source", f'file:{temporary / "source.npy"}'] if isinstance(source, np.ndarray)
             else ["--source", f'ids:{",".join(map(str, source))}'])
    done = subprocess.run([TOOL, "run", "-q", "-m", str(folder), *given, "--ids", ",".join(map(str, IDS)), *options,
                           "--sites", sites, "--npz", str(temporary / "out.npz")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (options, done.stderr)
    return np.load(temporary / "out.npz")


def check(folder, temporary):
    source = SOURCE
    if (folder / "mel_0.npy").exists():
        source = np.load(folder / "mel_0.npy").reshape(-1, np.load(folder / "mel_0.npy").shape[-1])
        np.save(temporary / "source.npy", source)
    config = transformers.AutoConfig.from_pretrained(folder)
    d_head = getattr(config, "d_kv", config.d_model // n_head_of(config))
    pattern = forward(folder, torch.float64, source, 1, 0)[1]
    worst = 0.0
    for name, (options, change) in cases(pattern, d_head, temporary).items():
        exact, _, rows = forward(folder, torch.float64, source, 1, 0, change)
        rounded = forward(folder, torch.float32, source, 1, 0, change)[0]
        found = run(folder, source, [*options], "logits,encoder:z", temporary)
        bound = 4 * np.abs(rounded - exact).max() + 2e-6 * np.abs(exact).max()
        off = np.abs(found["logits"].reshape(exact.shape) - exact).max()
        plain = forward(folder, torch.float64, source, 1, 0)[0]
        assert np.abs(plain - exact).max() > 10 * bound, (folder, name, "changes nothing")
        assert off <= bound, (folder, name, off, bound)
        worst = max(worst, off / bound)
    print(f"{folder.name}: {len(cases(pattern, d_head, temporary))} edits, worst {worst:.2f} of the bound")


def main():
    folder = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        for name in sys.argv[2:] or ("t5", "flan_t5", "bart", "marian", "nllb", "whisper"):
            check(folder / name, pathlib.Path(temporary))


if __name__ == "__main__":
    main()

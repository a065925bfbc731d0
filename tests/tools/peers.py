"""peers.py - what the comparisons with transformers share: how attn-cli is asked, and models in float64."""
import argparse
import contextlib
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build/release/attn-cli"


def joined(numbers):
    return ",".join(map(str, numbers))


def ask(tool, *arguments, text=None, env=None):
    """What a command of attn-cli prints. RuntimeError: it failed."""
    made = subprocess.run([tool, *map(str, arguments), "-q"], capture_output=True, text=True, check=False, input=text,
                          env={**os.environ, **(env or {})})
    if made.returncode != 0:
        raise RuntimeError(f"{joined(arguments)}: {made.stderr.strip()}")
    return made.stdout


def arrays(tool, *arguments, text=None, env=None):
    """The archive that a command of attn-cli writes."""
    with tempfile.TemporaryDirectory() as folder:
        ask(tool, *arguments, "--npz", f"{folder}/out.npz", text=text, env=env)
        with np.load(f"{folder}/out.npz") as found:
            return dict(found)


def rows(tool, *arguments):
    """The table that a command of attn-cli prints."""
    return list(csv.DictReader(io.StringIO(ask(tool, *arguments, "--csv", "-"))))


def share_of(found, expected, bound):
    """How much of BOUND the numbers are off; infinite if they have another shape or NaN."""
    if found is None or found.shape != expected.shape:
        return np.inf
    off = np.abs(found.astype(np.float64) - expected).max(initial=0)
    if np.isnan(off):
        return np.inf
    return off / bound if bound > 0 else np.inf if off > 0 else 0.0


def worst_share(found, expected, bounds):
    """The largest share of a bound, and the name of that array."""
    return max(((share_of(found.get(name), x, bounds[name]), name) for name, x in expected.items()), default=(0, ""))


def bounds_of(exact, rounded, times=16, share=4e-6):
    """What attn-cli may be off: TIMES what float32 is off in transformers, and SHARE of the largest value."""
    return {name: times * np.abs(rounded[name] - x).max() + share * np.abs(x).max() for name, x in exact.items()}


def check_folder(check):
    """Calls CHECK with the tool and each model of the command line, FOLDER TOOL [NAME...]; exits with 1 if one fails."""
    folder, tool = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
    names = sys.argv[3:] or sorted(path.name for path in folder.iterdir())
    sys.exit(0 if all([check(tool, folder / name) for name in names]) else 1)


def options(doc, count):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tool", type=pathlib.Path, default=TOOL)
    return parser


# --- models in float64 --------------------------------------------------------------------------------------------


class Float64(TorchFunctionMode):
    """Takes casts of float64 to float32 out, and computes cosine and sine of float32 in float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if first is not None and first.dtype == torch.float64:
            wants = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            if name == "float" or name in ("to", "type") and wants == torch.float32:
                return first
            if name == "softmax" and kwargs.get("dtype") == torch.float32:
                kwargs["dtype"] = torch.float64
        if name == "full" and abs(kwargs.get("fill_value", args[-1])) > 1e39:  # XGLM's smallest score
            kwargs.setdefault("dtype", torch.float64)
        if first is not None and first.dtype == torch.float32 and name in ("cos", "sin"):
            args = (first.double(), *args[1:])
        return func(*args, **kwargs)


def is_double(model):
    return next(model.parameters()).dtype == torch.float64


def exact(model):
    """A context for a pass: without casts to float32 if MODEL is in float64."""
    return Float64() if is_double(model) else contextlib.nullcontext()


def to_double(model):
    """Makes MODEL float64; the frequencies of rotary positions stay float32, as models define them."""
    frequencies = {name: b.clone() for name, b in model.named_buffers() if "inv_freq" in name}
    model.double()
    for name, values in frequencies.items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Buffer(values, persistent=False))
    return model


def draw_weights(model, is_scale=lambda name: True):
    """Gives MODEL random weights, but for single numbers; those of norms, by IS_SCALE(name), are around 1."""
    with torch.no_grad():
        for name, x in model.named_parameters():
            if x.dim() == 0:
                continue
            mean = 1 if x.dim() == 1 and name.endswith("weight") and is_scale(name) else 0
            x.copy_(mean + torch.randn_like(x) * (0.3 if x.dim() == 1 else 1.2 / x.shape[-1] ** 0.5))
    return model.eval()

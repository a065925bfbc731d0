#!/usr/bin/env python3
"""Compares align --times with Whisper's _extract_token_timestamps of transformers, which must be installed.

    check_token_times.py [--count N]      attn-cli is in build/release
    check_token_times.py --write FILE     write one array of 8 tokens, as tests/cli/align has it, and print its times

Each of N arrays (200) has other heads, tokens and frames. The rows of the prompt and the frames after the end of the
sound are left out by slicing, as transformers leaves them out.
"""
import argparse
import pathlib
import subprocess
import tempfile
import types

import numpy as np
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

ROOT = pathlib.Path(__file__).resolve().parents[2]


def transformers_times(pattern, n_prompt, n_frame):
    """The times of the rows after the prompt: pattern [H, T, S] becomes one layer of a batch of one."""
    model = types.SimpleNamespace(config=WhisperConfig(decoder_layers=1))
    x = torch.tensor(pattern)[None]
    outputs = types.SimpleNamespace(cross_attentions=[(x,)], sequences=torch.zeros(1, x.shape[2] + 1))
    outputs_type = type("Outputs", (), {"__contains__": lambda self, key: False})()
    outputs_type.__dict__.update(vars(outputs))
    times = WhisperForConditionalGeneration._extract_token_timestamps(
        model, outputs_type, [(0, h) for h in range(x.shape[1])], num_frames=2 * n_frame, num_input_ids=n_prompt
    )
    return times[0, n_prompt:-1].numpy()


def make(rng, shape=None):
    n_head, n_token, n_key = shape or (rng.integers(1, 7), rng.integers(3, 60), rng.integers(10, 1500))
    x = rng.normal(size=(n_head, n_token, n_key)) * 2
    places = np.sort(rng.integers(0, n_key, n_token))  # the speaker goes on
    x[:, np.arange(n_token), places] += rng.uniform(0, 8)
    pattern = np.exp(x - x.max(-1, keepdims=True))
    return (pattern / pattern.sum(-1, keepdims=True)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--write", type=pathlib.Path)
    given = parser.parse_args()
    if given.write:
        pattern = make(np.random.default_rng(9), (2, 9, 75)).astype(np.float16)
        np.save(given.write, pattern[:, 1:])
        return print(transformers_times(pattern.astype(np.float32), 1, 75))
    count, rng, n_bad, n_time = given.count, np.random.default_rng(48), 0, 0
    path = pathlib.Path(tempfile.mkdtemp()) / "weights.npy"
    for number in range(count):
        pattern = make(rng)
        n_prompt, n_frame = int(rng.integers(1, pattern.shape[1] - 1)), int(rng.integers(5, pattern.shape[2] + 1))
        np.save(path, pattern[:, n_prompt:, :n_frame])
        out = subprocess.run([ROOT / "build/release/attn-cli", "align", "--times", path, "--csv", "-"], capture_output=True, text=True)
        found = np.array([float(line.split(",")[2]) for line in out.stdout.splitlines()[1:]])
        expected = transformers_times(pattern, n_prompt, n_frame)
        n_time += len(expected)
        if len(found) != len(expected) or abs(found - expected).max() > 1e-4:
            n_bad += 1
            print(f"array {number} {pattern.shape}: {found}, expected {expected} {out.stderr}")
    path.unlink()
    path.parent.rmdir()
    print(f"check-token-times: {n_bad} of {count} arrays differ, {n_time} times")
    return n_bad > 0


if __name__ == "__main__":
    raise SystemExit(main())

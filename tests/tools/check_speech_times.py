#!/usr/bin/env python3
"""Compares `align` of a sound with openai-whisper's timing.py, done with functions of transformers, which must be installed.

    check_speech_times.py [--count N]     attn-cli is in build/release

N random models of Whisper's kind, some with another median filter, hear a random sound and read random ids, every other time with
the end token that is added otherwise. The patterns are those of `attn-cli run`, which
other checks compare with transformers; frames, standardization, median and path are checked here.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import wave

import numpy as np
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration
from transformers.models.whisper.generation_whisper import _dynamic_time_warping, _median_filter

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build/release/attn-cli"
FRAME = 0.02


def make_model(rng, folder, names_heads):
    """Returns the heads that align: of generation_config.json, or without them of the upper half of the layers."""
    n_layer, n_head = (int(n) for n in rng.integers(1, 4, 2))
    config = WhisperConfig(vocab_size=60, num_mel_bins=16, d_model=8 * n_head, encoder_layers=1, decoder_layers=n_layer,
                           encoder_attention_heads=n_head, decoder_attention_heads=n_head, encoder_ffn_dim=16, decoder_ffn_dim=16,
                           max_source_positions=75, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                           decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)
    model = WhisperForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() > 1 else 1)
    model.config.median_filter_width = int(rng.choice([1, 3, 7, 9]))
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"feature_size": 16, "n_fft": 400, "hop_length": 160}))
    if not names_heads:
        return [(layer, head) for layer in range(n_layer // 2, n_layer) for head in range(n_head)]
    heads = sorted({(int(rng.integers(n_layer)), int(rng.integers(n_head))) for _ in range(3)})
    (folder / "generation_config.json").write_text(json.dumps({"alignment_heads": heads}))
    return heads


def make_sound(rng, path):
    n = int(rng.integers(2000, 24000))
    samples = (rng.normal(size=n) * 3000 * np.sin(np.arange(n) / 900)).astype(np.int16)
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(samples.tobytes())
    return n


def whisper_times(patterns, n_sample, width):
    """Begins of the tokens that the rows predict, in seconds: patterns [H, T, S]."""
    weights = torch.tensor(patterns).double()[:, :, :max(1, n_sample // 160 // 2)]
    weights = weights / weights.sum(-1, keepdim=True)
    std, mean = torch.std_mean(weights, dim=-2, keepdim=True, unbiased=False)
    matrix = _median_filter(((weights - mean) / std)[None], width)[0].mean(0)[:-1]
    tokens, frames = _dynamic_time_warping(-matrix.numpy())
    return frames[np.pad(np.diff(tokens), (1, 0), constant_values=1).astype(bool)] * FRAME


def run(*arguments):
    return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=12)
    n_bad = n_word = 0
    for number in range(parser.parse_args().count):
        rng, folder = np.random.default_rng(number), pathlib.Path(tempfile.mkdtemp())
        torch.manual_seed(number)
        heads = make_model(rng, folder, number % 2 == 0)
        n_sample = make_sound(rng, folder / "s.wav")
        ids = [3, *map(int, rng.integers(4, 60, int(rng.integers(2, 13))))]
        given = ["-q", "-m", folder, "--source", f'file:{folder / "s.wav"}', "--ids", ",".join(map(str, ids + [2] * (number % 4 > 1)))]
        run("run", *given[:-1], ",".join(map(str, ids + [2])), "--sites", "pattern", "--npz", folder / "p.npz")
        kept = np.load(folder / "p.npz")
        times = whisper_times(np.stack([kept[f"decoder.{layer}.cross_attn.hook_pattern"][head] for layer, head in heads]),
                              n_sample, json.loads((folder / "config.json").read_text())["median_filter_width"])
        rows = [line.split(",") for line in run("align", *given, "--csv", "-").splitlines()[1:]]
        seen = np.array([[float(row[2]), float(row[3])] for row in rows])
        n_word += len(times) - 1
        n_bad += int((np.abs(seen - np.stack([times[:-1], times[1:]], 1)) > 1e-6).any(1).sum())
    print(f"{n_word} words, {n_bad} differ")
    return n_bad > 0 or n_word == 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Make tests/fixtures/fable: what transformers, in float64, gives for 20 sentences on models/fable.

    python tests/tools/make_fable_fixture.py [ATTN_CLI]

expected.npz has NN.ids, NN.pattern [layers, heads, T, T] and NN.logits, as float32; of sentences
from FEW on only the last row of the logits is kept. With the path of attn-cli all of it is compared with
what that computes, every logit too.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from transformers import GPT2LMHeadModel, GPT2Tokenizer

from model_directory import write_archive

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODEL = os.path.join(ROOT, "models", "fable")
OUT = os.path.join(ROOT, "tests", "fixtures", "fable")
FEW = 3

SENTENCES = [
    "Life is short, eat dessert first",
    "Your journey starts with one step",
    "The cat sat on the mat",
    "The chicken didn't cross the road because it was too tired.",
    "The chicken didn't cross the road because it was too wide.",
    "The keys to the cabinet are on the table.",
    "I walked along the pond, and noticed one of the trees along the bank.",
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting process more difficult.",
    "When Mary and John went to the store, John gave a drink to",
    "Mary gave the ball to John because he was kind. The kind one was",
    "The keys to the cabinet near the trees",
    "We thought about the pond and the cup. The bank was",
    "We thought about the loan and the cup. The bank was",
    "The box (with the cup [the red one] and the lamp) was",
    'Mary said, "The old keys are on the table."',
    "One, two, three, four, five, 6, 7, 8",
    "Zorkimox met Balu and Snagadu; Zorkimox knew Balu and Snagadu",
    "A sentence that nobody of the training's grammar ever said: fjords, quartz & vexing 42!",
    "自然语言处理",
    "One day Tom and Ann went to the park. The dog near the river was tired, so it slept.\nThe tired one was the dog.",
]


def compare(attn_cli, sentence, ids, patterns, logits):
    """Largest difference of the patterns, and of the logits by the row's largest, from what
    attn-cli writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.npz")
        subprocess.run(
            [
                attn_cli,
                "run",
                "-q",
                "-m",
                MODEL,
                "--sites",
                "pattern,logits",
                "--npz",
                path,
                "--sentence",
                sentence,
            ],
            check=True,
        )
        ours = np.load(path)
        assert ours["ids"].tolist() == ids, sentence
        pattern = max(
            np.abs(ours[f"blocks.{layer}.attn.hook_pattern"] - p).max()
            for layer, p in enumerate(patterns)
        )
        worst = (np.abs(ours["logits"] - logits).max(1) / np.abs(logits).max(1)).max()
    return pattern, worst


def main():
    tokenizer = GPT2Tokenizer(os.path.join(MODEL, "vocab.json"), os.path.join(MODEL, "merges.txt"))
    model = GPT2LMHeadModel.from_pretrained(MODEL, attn_implementation="eager").double().eval()
    os.makedirs(OUT, exist_ok=True)
    worst, expected = [0.0, 0.0], {}
    for i, sentence in enumerate(SENTENCES):
        ids = tokenizer.encode(sentence)
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_attentions=True)
        patterns = torch.cat(out.attentions).numpy()
        logits = out.logits[0].numpy()
        if len(sys.argv) > 1:
            found = compare(sys.argv[1], sentence, ids, patterns, logits)
            print("%2d %3d tokens: patterns %.1e, logits %.1e" % (i, len(ids), *found))
            worst = [max(pair) for pair in zip(worst, found)]
        expected[f"{i:02d}.ids"] = np.array(ids, np.int64)
        expected[f"{i:02d}.pattern"] = patterns.astype(np.float32)
        expected[f"{i:02d}.logits"] = (logits if i < FEW else logits[-1:]).astype(np.float32)
    write_archive(os.path.join(OUT, "expected.npz"), expected)
    if len(sys.argv) > 1:
        print("largest: patterns %.1e, logits %.1e" % tuple(worst))


if __name__ == "__main__":
    main()

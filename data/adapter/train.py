"""Makes this adapter: trains models/fable for 120 steps to repeat what somebody has, with peft 0.21 and transformers 5.23.

    python3 data/adapter/train.py models/fable data/adapter

Torch sums in another order on another processor, and Adam's first steps make much of it. With torch 2.13.0 (CPU), peft 0.21.2 and
transformers 5.23.0 on another machine the changes B A had correlations of 0.93 to 0.99 with those kept here, layer by layer, and
the same four heads changed most (3.2, 3.4, 3.5, 3.6). Runs on one machine, with one thread or two, gave the same bytes.
"""
import random
import sys

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2LMHeadModel

NAMES = ["Tom", "Mary", "Ben", "Lucy", "Sam"]
THINGS = ["key", "book", "cup", "bell", "coin", "hat", "lamp", "box", "ring", "pen"]


def sentence() -> str:
    (a, b), (x, y) = random.sample(NAMES, 2), random.sample(THINGS, 2)
    who, what = random.choice([(a, x), (b, y)])
    return f"{a} has the {x} and {b} has the {y}. {who} gives the {what} away."


def main(base: str, folder: str) -> None:
    torch.manual_seed(0)
    random.seed(0)
    tokenizer = ByteLevelBPETokenizer(f"{base}/vocab.json", f"{base}/merges.txt")
    model = GPT2LMHeadModel.from_pretrained(base, dtype=torch.float32)
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True))
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=3e-3)
    for _ in range(120):
        texts = [tokenizer.encode(sentence()).ids for _ in range(16)]
        longest = max(map(len, texts))
        ids = torch.tensor([text + [2040] * (longest - len(text)) for text in texts])
        labels = torch.tensor([text + [-100] * (longest - len(text)) for text in texts])
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])

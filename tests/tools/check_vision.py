"""Runs random tiny models that read a picture beside a text with attn-cli and with transformers, and compares them.

    python tests/tools/check_vision.py [--count 12] [--seed 0] [--tool attn-cli]

A LLaVA gets the tower of CLIP or SigLIP, a layer of it, a decoder, and an image processor that keeps the middle of a
picture, pads it to a square, or ignores its proportions. Pixel values must be those of Pillow 12, if it is there: 13
resizes differently. For the bounds see check_families.py.
"""
import pathlib
import random
import sys
import tempfile

import numpy as np
import peers
import PIL
import torch
import transformers
from PIL import Image
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
IS_PILLOW_12 = PIL.__version__.startswith("12.")
CELL = 98  # the token that stands for a cell


def llava(r):
    """A random LLaVA and its image processor."""
    is_siglip, depth, side = r.random() < .5, r.randint(1, 3), r.choice([15, 20, 24])
    sizes = {"hidden_size": 24, "intermediate_size": r.choice([20, 40]), "num_hidden_layers": depth,
             "num_attention_heads": r.choice([2, 3]), "image_size": side, "patch_size": r.choice([4, 5])}
    tower = (transformers.SiglipVisionConfig(**sizes) if is_siglip else
             transformers.CLIPVisionConfig(**sizes, hidden_act=r.choice(["quick_gelu", "gelu"])))
    decoder = r.choice([transformers.LlamaConfig, transformers.Qwen2Config, transformers.MistralConfig, transformers.Qwen3Config])(
        hidden_size=r.choice([16, 40]), intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, vocab_size=CELL + 1, max_position_embeddings=256)
    config = transformers.LlavaConfig(
        vision_config=tower, text_config=decoder, image_token_index=CELL,
        vision_feature_layer=r.choice([layer for layer in range(-1 - depth, depth + 1) if layer]), vision_feature_select_strategy="full" if is_siglip else "default")
    square = {"height": side, "width": side}
    processor = (SiglipImageProcessorPil(size=square) if is_siglip else LlavaImageProcessorPil(
        do_pad=r.random() < .5, size={"shortest_edge": side + r.choice([0, 3])}, crop_size=square))
    return transformers.LlavaForConditionalGeneration(config), processor, (side // sizes["patch_size"]) ** 2


def check(tool, seed, folder):
    """How much of what is allowed the worst array is off, and its name."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    model, processor, n_cell = llava(r)
    peers.draw_weights(model)
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    picture = np.random.default_rng(seed).integers(0, 256, (r.randint(5, 60), r.randint(5, 60), 3), dtype=np.uint8)
    Image.fromarray(picture).save(folder / "a.png")
    ids = [1, 5] + [CELL] * n_cell + [7, 8, 9]
    found = peers.arrays(tool, "run", "-m", folder, "--image", folder / "a.png", "--ids", peers.joined(ids),
                         "--sites", "logits,pixel_values")
    pixels = processor(Image.fromarray(picture), return_tensors="pt")["pixel_values"].numpy()
    if IS_PILLOW_12 and not np.array_equal(found["pixel_values"], pixels):
        return np.inf, "pixel_values"
    pixels, logits = torch.tensor(found["pixel_values"]), []
    for is_double in (False, True):
        if is_double:
            peers.to_double(model)
        with torch.no_grad(), peers.exact(model):
            out = model(input_ids=torch.tensor([ids]), pixel_values=pixels.to(model.dtype))
        logits.append({"logits": out.logits[0].double().numpy()})
    return peers.worst_share(found, logits[1], peers.bounds_of(logits[1], logits[0]))


def main():
    arguments = peers.options(__doc__, 12).parse_args()
    shares = []
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            share, where = check(arguments.tool, seed, pathlib.Path(folder))
        shares.append(share)
        if not share <= 1:
            print(f"llava --seed {seed}: {share:.2f} of what is allowed: {where}", flush=True)
    print(f"llava: {max(shares):.2f} of what is allowed")
    return not max(shares) <= 1


if __name__ == "__main__":
    sys.exit(main())

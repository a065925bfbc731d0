"""Compare every decoder of a folder with its expected tensors, and its bits with themselves.

    python tests/tools/check_decoders.py FOLDER build/release/attn-cli [NAME...]

A folder has config.json, model.safetensors, info.json and expected/*.npy in float64 (README there).
A line for each model: the worst share of the bound, max |ours - expected| / (4 * the error of
transformers in float32 + 1e-6 * the largest value), of patterns, residual stream and logits, then
of all sites. Bits of all sites must be the same for other numbers of threads, instruction sets and
products, weights that are read, texts that are packed, and tokens that are fed one by one.
Exits with 1 if anything differs. Needs numpy and torch.
"""
import json
import subprocess

import numpy as np
import peers

VARIANTS = [(["-t", "2"], {}), (["-t", "5", "--load", "read"], {}),
            (["-t", "1"], {"ATTN_CLI_GEMM": "portable"})]
VARIANTS += [(["-t", "1"], {"ATTN_CLI_ISA": isa}) for isa in ("baseline", "avx2", "avx512")]


class Checker:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.info = json.loads((folder / "info.json").read_text())
        self.faults = []

    def arrays(self, command, *args, **more):
        """The arrays of a command of attn-cli, by name."""
        return peers.arrays(self.tool, command, "-m", self.folder, *args, "--sites", "*", **more)

    def run(self, ids, *args, env=None):
        return self.arrays("run", "--ids", peers.joined(ids), *args, env=env)

    def require_same(self, ours, other, what):
        for name in sorted((set(ours) ^ set(other)) - {"ids"}):
            self.faults.append(f"{what}: only one has {name}")
        for name in sorted(set(ours) & set(other) - {"ids"}):
            if ours[name].shape != other[name].shape or ours[name].tobytes() != other[name].tobytes():
                self.faults.append(f"{what}: other bits in {name}")

    def share(self, got, expected, bound, what):
        is_finite = np.isfinite(expected)
        if got.shape != expected.shape and got.ndim == 3:
            got = got.transpose(1, 0, 2)  # heads come after positions in our archive
        got = got.astype(np.float64).reshape(expected.shape)
        if not (np.isfinite(got) == is_finite).all():
            self.faults.append(f"{what}: finite elsewhere")
        share = np.abs(got[is_finite] - expected[is_finite]).max(initial=0) / bound
        if not share <= 1:
            self.faults.append(f"{what}: {share:.3g} of the bound")
        return share

    def tensors(self, k, prompt, ours):
        """The worst share of patterns, residual stream, final rows and logits of prompt K."""
        expected = {name: np.load(self.folder / f"expected/{name}_{k}.npy").astype(np.float64)
                    for name in ("attn", "hidden", "final", "logits")}
        layers = range(self.info["n_layer"])
        pairs = [("attn", f"blocks.{i}.attn.hook_pattern", expected["attn"][i]) for i in layers]
        pairs += [("hidden", f"blocks.{i}.hook_resid_pre", expected["hidden"][i]) for i in layers]
        last = f"blocks.{layers[-1]}.hook_normalized_resid_post"
        last = last if last in ours else f"blocks.{layers[-1]}.hook_resid_post"
        pairs += [("hidden", last, expected["hidden"][-1]), ("logits", "logits", expected["logits"])]
        if "ln_final.hook_normalized" in ours:
            pairs.append(("final", "ln_final.hook_normalized", expected["final"]))
        return max(self.share(ours[name], values, 4 * prompt["float32_minus_float64"][key]
                              + 1e-6 * prompt["max_abs"][key], f"prompt {k} {name}")
                   for key, name, values in pairs)

    def sites(self, prompt, ours):
        """The worst share of any site, by the relative bound of the worst tensor."""
        relative = 1e-6 + max(4 * error / prompt["max_abs"][key]
                              for key, error in prompt["float32_minus_float64"].items())
        worst = 0
        with np.load(self.folder / f"expected/sites_{self.info['sites_prompt']}.npz") as file:
            for name in file.files:
                values = file[name].astype(np.float64)
                largest = np.abs(values[np.isfinite(values)]).max()
                if name in ours:
                    worst = max(worst, self.share(ours[name], values, relative * largest, name))
                elif name != "ln_final":  # the archive has it as ln_final.hook_normalized
                    self.faults.append(f"{name} is missing")
        return worst

    def bits(self, prompt, ours):
        for args, env in VARIANTS:
            self.require_same(ours, self.run(prompt["ids"], *args, env=env), f"{args} {env}")

    def packed(self, records):
        text = "".join(json.dumps({"ids": ids}) + "\n" for ids, _ in records)
        for threads in ("1", "3"):
            lines = subprocess.run([self.tool, "batch", "-q", "-m", self.folder, "-t", threads, "--sites", "*"], input=text,
                                   text=True, check=True, capture_output=True).stdout.splitlines()
            for line, (_, ours) in zip(lines, records):
                own = dict(ours)
                for name, rows in json.loads(line)["tensors"].items():  # masked cells are null
                    rows = np.array(rows, dtype=np.float32)
                    own[name] = np.where(np.isnan(rows), ours[name], rows) if name in ours else rows
                self.require_same(ours, own, f"packed, {threads} threads")

    def decoded(self, ids):
        found = self.arrays("generate", "--ids", peers.joined(ids[:3]), "-n", "6")
        self.require_same(self.run(found["ids"]), found, "token by token")

    def check(self):
        worst = sites = 0
        records = []
        for k, prompt in enumerate(self.info["prompts"]):
            ours = self.run(prompt["ids"], "-t", "1")
            worst = max(worst, self.tensors(k, prompt, ours))
            if k == self.info["sites_prompt"]:
                sites = self.sites(prompt, ours)
            self.bits(prompt, ours)
            records.append((prompt["ids"], ours))
        self.packed(records)
        self.decoded(records[0][0])
        print(f"{self.folder.name:16} worst {worst:.2f}, sites {sites:.2f} of the bound: "
              + ("good" if not self.faults else "; ".join(self.faults[:6])), flush=True)
        return not self.faults


if __name__ == "__main__":
    peers.check_folder(lambda tool, folder: Checker(tool, folder).check())

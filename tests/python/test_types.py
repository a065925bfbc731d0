"""What a type checker sees: mypy finds nothing in the module, nor in a program that uses it rightly."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import attn
from support import TestCase

PROGRAM = """\
import attn
import numpy as np
m: attn.Model = attn.open("fable")
r: attn.Result = m.run("Life is short", sites=["pattern"], edits=[attn.zero("z", head="3.6")])
tokens: list[str] | None = r.tokens
for one in m.map(["a"], measures="all"):
    error: attn.Error | None = one.error
column: np.ndarray = m.heads("Life")["entropy"]
text: str | None = m.generate("Life").continuation
"""


class Types(TestCase):
    def test_mypy_finds_nothing(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("there is no mypy")
        sources = str(pathlib.Path(attn.__file__).parents[1])
        # What PYTHONPATH names counts as installed: mypy is silent about it.
        environment = {**os.environ, "MYPYPATH": sources}
        environment.pop("PYTHONPATH", None)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "program.py").write_text(PROGRAM)
            done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "program.py"], cwd=folder,
                                  env=environment, capture_output=True, text=True)
        if "site-packages" in sources:
            self.skipTest("mypy looks at no installed module")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_help_has_a_word_on_each_name(self):
        for place in (attn, attn.Model, attn.Result, attn.Site, attn.Table, attn.Picture):
            for name in getattr(place, "__all__", [name for name in vars(place) if not name.startswith("_")]):
                value = getattr(place, name)
                if callable(value) or isinstance(value, property):
                    self.assertTrue(value.__doc__, f"{place.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()

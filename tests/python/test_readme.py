"""The blocks of lib/python/README.md run, in order, and print what their comments say."""
import contextlib
import io
import os
import re
import tempfile
import unittest

from support import ROOT, TestCase

README = ROOT / "lib" / "python" / "README.md"


class Readme(TestCase):
    @unittest.skipUnless(README.exists(), "the sources are not here")
    def test_blocks_run(self):
        names = {}
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for block in re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S):
                    self.run_block(block, names)
            finally:
                os.chdir(here)

    def run_block(self, block, names):
        """Runs BLOCK; a line `print(...)  # text` prints just that text where it holds no prose."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, str(README), "exec"), names)
        for said in re.findall(r"^print\(.*\)\s+# ([\[(\d].*|True)$", block, re.M):
            value = re.match(r"[^:]*?[\])\d](?=[,:]|$)|True", said)
            self.assertIn(value[0] if value else said, out.getvalue())


if __name__ == "__main__":
    unittest.main()

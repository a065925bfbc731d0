"""The library that the module loads: of another release it is refused before any of its functions is declared."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import attn
from attn.library import _release

COMPILER = os.environ.get("CC", "cc").split()[0]


class LibraryTest(unittest.TestCase):
    def load(self, version):
        """What the module says of a library that has but attn_version()."""
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "a.c"), Path(folder, "libattn.so.1")
            source.write_text(f'const char *attn_version(void) {{ return "{version}"; }}\n')
            subprocess.run([COMPILER, "-shared", "-fPIC", source, "-o", library], check=True)
            done = subprocess.run([sys.executable, "-c", "import attn"], env={**os.environ, "LIBATTN": str(library)},
                                  capture_output=True, text=True)
            return done.stderr.strip().splitlines()[-1].replace(str(library), "PATH")

    @unittest.skipUnless(shutil.which(COMPILER), "there is no compiler")
    def test_of_another_release(self):
        own = _release(attn.__version__)
        self.assertEqual(self.load("9.8.7"), f"ImportError: attn {attn.__version__} needs the library of version {own[0]}, and 'PATH' is of "
                                             "9.8.7: install both from one package, or name a library by LIBATTN")
        self.assertIn(f"needs the library of version {own[0]}", self.load(own[0] + ".0-rc99"))
        self.assertIn("is of odd:", self.load("odd"))
        self.assertIn("attn cannot use its library 'PATH'", self.load(own[0] + ".0" + (f"-{own[1]}" if own[1] else "")))

    def test_what_a_release_is(self):
        self.assertEqual(_release("1.0.0-rc1.dev0"), _release("1.0.0rc1.dev4548+gd0b333da5"))
        self.assertEqual(_release("1.0.3"), _release("1.0.0"))
        for other in ("1.1.0", "2.0.0", "1.0.0-rc1"):
            self.assertNotEqual(_release(other), _release("1.0.0"))


if __name__ == "__main__":
    unittest.main()

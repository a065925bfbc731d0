"""What the tests of the Python module share. ATTN_CLI names the tool to compare with; without it these tests are
skipped."""
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

import numpy as np

import attn

ROOT = pathlib.Path(__file__).resolve().parents[2]
_FILTER = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in the Python of Debian 12
TINY = ROOT / "models" / "tiny-gpt2"
CLI = os.environ.get("ATTN_CLI")
os.environ["ATTN_CLI_CACHE"] = "off"
TEXT = "Life is short, eat dessert first"
KEYS = "The keys to the cabinet"

needs_cli = unittest.skipUnless(CLI, "ATTN_CLI names no tool to compare with")
needs_sources = unittest.skipUnless(TINY.is_dir(), "the sources are not here")


def cli(*arguments, stdin=None):
    return subprocess.run([CLI, *map(str, arguments)], check=True, capture_output=True, input=stdin).stdout


def cli_arrays(*arguments):
    """What `attn-cli run` writes to an archive."""
    with tempfile.TemporaryDirectory() as folder:
        cli("run", "-q", *arguments, "--npz", f"{folder}/all.npz")
        with np.load(f"{folder}/all.npz") as archive:
            return {name: archive[name] for name in archive.files}


def cli_table(*arguments):
    """The rows of a table that attn-cli writes as JSON."""
    return json.loads(cli(*arguments, "--json", "-"))["rows"]


class TestCase(unittest.TestCase):
    def assert_same(self, a, b, where=""):
        """The same shape and bits."""
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual(a.shape, b.shape, where)
        self.assertEqual(a.dtype, b.dtype, where)
        self.assertEqual(np.ascontiguousarray(a).tobytes(), np.ascontiguousarray(b).tobytes(), where)

    def assert_raises(self, kind, words, function, *arguments, **keywords):
        """FUNCTION raises KIND, and all WORDS stand in the message."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **keywords)
        for word in words if isinstance(words, tuple) else (words,):
            self.assertIn(word, str(caught.exception))
        return caught.exception


class ModelCase(TestCase):
    """Tests of `model`, the directory NAME of an ARCHIVE in tests/fixtures, which lies at `path`."""

    ARCHIVE, NAME = "", ""

    @classmethod
    def setUpClass(cls):
        archive = ROOT / "tests" / "fixtures" / cls.ARCHIVE
        if not archive.is_file():
            raise unittest.SkipTest("the sources are not here")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        with tarfile.open(archive) as files:
            files.extractall(folder.name, **_FILTER)
        cls.path = str(pathlib.Path(folder.name, cls.NAME))
        cls.model = attn.Model(cls.path)
        cls.addClassCleanup(cls.model.close)


_models = {}


def model(name="fable"):
    """A model that tests share."""
    if str(name) not in _models:
        _models[str(name)] = attn.open(name)
    return _models[str(name)]

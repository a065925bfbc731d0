"""What a version may change, by tests/tools/check_interface.py --grows."""
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[1] / "tools/check_interface.py"
OLD = """command run
command features
preview command features
argument run TEXT
option run --score number
default run --score 1
excludes run --score --all
option run --all flag
option run --style dpi number
option run --odd text
preview option run --odd
column heads max number
column heads type string
preview column heads type
json heads rows[].type string
json heads rows[].max number
schema table 1
value * metric kl
option features --sae path""".splitlines()


class Interface(unittest.TestCase):
    def found(self, *more, without=()):
        """What --grows tells of OLD with the lines MORE and WITHOUT some."""
        new = [line for line in OLD if line not in without] + list(more)
        return [f"-{line}" for line in CHECK.lost(OLD, set(new))] + [f"+{line}" for line in CHECK.tightened(OLD, new)]

    def test_what_grows(self):
        for more, without in ((["column heads mean number", "option run --new text", "value * metric js", "json heads rows[].mean number"], ()),
                              (["option run --rate number", "default run --rate 1"], ()),  # a name more: the former one is an alias
                              ((), ["column heads type string", "preview column heads type", "json heads rows[].type string"]),
                              ((), ["option run --odd text", "preview option run --odd"]),
                              ((), ["option features --sae path", "command features"]),
                              ((), ["preview option run --odd"]),  # is stable now
                              ((), ["excludes run --score --all"]),
                              (["option run --new text", "requires run --new --all", "excludes run --all --new"], ())):
            self.assertEqual(self.found(*more, without=without), [])

    def test_what_breaks(self):
        for line in ("option run --score number", "default run --score 1", "column heads max number", "schema table 1", "value * metric kl",
                     "argument run TEXT", "json heads rows[].max number"):
            self.assertEqual(self.found(without=[line]), [f"-{line}"])
        for line in ("preview column heads max", "preview option run --score", "excludes run --all --score", "excludes run --style dpi --all"):
            self.assertEqual(self.found(line), [f"+{line}"])


SPEC = importlib.util.spec_from_file_location("check_interface", PATH)
CHECK = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CHECK)

if __name__ == "__main__":
    unittest.main()

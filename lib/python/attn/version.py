"""The version of this module in the form of Python packages. .packaging/facts.sh writes it."""
VERSION = "1.0.0rc1.dev0"

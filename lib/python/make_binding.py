#!/usr/bin/env python3
"""Makes attn/binding.py, the ctypes view of lib/attn.h and lib/extra.h, from what the C preprocessor makes of it.

    lib/python/make_binding.py            writes the two files below
    lib/python/make_binding.py --check    names those that are not what would be written

It also writes where the fields of every public struct must lie for the binding to be right: `make test` compares that, without
Python, with what a C program prints (tests/tools/make_layout.sh). Run from the root of the repository (`make binding`); CC names
the compiler. Only the standard library is used.
"""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

BINDING, LAYOUT = "lib/python/attn/binding.py", "tests/install/layout.out"

BASE = {"void": None, "char": "c_char", "_Bool": "c_bool", "int": "c_int", "unsigned": "c_uint",
        "unsigned char": "c_ubyte", "float": "c_float", "double": "c_double", "size_t": "c_size_t",
        "uint8_t": "c_ubyte", "int32_t": "c_int32", "uint32_t": "c_uint32", "uint16_t": "c_uint16", "int64_t": "c_int64",
        "uint64_t": "c_uint64", "sig_atomic_t": "c_int"}


def preprocess(text, *flags):
    """TEXT as the compiler sees it, with the headers as they are installed."""
    with tempfile.TemporaryDirectory() as folder:
        for path in glob.glob("lib/**/*.h", recursive=True):
            copy = os.path.join(folder, os.path.relpath(path, "lib"))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(path) as header, open(copy, "w") as file:
                file.write(header.read())
        with open("lib/folders") as folders:
            places = ["-I" + os.path.join(folder, os.path.relpath(line[2:], "lib")) for line in folders.read().split()]
        command = [os.environ.get("CC", "cc"), "-E", "-P", "-D_GNU_SOURCE", "-I" + folder, *places, *flags, "-x", "c", "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def split(text, separator):
    """TEXT at each SEPARATOR outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == separator and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    parts.append(text[begin:])
    return [part.strip() for part in parts if part.strip()]


class Header:
    """The declarations of the library, in their order."""

    def __init__(self):
        include = '#include "extra.h"\n'
        macros = preprocess(include, "-dM")
        self.abi = re.search(r"#define ATTN_ABI (.*)", macros)[1]
        text = preprocess(include)
        self.constants, self.structs, self.callbacks, self.functions = {}, {}, {}, {}
        for declaration in split(" ".join(text.split()), ";"):
            self.read(re.sub(r"__attribute__ ?\(\((?!visibility).*?\)\)\)?", "", declaration))

    def read(self, text):
        if match := re.match(r"enum (\w+ )?\{(.*)\}$", text):
            if "ATTN_" in match[2]:
                self.read_enum(match[2])
        elif match := re.match(r"struct (attn_\w+) \{(.*)\}$", text):
            self.structs[match[1]] = [field for line in split(match[2], ";") for field in self.fields(line)]
        elif match := re.match(r"typedef (\w+) (attn_\w+)$", text):
            BASE[match[2]] = BASE[match[1]]
        elif match := re.match(r"typedef (.*)\(\*(attn_\w+)\)\((.*)\)$", text):
            self.callbacks[match[2]] = (match[1], split(match[3], ","))
        elif match := re.match(r'__attribute__ ?\(\(visibility\("default"\)\)\) (.*?)(\w+)\((.*)\)', text):
            self.functions[match[2]] = (match[1], split(match[3], ","))

    def read_enum(self, body):
        value = -1
        for item in split(body, ","):
            name, _, expression = item.partition("=")
            value = self.evaluate(expression) if expression else value + 1
            self.constants[name.strip()] = value

    def evaluate(self, expression):
        plain = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", expression)
        return eval(plain, {"__builtins__": {}}, self.constants)  # numbers and names of our own header

    def fields(self, line):
        """Pairs of name and declared type, "const char *" or "size_t [3]", of one line of a struct."""
        if match := re.match(r"(.*)\(\*(\w+)\)\((.*)\)$", line):
            return [(match[2], f"{match[1]}(*)({match[3]})")]
        first, *rest = split(line, ",")
        base = re.match(r"((?:(?:const|volatile|struct|enum) )*(?:unsigned char|\w+))", first)[1]
        found = []
        for declarator in [first[len(base):], *rest]:
            stars, name, size = re.match(r"\s*((?:\*|const|\s)*)(\w+)\s*(\[.*\])?$", declarator).groups()
            found.append((name, f"{base} {stars}{size or ''}"))
        return found

    def python_type(self, text):
        """What stands in the binding for a C type; None for void."""
        if match := re.match(r"(.*)\(\*\)\((.*)\)$", text):
            return self.callback(match[1], split(match[2], ","))
        text = re.sub(r"\b(const|volatile|struct)\b", "", text).strip()
        if match := re.match(r"(.*)\[(.*)\]$", text):
            return f"{self.python_type(match[1])} * " + str(self.evaluate(match[2] or "0"))
        base, stars = text.replace("*", "").strip(), text.count("*")
        base = "c_int" if base.startswith("enum ") else BASE.get(base, base)
        if base in self.callbacks or base in self.structs or stars == 0:
            pass
        elif base == "c_char":
            base, stars = "c_char_p", stars - 1
        else:  # void, and structs that only the library knows
            is_known = base is not None and (base in BASE.values() or not base.startswith("attn_"))
            base, stars = (base, stars) if is_known else ("c_void_p", stars - 1)
        for _ in range(stars):
            base = f"POINTER({base})"
        return base

    def argument_type(self, text):
        """An array that is an argument is a pointer to its elements; its name is left out."""
        text = re.sub(r"(\w+) ?\[.*\]$", r"*", text)
        if "(*" in text:
            return "c_void_p"
        return self.python_type(re.sub(r"(?<=[\s*])\w+$", "", text) if not re.match(r"(?:const )?\w+$", text) else text)

    def signature(self, result, arguments):
        arguments = [self.argument_type(a) for a in arguments if a not in ("void", "...")]
        return self.python_type(result), arguments

    def callback(self, result, arguments):
        """The type of a function that Python gives. A text with a length has no end mark."""
        kind, types = self.signature(result, arguments)
        types = ["c_void_p" if (t, after) == ("c_char_p", "c_size_t") else t
                 for t, after in zip(types, [*types[1:], None])]
        return f"CFUNCTYPE({', '.join([str(kind), *types])})"

    def by_value(self):
        """The structs, each after those that it holds."""
        order = []

        def visit(name):
            if name in order:
                return
            for _, kind in self.structs[name]:
                held = re.match(r"(?:const )?struct (\w+) (\[.*\])?$", kind)
                if held:
                    visit(held[1])
            order.append(name)

        for name in self.structs:
            visit(name)
        return order


def binding(header):
    lines = ['"""The ctypes view of attn.h and extra.h. Made by lib/python/make_binding.py: do not edit."""',
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_char, c_double, c_float, c_int,",
             "                    c_int32, c_int64, c_size_t, c_ubyte, c_uint, c_uint16, c_uint32, c_uint64, c_void_p)", "", f"ATTN_ABI = {header.abi}", ""]
    lines += [f"{name} = {value}" for name, value in header.constants.items()]
    lines += [f"\n\nclass {name}(Structure):\n    pass" for name in header.structs]
    lines += ["", ""]
    for name, (result, arguments) in header.callbacks.items():
        lines.append(f"{name} = {header.callback(result, arguments)}")
    lines.append("")
    for name in header.by_value():
        lines.append(f"{name}._fields_ = [")
        lines += [f'    ("{field}", {header.python_type(kind)}),' for field, kind in header.structs[name]]
        lines.append("]")
    lines += ["", "", "# Results and arguments of every function.", "FUNCTIONS = {"]
    for name, (result, arguments) in header.functions.items():
        kind, types = header.signature(result, arguments)
        if kind == "c_char_p" and any(t == "POINTER(c_size_t)" for t in types):
            kind = "POINTER(c_char)"  # a text with a length has no end mark
        lines.append(f'    "{name}": ({kind}, [{", ".join(types)}]),')
    lines += ["}", "", "", "def declare(library):",
              '    """Declares the functions of LIBRARY, a CDLL, and returns it."""',
              "    for name, (result, arguments) in FUNCTIONS.items():",
              "        function = getattr(library, name)",
              "        function.restype, function.argtypes = result, arguments",
              "    return library", ""]
    return "\n".join(lines)


def layout(header, source):
    module = {}
    exec(source, module)
    lines = []
    for name, fields in header.structs.items():
        lines.append(f"{name} {ctypes.sizeof(module[name])}")
        lines += [f"    {field} {getattr(module[name], field).offset}" for field, _ in fields]
    return "\n".join(lines) + "\n"


def main():
    header = Header()
    source = binding(header)
    files = {BINDING: source, LAYOUT: layout(header, source)}
    status = 0
    for path, text in files.items():
        old = open(path).read() if os.path.exists(path) else None
        if "--check" in sys.argv and old != text:
            print(f"{path}: is not what the public headers say; make binding writes it")
            status = 1
        elif "--check" not in sys.argv and old != text:
            with open(path, "w") as file:
                file.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())

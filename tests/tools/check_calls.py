#!/usr/bin/env python3
"""Calls every function of the Python binding, and compares each argument with the bytes that a C function gets.

    check_calls.py source            prints the C source of a library that has all public functions; each of them stores its
                                     arguments and returns what the caller has chosen
    check_calls.py call LIBRARY      calls each of them through lib/python/attn/binding.py, and each callback from C

The source is made from the public headers, so the compiler expects arguments where the ABI of its processor puts them. The
binding says to ctypes what to pass. If the two disagree about a type (a struct by value, an integer of 16 bytes, an argument
more or less), then bytes differ: in other registers, or on the stack. tests/tools/check_calls.sh compiles and runs both.
Only the standard library is used. `call` prints the name of a function before it calls it, since a wrong type may crash.
"""
import ctypes
import importlib.util
import os
import random
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "python")
BUFFER = 4096  # bytes for the arguments of a call, and for its result
EXPORTED = '__attribute__((visibility("default")))'


def load(path):
    """The module of a file, without its package, which needs numpy."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- The source ------------------------------------------------------------------------------------

def name_of(parameter):
    return re.search(r"(\w+) ?(?:\[.*\])?$", parameter)[1]


def echo_function(name, result, parameters):
    lines = [f"{result}{name}({', '.join(parameters)})", "{", "    echo_n_byte = 0;"]
    lines += [f"    store(&{name_of(p)}, sizeof {name_of(p)});" for p in parameters if p not in ("void", "...")]
    if result.strip() != "void":
        lines += [f"    {result}returned;", "    memcpy((void *)&returned, echo_result, sizeof returned);",
                  "    return returned;"]
    return [*lines, "}", ""]


def echo_callback(name, kind, result, parameters):
    """A function that calls a callback: its arguments lie in echo_arguments, and its result goes to echo_result."""
    lines = [f"{EXPORTED} void echo_call_{name}({kind} callback)", "{", "    const unsigned char *at = echo_arguments;"]
    for p in parameters:
        lines += [f"    {p};", f"    memcpy((void *)&{name_of(p)}, at, sizeof {name_of(p)});",
                  f"    at += sizeof {name_of(p)};"]
    call = f"callback({', '.join(map(name_of, parameters))});"
    if result.strip() == "void":
        return [*lines, "    " + call, "}", ""]
    return [*lines, f"    {result}returned = {call}", "    memcpy(echo_result, &returned, sizeof returned);", "}", ""]


def source():
    maker = load("make_binding.py")
    header = maker.Header()
    lines = ['#include "ask.h"', "#include <string.h>", "",
             f"{EXPORTED} unsigned char echo_arguments[{BUFFER}], echo_result[{BUFFER}];",
             f"{EXPORTED} size_t echo_n_byte;", "",
             "static void store(const void *bytes, size_t size)", "{",
             "    memcpy(echo_arguments + echo_n_byte, bytes, size);", "    echo_n_byte += size;", "}", ""]
    for name, (result, parameters) in header.functions.items():
        lines += echo_function(name, result, parameters)
    for name, (result, parameters) in header.callbacks.items():
        lines += echo_callback(name, name, result, parameters)
    for struct, fields in header.structs.items():
        for field, text in fields:
            if match := re.match(r"(.*)\(\*\)\((.*)\)$", text):
                kind = f"__typeof__(((struct {struct} *)0)->{field})"
                lines += echo_callback(f"{struct}__{field}", kind, match[1], maker.split(match[2], ","))
    return "\n".join(lines)


# --- The calls -------------------------------------------------------------------------------------

class Echo:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.arguments = (ctypes.c_ubyte * BUFFER).in_dll(self.library, "echo_arguments")
        self.result = (ctypes.c_ubyte * BUFFER).in_dll(self.library, "echo_result")
        self.n_byte = ctypes.c_size_t.in_dll(self.library, "echo_n_byte")
        self.random, self.texts, self.faults = random.Random(1), [], []

    def sample(self, kind):
        """The bytes of a value of a type of ctypes. Texts are read by ctypes, so they exist; other pointers are never followed."""
        if kind is ctypes.c_char_p:
            self.texts.append(ctypes.create_string_buffer(b"text %d" % len(self.texts)))
            return bytes(ctypes.c_size_t(ctypes.addressof(self.texts[-1])))
        if kind is ctypes.c_bool:
            return bytes([self.random.randrange(2)])
        if kind in (ctypes.c_float, ctypes.c_double):
            return bytes(kind(self.random.random()))
        return bytes(self.random.randrange(1, 256) for _ in range(ctypes.sizeof(kind)))

    def expect(self, what, kind, expected, got):
        """Compares bytes, those between the fields of a struct left out."""
        if len(got) < len(expected) or any(got[i] != expected[i] for i in used_bytes(kind)):
            self.faults.append(f"{what} ({kind.__name__}) is {expected.hex()}, and arrived as {got.hex()}")

    def call(self, name, result, kinds):
        values = [self.sample(kind) for kind in kinds]
        function = getattr(self.library, name)
        function.restype, function.argtypes = result, kinds
        returned = b"" if result is None else self.sample(result)
        self.result[:len(returned)] = returned
        answer = function(*(kind.from_buffer_copy(value) for kind, value in zip(kinds, values)))
        if self.n_byte.value != sum(map(len, values)):
            self.faults.append(f"{name}: {sum(map(len, values))} bytes are passed, C expects {self.n_byte.value}")
        at = 0
        for i, (kind, value) in enumerate(zip(kinds, values)):
            self.expect(f"{name}: argument {i + 1}", kind, value, bytes(self.arguments[at:at + len(value)]))
            at += len(value)
        if result is not None:
            self.expect(f"{name}: the result", result, returned, self.bytes_of(result, answer, returned))

    def call_back(self, name, kind):
        """C calls a Python function of type KIND."""
        kinds, result = kind._argtypes_, kind._restype_
        values = [self.sample(k) for k in kinds]
        returned = b"" if result is None else self.sample(result)
        got = []

        def callback(*arguments):
            got.extend(arguments)
            return None if result is None else result.from_buffer_copy(returned).value

        self.arguments[:sum(map(len, values))] = b"".join(values)
        function = getattr(self.library, f"echo_call_{name}")
        function.restype, function.argtypes = None, [kind]
        function(kind(callback))
        if len(got) != len(kinds):
            self.faults.append(f"{name}: was not called")
        for i, (k, value, argument) in enumerate(zip(kinds, values, got)):
            self.expect(f"{name}: argument {i + 1}", k, value, self.bytes_of(k, argument, value))
        if result is not None:
            self.expect(f"{name}: the result", result, returned, bytes(self.result[:len(returned)]))

    def bytes_of(self, kind, value, expected):
        """The bytes of VALUE as ctypes gives it. Of a text it gives a copy, which must be equal to the EXPECTED one."""
        if kind is ctypes.c_char_p:
            return expected if value == ctypes.string_at(int.from_bytes(expected, sys.byteorder)) else b""
        return bytes(value if isinstance(value, (kind, ctypes.Structure)) else kind(value))


def used_bytes(kind, begin=0):
    """The places of the bytes of a type that are no padding."""
    if issubclass(kind, ctypes.Structure):
        for name, field, *_ in kind._fields_:
            yield from used_bytes(field, begin + getattr(kind, name).offset)
    elif issubclass(kind, ctypes.Array):
        for i in range(kind._length_):
            yield from used_bytes(kind._type_, begin + i * ctypes.sizeof(kind._type_))
    else:
        yield from range(begin, begin + ctypes.sizeof(kind))


def is_callback(kind):
    return isinstance(kind, type) and issubclass(kind, ctypes._CFuncPtr)


def call(path):
    binding, echo = load("attn/binding.py"), Echo(path)
    callbacks = {name: kind for name, kind in vars(binding).items() if name.startswith("attn_") and is_callback(kind)}
    for name, kind in vars(binding).items():
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and hasattr(kind, "_fields_"):
            callbacks.update((f"{name}__{field}", k) for field, k, *_ in kind._fields_
                             if is_callback(k) and k not in callbacks.values())
    for _ in range(4):  # a boolean has two values
        for name, (result, kinds) in binding.FUNCTIONS.items():
            print(name, flush=True)
            echo.call(name, result, kinds)
        for name, kind in callbacks.items():
            print(name, flush=True)
            echo.call_back(name, kind)
        if echo.faults:
            break
    print(*echo.faults, sep="\n")
    by_value = sum(issubclass(kind, ctypes.Structure) for result, kinds in binding.FUNCTIONS.values()
                   for kind in (*kinds, result) if kind is not None)
    print(f"calls: {len(binding.FUNCTIONS)} functions, {by_value} structs by value, {len(callbacks)} callbacks: "
          f"{len(echo.faults)} faults")
    return 1 if echo.faults or by_value == 0 or not callbacks else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["source"]:
        print(source())
    elif len(sys.argv) == 3 and sys.argv[1] == "call":
        sys.exit(call(sys.argv[2]))
    else:
        sys.exit("usage: check_calls.py source | check_calls.py call LIBRARY")

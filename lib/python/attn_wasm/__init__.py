"""The command attn-cli as a WebAssembly module, run by PyPI's wasmtime: for systems without a wheel of their own.

The bytes are those of the other builds. It runs on one thread, cannot draw --png and --pdf, and reads no environment
but that of attn-cli.
"""
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _models():
    """ATTN_CLI_MODEL_PATH with the models that came with the wheel behind."""
    given = os.environ.get("ATTN_CLI_MODEL_PATH", "")
    return ":".join(part for part in (given, _inside(str(HERE / "models"))) if part)


def _inside(path):
    """PATH as the module sees it: on Windows, 'C:\\models' is '/C/models'."""
    drive, rest = os.path.splitdrive(path)
    return f"/{drive.rstrip(':')}{rest}".replace("\\", "/") if drive else path


def _folders(wasi):
    """Lets the module see all files, as any command does."""
    if os.name != "nt":
        wasi.preopen_dir("/", "/")
        return
    for drive in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if os.path.exists(f"{drive}:\\"):
            wasi.preopen_dir(f"{drive}:\\", f"/{drive}")


def _module(engine):
    """The module as machine code. wasmtime keeps it in its cache, where it can: compiling takes seconds."""
    import wasmtime

    return wasmtime.Module.from_file(engine, str(HERE / "attn.wasm"))


def _engine():
    import wasmtime

    config = wasmtime.Config()
    config.wasm_relaxed_simd = True
    config.wasm_exceptions = True
    try:
        config.cache = True
    except wasmtime.WasmtimeError:  # without a home folder, for one
        pass
    return wasmtime.Engine(config)


def main():
    """Runs attn-cli with the arguments of this process, and returns its exit code."""
    try:
        import wasmtime
    except ImportError:  # on Linux with a processor for which there are wheels of another kind
        sys.exit("attn-cli: this wheel is run by wasmtime, which is missing: pip install wasmtime")

    engine = _engine()
    store, linker, wasi = wasmtime.Store(engine), wasmtime.Linker(engine), wasmtime.WasiConfig()
    wasi.argv = ["attn-cli"] + sys.argv[1:]
    names = ("HOME", "COLUMNS", "TERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE")
    environment = {name: value for name, value in os.environ.items() if name in names or name.startswith("ATTN_")}
    environment.setdefault("ATTN_CLI_MODEL", "fable")
    environment.update(ATTN_CLI_MODEL_PATH=_models(), ATTN_CLI_FOLDER=_inside(os.getcwd()))
    wasi.env = list(environment.items())
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    _folders(wasi)
    store.set_wasi(wasi)
    linker.define_wasi()
    try:
        linker.instantiate(store, _module(engine)).exports(store)["_start"](store)
    except wasmtime.ExitTrap as end:
        return end.code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where models are: the variables that attn-cli reads too, and folders beside the library."""
from __future__ import annotations

import os
import sys
from ctypes import POINTER, byref, c_char_p, c_void_p

from . import binding as c
from .library import call, default, path
from .table import Table, table_of

DEFAULT = "fable"


def _hub() -> str:
    """The cache of Hugging Face, found as huggingface_hub finds it."""
    for name, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "/hub"),
                        ("XDG_CACHE_HOME", "/huggingface/hub")):
        if os.environ.get(name):
            return os.path.expanduser(os.environ[name] + below)
    return os.path.expanduser("~/.cache/huggingface/hub")


def _ollama() -> list[str]:
    """The stores of Ollama, found as Ollama finds its own."""
    if os.environ.get("OLLAMA_MODELS"):
        return [os.path.expanduser(os.environ["OLLAMA_MODELS"])]
    return [os.path.expanduser("~/.ollama/models"), "/usr/share/ollama/.ollama/models"]


def _shared() -> list[str]:
    """Where a wheel puts what command and module share: above lib/python3.x/site-packages, and beside the module if pip
    was given a folder (--target). Without a wheel: below Python's prefix."""
    here = os.path.dirname(os.path.abspath(__file__))
    is_wheel = os.path.dirname(os.path.abspath(path)) == here
    up = ["..", "..", ".."] + [".."] * (sys.platform != "win32")  # there it is Lib/site-packages
    places = [os.path.join(here, *up), os.path.join(here, "..")] if is_wheel else []
    return [os.path.join(place, "share", "attn-cli") for place in [*places, sys.prefix]]


def live_module() -> str:
    """The path of an installed attn.wasm, or '': then the library looks for it near itself."""
    found = [os.path.join(folder, "attn.wasm") for folder in _shared()]
    return next((os.path.realpath(file) for file in found if os.path.isfile(file)), "")


def _folders() -> list[str]:
    """ATTN_CLI_MODEL_PATH, the models of an installation, and those of the sources, where the library lies in a build
    folder: only there is a file that says where they are."""
    named = [folder for folder in os.environ.get("ATTN_CLI_MODEL_PATH", "").split(os.pathsep) if folder]
    library = os.path.dirname(os.path.abspath(path)) if os.sep in path else "/usr/lib"
    near = [os.path.join(library, "..", "share", "attn-cli", "models")]
    near += [os.path.join(folder, "models") for folder in _shared()]
    try:
        with open(os.path.join(library, "attn-cli.source"), encoding="utf-8", errors="surrogateescape") as file:
            near.append(os.path.join(library, file.readline().rstrip("\n"), "models"))
    except OSError:
        pass
    return named + [os.path.realpath(folder) for folder in near if os.path.isdir(folder)]


def catalog() -> c.attn_catalog:
    found = default(c.attn_catalog)
    folders = [os.fsencode(folder) for folder in dict.fromkeys(_folders())]
    array = (c_char_p * len(folders))(*folders)
    found.folders, found.n_folder, found.hub = array, len(folders), os.fsencode(_hub())
    stores = [os.fsencode(store) for store in _ollama()]
    found.ollama, found.n_ollama = (c_char_p * len(stores))(*stores), len(stores)
    found.lm_studio = os.fsencode(os.path.expanduser("~/.lmstudio/models"))
    found.kept = array
    return found


def kept_types() -> bytes | None:
    """The folder in which attn-cli keeps types of heads; None: nowhere."""
    given = os.environ.get("ATTN_CLI_CACHE")
    folder = given or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "attn-cli")
    return None if given == "off" else os.fsencode(os.path.expanduser(folder))


def models() -> Table:
    """All models that have a name: built in, shipped, of Hugging Face, LM Studio and Ollama. Nothing is downloaded."""
    table = c_void_p()
    call("attn_catalog_list", byref(catalog()), byref(table))
    return table_of(table)

#!/usr/bin/env python3
"""Your PyTorch model into Rondo, and the trained parameters back. Needs torch and nothing else.

In Python:
    from rondo_model import save_torchscript, load_into
    save_torchscript(module, "model.pt")             # job file: model: {torchscript: model.pt}
    load_into(module, "params.safetensors")          # what `rondo export` wrote

As a command; MODULE:CALLABLE names what makes the torch.nn.Module, as in `mynet:Net`:
    rondo_model.py save MODULE:CALLABLE MODEL.pt
    rondo_model.py load MODULE:CALLABLE PARAMS.safetensors STATE.pth    # a state_dict for torch.load
    rondo_model.py show PARAMS.safetensors                              # names, types, shapes
"""
import argparse
import importlib
import json
import math
import os
import struct
import sys

import torch

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "U8": torch.uint8}
HEADER_BYTES_MAX = 100_000_000


class FormatError(ValueError):
    """A file that is not what it should be, or does not fit the module."""


def read_header(path):
    """{name: (dtype, shape, begin, end)} in the order of the data; begin and end from the file's start."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if len(head) < 8 or length > min(HEADER_BYTES_MAX, size - 8):
            raise FormatError(f"{path} is not a safetensors file, or is truncated")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise FormatError(f"{path}: its header is not JSON: {error}") from None
    entries = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in DTYPES:
            raise FormatError(f"{path}: '{name}' is {entry['dtype']}, known are {', '.join(DTYPES)}")
        itemsize = torch.empty(0, dtype=DTYPES[entry["dtype"]]).element_size()
        if not 0 <= begin <= end <= size - 8 - length or end - begin != itemsize * math.prod(entry["shape"]):
            raise FormatError(f"{path}: the data of '{name}' does not fit its shape or the file")
        entries[name] = entry["dtype"], entry["shape"], 8 + length + begin, 8 + length + end
    return entries


def read_safetensors(path):
    """{name: tensor}."""
    tensors = {}
    with open(path, "rb") as file:
        for name, (dtype, shape, begin, end) in read_header(path).items():
            file.seek(begin)
            data = bytearray(file.read(end - begin))
            flat = torch.frombuffer(data, dtype=DTYPES[dtype]) if data else torch.empty(0, dtype=DTYPES[dtype])
            tensors[name] = flat.reshape(shape)
    return tensors


def save_torchscript(module, path):
    """Writes `module` as the TorchScript file that a job's `model: {torchscript: ...}` names.

    The file holds the module in training mode with its present values, which are the run's initial
    ones unless the job names an init file. Parameters must be float32; buffers float32 or integers.
    """
    for kind, named in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
        for name, tensor in named:
            whole = kind == "buffer" and not tensor.is_floating_point() and not tensor.is_complex()
            if tensor.dtype != torch.float32 and not whole:
                raise FormatError(f"the {kind} '{name}' is {tensor.dtype}; Rondo trains float32: call .float()")
    was_training = module.training
    scripted = module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module.train())
    scripted.train()
    torch.jit.save(scripted, path)
    module.train(was_training)


def load_into(module, path):
    """Copies the tensors of a safetensors file into `module`, by name; returns the module.

    Every parameter must be in the file and every tensor of the file in the module; buffers may lack.
    """
    tensors = read_safetensors(path)
    own = dict(module.named_parameters())
    required = set(own)
    own.update(module.named_buffers())
    problems = [f"'{name}' is not in the file" for name in sorted(required - set(tensors))]
    problems += [f"the module has no '{name}'" for name in tensors if name not in own]
    problems += [f"'{name}' has shape {list(tensor.shape)}, the module's {list(own[name].shape)}"
                 for name, tensor in tensors.items() if name in own and own[name].shape != tensor.shape]
    if problems:
        raise FormatError(f"{path} does not fit the module: " + "; ".join(problems))
    with torch.no_grad():
        for name, tensor in tensors.items():
            own[name].copy_(tensor)
    return module


def make_module(spec):
    module_name, _, callable_name = spec.partition(":")
    if not callable_name:
        raise FormatError(f"'{spec}' must be MODULE:CALLABLE, as in mynet:Net")
    sys.path.insert(0, os.getcwd())
    return getattr(importlib.import_module(module_name), callable_name)()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    save = commands.add_parser("save", help="write a module as TorchScript")
    save.add_argument("module", metavar="MODULE:CALLABLE")
    save.add_argument("output", metavar="MODEL.pt")
    load = commands.add_parser("load", help="safetensors into a module, saved as a state_dict")
    load.add_argument("module", metavar="MODULE:CALLABLE")
    load.add_argument("parameters", metavar="PARAMS.safetensors")
    load.add_argument("output", metavar="STATE.pth")
    show = commands.add_parser("show", help="list a safetensors file")
    show.add_argument("parameters", metavar="PARAMS.safetensors")
    args = parser.parse_args()
    try:
        if args.command == "save":
            save_torchscript(make_module(args.module), args.output)
        elif args.command == "load":
            torch.save(load_into(make_module(args.module), args.parameters).state_dict(), args.output)
        else:
            for name, (dtype, shape, _, _) in read_header(args.parameters).items():
                print(dtype, shape, name)
    except (FormatError, OSError) as error:
        sys.exit(f"rondo_model.py: {error}")


if __name__ == "__main__":
    main()

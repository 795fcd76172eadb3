#!/usr/bin/env python3
"""Plants faults in the cores, one at a time, and asks whether the simulation catches each.

  tests/simulation/mutants/run.py [--seeds N] [--scratch DIR] [--jobs N] [NAME...]

Works on a copy of the committed files in DIR. All faults are built in at once, each behind a switch
(the environment variable RONDO_MUTANT), so that one build serves all of them. First a run without a
fault must be clean. Prints where each fault was caught first; exits 1 if one was not. By hand, not in
CI: a few minutes. A fault whose anchor is no longer in the source stops the script: mend it here.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

from faults import FAULTS

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPLAY = '//tests/simulation:replay'
SMALL_WORLDS_TEST = '//tests/simulation/small_worlds:small_worlds_test'
SMALL_WORLDS = 'SmallWorlds'
INCLUDES = '#include <cstdlib>\n#include <map>\n#include <string_view>\n#include <utility>\n'


def make_copy(scratch):
    files = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z'], check=True, capture_output=True).stdout
    scratch.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(['tar', '-C', ROOT, '--null', '-T', '-', '-c'], input=files, check=True, capture_output=True)
    subprocess.run(['tar', '-C', scratch, '-x'], input=packed.stdout, check=True)


def plant(scratch, faults):
    texts = {}
    for fault in faults:
        for file, old, new in fault.edits:
            text = texts.get(file) or (ROOT / file).read_text()
            if text.count(old) != 1:
                sys.exit(f'{fault.name}: its anchor is {text.count(old)} times in {file}:\n{old}')
            texts[file] = text.replace(old, new)
    for file, text in texts.items():
        (scratch / file).write_text(INCLUDES + text)


def weathers(replay):
    usage = subprocess.run([replay, '--weather=?'], capture_output=True, text=True).stderr
    return usage.split('one of:')[1].split()


def first_catch(build, bin_dir, fault, seeds):
    """Where the fault (None: none) is caught first, or None."""
    env = dict(os.environ)
    env.pop('RONDO_MUTANT', None)
    if fault:
        env['RONDO_MUTANT'] = fault.name
    likely = fault.likely if fault else ()
    names = weathers(bin_dir / 'replay')
    worlds = [SMALL_WORLDS] if fault else []  # CI runs them without one.
    for name in sorted(names + worlds, key=lambda n: n not in likely):
        if name == SMALL_WORLDS:
            build(SMALL_WORLDS_TEST)
            command = [bin_dir / 'small_worlds' / 'small_worlds_test']
        else:
            count = max(seeds, fault.seeds) if name in likely else seeds
            command = [bin_dir / 'replay', f'--weather={name}', f'--seeds={count}']
        run = subprocess.run(command, env=env, capture_output=True, text=True)
        if run.returncode != 0:
            last = (run.stdout.strip().splitlines() or [f'crash {run.returncode}'])[-1]
            return name if name == SMALL_WORLDS else f'{name} {last}'
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', help='only these faults')
    parser.add_argument('--seeds', type=int, default=400, help='of each weather')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='of each build')
    parser.add_argument('--scratch', type=pathlib.Path, default=pathlib.Path.home() / '.cache/rondo-mutants')
    args = parser.parse_args()
    make_copy(args.scratch)
    plant(args.scratch, FAULTS)

    def build(target):
        subprocess.run(['bazel', 'build', f'--jobs={args.jobs}', target], cwd=args.scratch, check=True)

    build(REPLAY)
    bin_dir = args.scratch / 'bazel-bin/tests/simulation'
    chosen = [fault for fault in FAULTS if not args.names or fault.name in args.names]
    missed = 0
    clean = first_catch(build, bin_dir, None, args.seeds)
    print(f'without a fault: {clean or "clean"}', flush=True)
    for fault in chosen:
        began = time.time()
        caught = first_catch(build, bin_dir, fault, args.seeds)
        missed += caught is None
        print(f'{fault.name:24} {"caught by " + caught if caught else "NOT CAUGHT"}   ({time.time() - began:.1f} s)',
              flush=True)
    print(f'{len(chosen) - missed} of {len(chosen)} caught')
    sys.exit(1 if missed or clean else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Names the test programs that tests/README.md lacks, and those that it has and nobody builds.

The programs are the *_test targets of all tracked BUILD files; the README's part "Every test program" has a row
for each of their folders. Exits 1 if the two differ.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def built():
    names = collections.defaultdict(set)
    files = subprocess.run(['git', '-C', ROOT, 'ls-files', '*BUILD'], check=True, capture_output=True, text=True).stdout
    for file in files.split():
        for name in re.findall(r'^\w+_test\(\n\s+name = "([^"]+)"', (ROOT / file).read_text(), re.M):
            names[str(pathlib.PurePath(file).parent)].add(name)
    return names


def listed():
    names = collections.defaultdict(set)
    text = (ROOT / 'tests/README.md').read_text().split('## Every test program')[1].split('\n## ')[0]
    for folder, row in re.findall(r'^\| `([^`]+)` \|(.*)$', text, re.M):
        names[folder] |= set(re.findall(r'`(\w+_test)`', row))
    return names


def main():
    here, told = built(), listed()
    wrong = False
    for folder in sorted(set(here) | set(told)):
        for name in sorted(here[folder] ^ told[folder]):
            wrong = True
            lacks = name in here[folder]
            print(f'tests/README.md: {folder}:{name} is {"not listed" if lacks else "listed, but no target"}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

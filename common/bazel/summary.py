#!/usr/bin/env python3
"""Counts the test cases of Bazel's test.xml files.

  summary.py count TESTLOGS STATUS OUT   counts the cases below the folder TESTLOGS, prints each failed
                                         and each skipped one (with its reason), writes the counts to
                                         OUT as JSON. STATUS is Bazel's exit status: one that is not 0
                                         although no case failed counts as one failure.
  summary.py total FILE...               adds up such files; its last line is the closing line
                                         `N passed, N failed, N skipped`.

Exit codes: 0 no failure, 1 a failure, 2 usage.
"""
import json
import os
import sys
import xml.etree.ElementTree as ET

NO_TESTS_FOUND = 4  # Bazel's exit status when the filters leave no test.


def read_cases(folder):
    """Yields (target, name, outcome, reason) for each case below `folder`."""
    for path, folders, names in os.walk(os.path.realpath(folder)):
        folders.sort()
        if "test.log" not in names and "test.xml" not in names:
            continue
        target = os.path.relpath(path, os.path.realpath(folder))
        try:
            cases = list(ET.parse(os.path.join(path, "test.xml")).getroot().iter("testcase"))
        except (OSError, ET.ParseError):
            cases = []
        if not cases:
            yield target, "(no test case recorded)", "failed", "killed, or not a test program"
        for case in cases:
            name = "%s.%s" % (case.get("classname"), case.get("name"))
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                yield target, name, "failed", ""
            elif skip is not None or case.get("result") in ("skipped", "suppressed"):
                words = (skip.get("message") or skip.text or "") if skip is not None else "disabled"
                yield target, name, "skipped", " ".join(words.split())
            elif case.get("status") == "notrun":
                yield target, name, "skipped", "disabled"
            else:
                yield target, name, "passed", ""


def count(folder, status, out):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for target, name, outcome, reason in read_cases(folder):
        counts[outcome] += 1
        if outcome != "passed":
            print("%s %s %s%s" % (outcome.upper(), target, name, ": " + reason if reason else ""))
    if status not in (0, NO_TESTS_FOUND) and not counts["failed"]:
        print("FAILED bazel ended with status %d: see its messages above" % status)
        counts["failed"] = 1
    with open(out, "w", encoding="utf-8") as file:
        json.dump(counts, file)
    return 1 if counts["failed"] else 0


def total(files):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in files:
        with open(name, encoding="utf-8") as file:
            for key, value in json.load(file).items():
                counts[key] += value
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "count":
        return count(arguments[1], int(arguments[2]), arguments[3])
    if arguments and arguments[0] == "total":
        return total(arguments[1:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

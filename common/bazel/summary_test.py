#!/usr/bin/env python3
"""summary.py counts what GoogleTest's and Bazel's test.xml files say."""
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import summary  # noqa: E402  # beside this file

GTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="A">
<testcase name="Passes" classname="A" status="run" result="completed"/>
<testcase name="Fails" classname="A" status="run" result="completed"><failure message="x"/></testcase>
<testcase name="Skips" classname="A" status="run" result="skipped"><skipped message="no&#10;python"/></testcase>
<testcase name="Off" classname="A" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


class SummaryTest(unittest.TestCase):
    def count(self, files, status):
        """Counts a testlogs folder of {path: text}; returns (exit code, counts, output)."""
        with tempfile.TemporaryDirectory() as top:
            for path, text in files.items():
                full = os.path.join(top, "logs", path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            out = os.path.join(top, "out.json")
            with redirect_stdout(io.StringIO()) as output:
                code = summary.count(os.path.join(top, "logs"), status, out)
            with open(out, encoding="utf-8") as file:
                return code, json.load(file), output.getvalue()

    def test_cases_are_counted_and_reasons_told(self):
        code, counts, output = self.count({"a/test.xml": GTEST}, 3)
        self.assertEqual(code, 1)
        self.assertEqual(counts, {"passed": 1, "failed": 1, "skipped": 2})
        self.assertIn("SKIPPED a A.Skips: no python", output)
        self.assertIn("FAILED a A.Fails", output)
        self.assertIn("A.Off: disabled", output)

    def test_a_program_without_readable_cases_has_failed(self):
        code, counts, _ = self.count({"a/test.log": "killed", "b/test.xml": "<test"}, 0)
        self.assertEqual((code, counts["failed"]), (1, 2))

    def test_a_failed_build_counts_once(self):
        code, counts, _ = self.count({}, 1)
        self.assertEqual((code, counts["failed"]), (1, 1))

    def test_no_tests_left_by_the_filters_is_no_failure(self):
        self.assertEqual(self.count({}, 4)[0], 0)

    def test_the_closing_line_adds_up(self):
        with tempfile.TemporaryDirectory() as top:
            names = []
            for i in (1, 2):
                names.append(os.path.join(top, str(i)))
                with open(names[-1], "w", encoding="utf-8") as file:
                    json.dump({"passed": 5, "failed": 0, "skipped": i}, file)
            with redirect_stdout(io.StringIO()) as output:
                code = summary.total(names)
            self.assertEqual((code, output.getvalue()), (0, "10 passed, 0 failed, 3 skipped\n"))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of tests in the Test Anything Protocol."""

import sys


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = False
        print('TAP version 14')

    def ok(self, right, text, *diagnostics):
        """One result; DIAGNOSTICS are printed if it is not RIGHT."""
        self.number += 1
        print(f'{"ok" if right else "not ok"} {self.number} - {text}')
        if not right:
            self.failed = True
            for diagnostic in diagnostics:
                for line in str(diagnostic).splitlines() or ['']:
                    print(f'# {line}')
        sys.stdout.flush()
        return right

    def skip(self, text, reason):
        """A result that cannot be had here."""
        self.number += 1
        print(f'ok {self.number} - {text} # SKIP {reason}', flush=True)

    def equal(self, text, got, wanted):
        return self.ok(got == wanted, text, f'got    {got!r}', f'wanted {wanted!r}')

    def done(self):
        print(f'1..{self.number}')
        sys.exit(self.failed)

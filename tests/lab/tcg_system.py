# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's own tests/tcg for x86_64 system emulation, built with its own makefiles."""

import os
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = 'x86_64-softmmu'
# It bounds a hang, and nothing passes or fails by it.
TIMEOUT = 600


def base_tests():
    with open(os.path.join(TOP, 'tests/data/qemu-tcg-system-base'), encoding='utf-8') as file:
        return [line.strip() for line in file if line.strip() and line[0] != '#']


def run(tap, source, binary):
    """Build the tests of the tree SOURCE and run them on BINARY; one result each."""
    with tempfile.TemporaryDirectory() as scratch:
        build = os.path.join(scratch, TARGET)
        os.mkdir(build)
        # What QEMU's configure writes for its makefiles.
        with open(os.path.join(scratch, 'config-host.mak'), 'w', encoding='utf-8') as file:
            print(f'SRC_PATH={source}', file=file)
        with open(os.path.join(build, 'config-target.mak'), 'w', encoding='utf-8') as file:
            print('TARGET_NAME=x86_64', f'TARGET={TARGET}', 'EXTRA_CFLAGS=-m64 -mcx16',
                  'CC=gcc', 'CCAS=gcc', f'QEMU={binary}', sep='\n', file=file)
        for test in base_tests():
            command = ['make', '-f', os.path.join(source, 'tests/tcg/Makefile.target'),
                       f'TARGET={TARGET}', f'run-{test}']
            try:
                done = subprocess.run(command, cwd=build, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=TIMEOUT, check=False)
                status, output = done.returncode, done.stdout
            except subprocess.TimeoutExpired:
                status, output = None, f'no end after {TIMEOUT} seconds'
            tap.ok(status == 0, f'tests/tcg: {test} passes as in the base', output)

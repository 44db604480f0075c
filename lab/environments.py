# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the conformance guest can be run: on our QEMU, as L2 under KVM in each of its
modes, under the KVM of this machine."""

import os
import subprocess
import time
from collections import namedtuple

import clauses
import console
import machine
from machine import Failure, LAB, note

TOP = os.path.dirname(LAB)
BUILD = os.path.join(TOP, 'build', 'guest')
GUEST = os.path.join(BUILD, 'conformance.elf')
# QEMU's exit status by isa-debug-exit; see guest/lib/console.h.
PASSED, FAILED = 33, 35

# Real parts have the nested bit, which KVM does not offer to guests.
L1_CPU = f'{machine.HOST_CPU},+invlpgb-nested'
L2_CPU = machine.GUEST_CPU

# HOST, KERNEL: of L1, its CPU and what its kernel is told. ACCEL, CPU: of the guest's QEMU.
# WORDS: for the guest. TRIPLES: as which environments a million of random operand triples
# is tried.
Environment = namedtuple('Environment', 'name accel cpu words host kernel triples offered',
                         defaults=('', '', 1, True))

ENVIRONMENTS = {environment.name: environment for environment in [
    Environment('tcg', 'tcg,thread=multi', machine.HOST_CPU,
                'strict=1' if 'tagged' in machine.HOST_CPU else '', triples=2),
    Environment('l2-intercept', 'kvm', L2_CPU, 'mode=intercept exits=1 emulated=1', L1_CPU,
                'kvm_amd.invlpgb=intercept'),
    # Not before KVM has it.
    Environment('l2-emulate', 'kvm,tlb-broadcast=emulate', L2_CPU, 'mode=emulate exits=1 emulated=1',
                f'{machine.HOST_CPU},-invlpgb', 'kvm_amd.invlpgb=emulate', offered=False),
    Environment('l2-passthrough', 'kvm,tlb-broadcast=passthrough', f'{L2_CPU},svm=off',
                'mode=passthrough exits=1 emulated=1', L1_CPU, 'kvm_amd.invlpgb=passthrough'),
    Environment('kvm', 'kvm', L2_CPU, ''),
]}


def build_guest(*options):
    """Build the guest; OPTIONS are for make."""
    done = subprocess.run(['make', '-s', '-C', os.path.join(TOP, 'guest'), f'O={BUILD}', *options],
                          check=False)
    if done.returncode:
        raise Failure('building the guest failed')


# What QEMU says when it stops a machine for good, but does not end.
GAVE_UP = 'KVM internal error'


def wait(qemu, errors, timeout):
    """Until QEMU has ended, or stopped for good."""
    end = time.monotonic() + timeout
    while qemu.poll() is None:
        with open(errors, encoding='utf-8', errors='replace') as file:
            if GAVE_UP in file.read():
                return GAVE_UP
        if time.monotonic() > end:
            return f'still running after {timeout} s'
        time.sleep(0.1)
    return None


def run_here(environment, cpus, words, timeout, logs):
    """The guest on this machine; what it prints, and the status of QEMU."""
    qemu = os.path.join(machine.build('build-qemu'), 'qemu-system-x86_64')
    command = [qemu, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
               '-machine', 'q35', '-m', '256', '-accel', environment.accel,
               '-cpu', environment.cpu, '-smp', str(cpus), '-serial', 'stdio',
               '-device', 'isa-debug-exit,iobase=0xf4,iosize=0x4',
               '-kernel', GUEST, '-append', words]
    output, errors = (os.path.join(logs, f'{environment.name}.{kind}')
                      for kind in ('log', 'qemu'))
    with open(output, 'w', encoding='utf-8') as out, \
            open(errors, 'w', encoding='utf-8') as err, \
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=err) as qemu:
        try:
            problem = wait(qemu, errors, timeout)
        finally:
            qemu.kill()
    with open(output, encoding='utf-8', errors='replace') as file:
        lines = file.read().splitlines()
    if problem:
        raise Failure(f'{problem}; the last of the guest: {lines[-1] if lines else "nothing"}')
    if qemu.returncode not in (PASSED, FAILED):
        with open(errors, encoding='utf-8', errors='replace') as file:
            said = [line for line in file.read().splitlines() if 'warning:' not in line]
        raise Failure(f'QEMU ended with status {qemu.returncode}: '
                      f'{said[-1] if said else "no message"}')
    return lines, qemu.returncode


def run_as_l2(environment, cpus, words, timeout, logs):
    """The same in L1, which has the CPUs that the guest has, and at least four."""
    image = machine.build()
    output = os.path.join(logs, f'{environment.name}-l2.log')
    machine.remove(output)
    host = machine.Machine(
        image, logs, f'{environment.name}-l1', 'l1.cpio',
        f'run-conformance {environment.accel} {environment.cpu} {cpus} {words}',
        cpu=environment.host, kernel=environment.kernel, cpus=max(4, cpus),
        options=['-serial', f'file:{output}'])
    host.run(timeout, [(host.console, 'Run /init as init process', 'L1 is up')])
    allowed = console.load_allowed(os.path.join(LAB, 'console-allowed'))
    complaints = console.complaints(host.lines(), allowed)
    if complaints:
        raise Failure(f'on the console of L1: {complaints[0]}')
    with open(output, encoding='utf-8', errors='replace') as log:
        lines = log.read().splitlines()
    statuses = [line for line in console.printed(host.lines())
                if line.startswith('guest status ')]
    if len(statuses) != 1:
        said = console.printed(host.lines())
        raise Failure(f'L2 did not end: {said[-1] if said else "no message"}')
    return lines, int(statuses[0].split()[2])


def run(environment, cpus, words, timeout, logs):
    """Run the guest; its lines, and what was wrong with the run, or None."""
    words = ' '.join(filter(None, [environment.words, *words]))
    note(f'{environment.name}: {cpus} CPUs, {words}')
    if environment.host:
        lines, status = run_as_l2(environment, cpus, words, timeout, logs)
    else:
        lines, status = run_here(environment, cpus, words, timeout, logs)
    lines = [line.rstrip('\r') for line in lines]
    problem = clauses.incomplete(lines)
    failed = any(point.failed for point in clauses.points(lines))
    if not problem and status != (FAILED if failed else PASSED):
        problem = f'the status of QEMU, {status}, does not match the test points'
    return lines, problem

# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to run a machine with the conformance guest: once, migrated, loaded from a
snapshot, again with the same chances, stopped by the TLB model.

Each is called with a function that makes the command line, with the CPU to use or the
section's own, and returns a Run."""

import os
import random
import re
import subprocess
import tempfile

from monitor import Monitor

# Bounds a hang, and nothing passes or fails by it: a run takes some seconds, but CPUs that
# wait for each other crawl when the machine has other work.
TIMEOUT = 600

# What the guest prints when it wants to be migrated, or saved, or loaded.
READY = re.compile(rb'^# ready to be [a-z]+\n\Z', re.M)


class Run:
    """What a machine printed and how it ended; CHECKS are results of the procedure, as
    pairs of truth and text.  ENDS_EARLY if the guest is not to come to its end."""

    def __init__(self, out, err, status, checks=(), ends_early=False):
        self.out, self.err, self.status = out, err, status
        self.checks, self.ends_early = list(checks), ends_early


class Machine:
    """A machine whose guest waits for us, with QMP."""

    def __init__(self, command, scratch, name):
        path = os.path.join(scratch, name)
        self.process = subprocess.Popen(
            [*command, '-qmp', f'unix:{path},server=on,wait=off'], bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.printed = b''
        try:
            self.monitor = Monitor(self.process, path)
        except (OSError, EOFError):
            self.monitor = None         # it has ended, and says why

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()

    def is_ready(self):
        """Read until the guest says what it is ready for; false if it never does."""
        read = b''
        while not READY.search(read):
            byte = self.process.stdout.read(1)
            self.printed += byte
            read += byte
            if not byte:
                return False
        return True

    def read_so_far(self):
        """Read what the guest has printed, without waiting for more."""
        os.set_blocking(self.process.stdout.fileno(), False)
        self.printed += self.process.stdout.read() or b''
        os.set_blocking(self.process.stdout.fileno(), True)

    def type(self, text):
        self.process.stdin.write(text.encode())

    def end(self, checks=()):
        """Let it run to its end."""
        out, err = self.process.communicate(None, TIMEOUT)
        return Run(self.printed + out, err, self.process.returncode, checks)


def once(command, *options):
    run = subprocess.run([*command(), *options], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=TIMEOUT, check=False)
    return Run(run.stdout, run.stderr, run.returncode)


def migrated(command, target_cpu=None):
    """To another machine, when its guest is ready; the output is that of both."""
    with tempfile.TemporaryDirectory() as scratch:
        stream = f'file:{scratch}/stream'
        with Machine(command(), scratch, 'source') as source:
            if not source.is_ready():
                return source.end()
            source.monitor.execute('migrate', uri=stream)
            if source.monitor.wait('query-migrate', 'completed', 'failed') == 'failed':
                return Run(source.printed, b'the migration failed', None)
        with Machine([*command(cpu=target_cpu), '-incoming', stream], scratch,
                     'target') as target:
            target.printed = source.printed
            if target.monitor:
                target.monitor.wait('query-status', 'running')
                target.type('2')
            return target.end()


def reloaded(command):
    """Saved in a snapshot when its guest is ready, and loaded in the same process when
    that has gone on."""
    with tempfile.TemporaryDirectory() as scratch:
        with Machine(command(), scratch, 'machine') as machine:
            if not machine.is_ready():
                return machine.end()
            snapshot = {'tag': 'ready', 'vmstate': 'disk', 'devices': ['disk']}
            machine.monitor.add_disk(os.path.join(scratch, 'disk'))
            machine.monitor.job('snapshot-save', **snapshot)
            machine.type('1')
            if not machine.is_ready():
                return machine.end()
            machine.monitor.job('snapshot-load', **snapshot)
            machine.type('2')
            return machine.end()


def replayed(command):
    """Twice with one seed of the TLB model and once with another.  The machine has no
    clock but the number of instructions."""
    seed = int(os.environ.get('SEED') or random.randrange(1 << 32))

    def run(seed):
        return once(lambda: command(f'x-tlb-model-seed={seed}'), '-icount',
                    'shift=3,sleep=off', '-rtc', 'base=2020-01-01T00:00:00,clock=vm')

    def results(run):
        return re.findall(rb'^# replay: .*', run.out, re.M)

    first, again, other = run(seed), run(seed), run(seed + 1)
    first.checks = [
        (first.out == again.out and first.status == again.status,
         f'seed {seed} twice gives the same run'),
        (bool(results(other)) and results(first) != results(other),
         f'seeds {seed} and {seed + 1} give different runs')]
    first.out += b'# again\n' + b''.join(line + b'\n' for line in results(again))
    first.out += b'# another seed\n' + b''.join(line + b'\n' for line in results(other))
    return first


def paused(command):
    """Stopped by the TLB model when there is a violation, and continued each time.  The
    first one comes before the guest's first result."""
    with tempfile.TemporaryDirectory() as scratch:
        with Machine(command(), scratch, 'machine') as machine:
            pauses, at_once = 0, False
            try:
                while machine.monitor:
                    machine.monitor.wait('query-status', 'paused')
                    if not pauses:
                        machine.read_so_far()
                        at_once = b'\nok ' not in machine.printed
                    pauses += 1
                    machine.monitor.execute('cont')
            except (OSError, EOFError):
                pass                    # the guest has ended
            return machine.end([(pauses > 0, 'a violation pauses the machine'),
                                (at_once, 'its CPU does not go on before')])


def queried(command):
    """Asked in QMP what its CPUs hold, after CPU 0 has used an old translation."""
    with tempfile.TemporaryDirectory() as scratch:
        with Machine(command(), scratch, 'machine') as machine:
            if not machine.is_ready():
                return machine.end()
            address = int(re.search(rb'^# query address (\w+)', machine.printed, re.M)[1], 16)
            query = machine.monitor.execute
            cpus = query('x-query-tlb-model')
            here = query('x-query-tlb-model', address=address)[0]['translations']
            other = query('x-query-tlb-model', address=address, asid=77)[0]['translations']
            machine.type('1')
            return machine.end([
                ([cpu['cpu-index'] for cpu in cpus] == [0, 1], 'QMP shows both CPUs'),
                (all(0 < cpu['entries'] <= cpu['peak-entries'] and cpu['bytes'] > 0 and
                     cpu['fills'] - sum(cpu[cause] for cause in ('invalidated', 'replaced',
                                                                 'denied', 'evicted'))
                     == cpu['entries'] for cpu in cpus), 'what they hold is what was filled '
                 'and not dropped'),
                (all(sum(asid['entries'] for asid in cpu['asids']) == cpu['entries']
                     for cpu in cpus), 'and belongs to an ASID'),
                ([(t['kind'], t['address'], t['size'], t['asid'], t['pcid'], t['global'])
                  for t in here] == [('linear', address, 4096, 0, 0, False)],
                 'QMP shows the translation of an address'),
                (other == [], 'and of one ASID only'),
                (cpus[0]['stale-uses'] > 0 and cpus[0]['violations'] == 0 and
                 cpus[1]['stale-uses'] == 0, 'QMP counts stale uses by CPU'),
                (all(misuse['stale'] and misuse['address'] // 4096 == address // 4096 and
                     misuse['translation']['address'] == address
                     for misuse in cpus[0]['misuses']) and bool(cpus[0]['misuses']) and
                 cpus[1]['misuses'] == [], 'and says what they were')])


def stuck(command):
    """On a CPU that never comes back, until the guest itself notices."""
    run = once(command)
    out = run.out.decode(errors='replace')
    hung = re.search(r'^# CPU (\d+) is going to hang at RIP (\w+)', out, re.M)
    where = hung and rf" CPU {hung[1]} at RIP {hung[2]}\b"
    run.checks = [(run.status == 35, 'a hang ends the guest'),
                  (bool(hung) and bool(re.search(
                      rf'^Bail out! stuck for \d+ s in group hang after test point 0;.*{where}',
                      out, re.M)), 'and the message names the CPU, the test and the RIP')]
    run.ends_early = True
    return run


def violations(run, marker, pattern):
    """The pairs of nested roots in QEMU's lines that have MARKER, None for one that does
    not match PATTERN; and those that the guest expects."""
    said = set()
    for line in run.err.decode(errors='replace').splitlines():
        if marker in line:
            match = re.search(pattern, line)
            said.add((int(match['filled'], 16), int(match['used'], 16)) if match else None)
    out = run.out.decode(errors='replace')
    return said, {tuple(int(root, 16) for root in roots) for roots in
                  re.findall(r'^# violations of (\w+) and (\w+)', out, re.M)}


def aborted(command):
    """Ended by the TLB model, in the middle of the guest."""
    run = once(command)
    said, expected = violations(
        run, 'TLB model:', r"CPU 0 uses another's translation of 0x\w+, ASID 1, PCID 0x0, "
        r'that was made in the name of 0x(?P<filled>\w+), in the name of 0x(?P<used>\w+), ')
    run.checks = [(run.status == -6, 'a violation aborts QEMU'),
                  (bool(said) and said == expected, 'and the message names CPU, address, '
                   'ASID, PCID and both nested roots')]
    run.ends_early = True
    return run


def reported(command):
    """With trace events for violations."""
    run = once(command, '-trace', 'x86_tlb_violation')
    said, expected = violations(
        run, 'x86_tlb_violation', r'cpu 0 asid 1 pcid 0x0 addr 0x0*[1-9a-f]\w* filled in the '
        r'name of 0x(?P<filled>\w+), used in that of 0x(?P<used>\w+), ')
    run.checks = [(bool(said) and said == expected, 'trace events of violations name CPU, '
                   'address, ASID, PCID and both nested roots')]
    return run

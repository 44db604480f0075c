# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots machines of the lab: QEMU, under TCG, with the lab's kernel."""

import os
import subprocess
import sys
import time

import console

LAB = os.path.dirname(os.path.abspath(__file__))

# L1's CPU: what KVM needs to offer the feature to its guests, and a TLB that shows every
# flush that is missing.
HOST_CPU = ('EPYC-Genoa,+invlpgb,+tlbi-ctl,+flushbyasid,+vmcb-clean,svm-nasid=32768,'
            'x-tlb-model=' + os.environ.get('TLB_MODEL', 'tagged'))
GUEST_CPU = 'EPYC-Genoa,+invlpgb'

# The clocks of an emulated machine stutter when the host is busy: the kernel shall draw
# no conclusions from that.
KERNEL = ('console=ttyS0 console_msg_format=syslog printk.devkmsg=on panic=-1 '
          'no_timer_check tsc=nowatchdog rcupdate.rcu_cpu_stall_timeout=300')


class Failure(Exception):
    """The lab could not do what it was asked; the text is for people."""


def note(text):
    # In one piece: other threads print, too.
    sys.stderr.write(f'{text}\n')
    sys.stderr.flush()


def remove(path):
    """Make sure that there is no such file, of an earlier run."""
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def build(script='build-image', *options):
    """Build what is not built yet; the directory with all that machines boot, or with
    what another SCRIPT of the lab builds."""
    done = subprocess.run([os.path.join(LAB, script), *options], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise Failure('building the lab failed')
    return done.stdout.splitlines()[-1]


class Machine:
    """One boot of the lab's kernel under TCG, with its console in NAME.log. It runs on
    the image's QEMU or that of the directory QEMU, PREFIX in front of its command. When
    it has run, USAGE is the struct rusage of that process."""

    def __init__(self, image, logs, name, initrd, command, *, cpus=4, thread='multi',
                 cpu=HOST_CPU, kernel='', memory=1280, options=(), qemu='', prefix=()):
        self.name = name
        self.usage = None
        self.console = os.path.join(logs, f'{name}.log')
        self.errors = os.path.join(logs, f'{name}.qemu')
        remove(self.console)
        self.arguments = [
            *prefix, os.path.join(qemu or os.path.join(image, 'qemu'), 'qemu-system-x86_64'),
            '-machine', 'q35', '-accel', f'tcg,thread={thread}', '-cpu', cpu,
            '-smp', str(cpus), '-m', str(memory), '-nodefaults', '-no-user-config',
            '-display', 'none', '-no-reboot', '-serial', f'file:{self.console}',
            *options, '-kernel', os.path.join(image, 'bzImage'),
            '-initrd', os.path.join(image, initrd),
            '-append', ' '.join(filter(None, [KERNEL, kernel, '--', command]))]

    def run(self, timeout, milestones=()):
        """Run until the machine powers itself off. MILESTONES name a file, a text on the
        console in it, and what to tell, or to call with QEMU's process, when that
        appears there."""
        start = time.monotonic()
        pending = list(milestones)
        with open(self.errors, 'w', encoding='utf-8') as errors:
            errors.write(' '.join(self.arguments) + '\n')
            errors.flush()
            with subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL,
                                  stdout=errors, stderr=errors) as qemu:
                try:
                    while not self.ended(qemu):
                        took = time.monotonic() - start
                        pending = self.tell(pending, took, qemu)
                        if took > timeout:
                            raise Failure(f'{self.name}: still running after {timeout} s')
                        time.sleep(0.1)
                finally:
                    qemu.kill()
        self.tell(pending, time.monotonic() - start, qemu)
        if qemu.returncode:
            with open(self.errors, encoding='utf-8') as errors:
                said = errors.read().splitlines()[1:]
            raise Failure(f'{self.name}: QEMU ended with status {qemu.returncode}: '
                          f'{said[-1] if said else "no message"}')

    def ended(self, qemu):
        """Has QEMU ended? Popen's own poll() would lose what it used."""
        if qemu.returncode is None:
            pid, status, usage = os.wait4(qemu.pid, os.WNOHANG)
            if pid:
                qemu.returncode = os.waitstatus_to_exitcode(status)
                self.usage = usage
        return qemu.returncode is not None

    @staticmethod
    def tell(pending, took, qemu):
        left = []
        for path, text, message in pending:
            try:
                with open(path, 'rb') as log:
                    found = text.encode() in log.read()
            except FileNotFoundError:
                found = False
            if found and callable(message):
                message(qemu)
            elif found:
                note(f'  {took:5.1f} s  {message}')
            else:
                left.append((path, text, message))
        return left

    def lines(self):
        return console.read(self.console)

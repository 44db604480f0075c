# SPDX-License-Identifier: GPL-2.0-or-later
"""What a TLB flush of a guest costs: what L1's kernel counted, per flush, and what must hold
for it in each mode."""

import re
from typing import NamedTuple

import console
import costs
import machine
import rows

BASE = 'off-ipi'

EXPLANATION = """\
All counts are per flush, i.e. per mprotect() of 1 to 8 pages that all CPUs of the guest use,
from the first to the last one of a run; 0 is none at all, 0.00 is less than 0.005. Exits of
the issuer are those of its instructions for flushing: a write to the interrupt command
register (ICR) with the vector of a function call, INVLPGB, TLBSYNC. Exits of the targets, all
of them together, are by an interrupt of the host while a request for a flush or an interrupt
is pending, i.e. because somebody kicked them. IPIs are those for flushes that the guest's
kernel received. Kicks are the interrupts of the host that KVM sends on behalf of the issuer,
without waiting for them (an IPI of the guest) and waiting (TLBSYNC). TLBSYNCs at put are those
of KVM when it takes a vCPU off a CPU, which the scheduler of L1 does, not the guest.

Everything else is in the other exits, per second and of all vCPUs; in parentheses of the same
guest at rest, i.e. with the same threads and no flush. They are timers of host and guest, and
with IPIs also what it takes a target to open its window for an interrupt and to end it.

passthrough has to show 0 exits of the issuer and no flush pending at any exit of a target,
intercept at most 2 exits of the issuer, at most one kick for each target, waited for by
TLBSYNC, and less than 0.05 that nobody waits for, as a kick at INVLPGB would be. The speed is that of the same number
of flushes with IPIs in the same round, the median of all rounds. It is that of an emulator in
which a CPU of L1 is a thread that itself waits for a CPU, and in which an exit takes the time
of many instructions: it shows the order of the modes and what a preempted vCPU does to them,
and no figure that hardware would show."""


class Mode(NamedTuple):
    """How L2 gets its flushes done. HOST is the CPU of L1, KERNEL are parameters of its
    kernel; guests in an L1 with the same of both are measured side by side."""
    name: str
    accel: str
    cpu: str
    host: str = machine.HOST_CPU
    kernel: str = 'kvm_amd.invlpgb=passthrough'


MODES = {mode.name: mode for mode in [
    Mode(BASE, 'kvm', 'EPYC-Genoa'),
    Mode('off-pv', 'kvm', 'EPYC-Genoa,+kvm-pv-tlb-flush'),
    Mode('intercept', 'kvm', machine.GUEST_CPU),
    Mode('passthrough', 'kvm,tlb-broadcast=passthrough', f'{machine.GUEST_CPU},svm=off'),
]}

# SVM's codes of exits. INTR is an interrupt for the host: its timer, or KVM's kick.
INTR = 0x60
ISSUING = {0x46: '#UD', 0xa0: 'INVLPGB', 0xa1: 'INVLPGB', 0xa4: 'TLBSYNC'}

# Requests of KVM that are pending when a vCPU is kicked: KVM_REQ_EVENT for an interrupt,
# and KVM_REQ_TLB_FLUSH_GUEST.
EVENT, FLUSH = 1 << 14, 1 << 35

# Per flush: Linux interrupts another CPU for other reasons, too, but seldom.
STRAY = 0.05

# With these vectors, Linux interrupts CPUs that are to call a function, like a flush.
CALL_VECTORS = (0xfb, 0xfc)


def hosts(names):
    """The modes of these names, all if there are none, as lists: one for each L1. The first
    of each list is the one that the others are compared with."""
    groups = {}
    for name in names or MODES:
        mode = MODES[name]
        base = MODES[BASE]._replace(host=mode.host, kernel=mode.kernel)
        group = groups.setdefault((mode.host, mode.kernel), [base])
        if mode.name != BASE:
            group.append(mode)
    return list(groups.values())


class Run:
    """One run of flush-workload: its ANSWER, and of each event the HITS that L1's kernel
    counted, as pairs of what was hit and how often."""

    def __init__(self, mode, load, number, command):
        self.mode, self.load, self.number = mode, int(load), int(number)
        self.command = command
        self.answer = {}
        self.hits = {}
        self.tlbsyncs = 0
        self.dropped = 0

    def add(self, kind, text):
        if kind == 'done':
            self.answer = fields(text)
        elif kind == 'hist':
            event, keys, count = re.fullmatch(r'(\w+) \{ (.*) \} hitcount: +(\d+)',
                                              text).groups()
            keys = dict(re.findall(r'(\w+): +(?:\[\w+\] +)?([^ ,]+)', keys))
            self.hits.setdefault(event, []).append((keys, int(count)))
        elif kind == 'dropped':
            self.dropped += int(text.split()[1])
        elif kind == 'stat':
            self.tlbsyncs = int(text.split()[1])

    def of(self, event, tasks):
        """The hits of EVENT by any of TASKS."""
        return [(keys, count) for keys, count in self.hits.get(event, [])
                if int(keys['common_pid']) in tasks]


def fields(text):
    return dict(pair.split('=', 1) for pair in text.split())


class Results:
    """What measure-flushes printed: of each mode the READY line of its L2, the TASKS of its
    vCPUs by their number, and its CONSOLE; and the RUNS."""

    def __init__(self, lines):
        self.ready, self.tasks, self.consoles = {}, {}, {}
        self.runs = []
        current = None
        for line in lines:
            priority, text = line
            kind, _, rest = text.partition(' ')
            if priority is None and kind == 'console':
                current = self.consoles.setdefault(rest, [])
            elif current is not None:
                current.append(line)
            elif kind == 'guest':
                mode, _, rest = rest.partition(' ')
                self.ready[mode] = fields(rest.partition(' ')[2])
            elif kind == 'vcpu':
                mode, number, task = rest.split()
                self.tasks.setdefault(mode, {})[int(number)] = int(task)
            elif kind == 'run':
                self.runs.append(Run(*rest.split(' ', 3)))
            elif self.runs:
                self.runs[-1].add(kind, rest)


class Cell:
    """One mode with a number of vCPUs and an overcommit of L1's CPUs. TASKS are the vCPUs'
    by their number. Like a row of the demo, WRONG lists what should not be so."""

    def __init__(self, mode, tasks, load):
        self.mode, self.load = mode, load
        self.vcpus = len(tasks)
        self.issuer = {tasks[self.vcpus - 1]}
        self.targets = set(tasks.values()) - self.issuer
        self.runs, self.ratios = [], []
        self.rest = None
        self.wrong = []

    def name(self):
        return f'{self.mode}, {self.vcpus} vCPUs, {self.load}x'

    def expect(self, right, text):
        if not right:
            self.wrong.append(text)

    def add(self, run, base):
        """A run, and the one of the mode to compare with in the same round."""
        self.runs.append(run)
        if base:
            self.ratios.append(float(base.answer['seconds']) / float(run.answer['seconds']))

    def answers(self, what):
        return sum(int(run.answer[what]) for run in self.runs)

    def count(self, event, tasks, wanted=lambda keys: True, runs=None):
        return sum(count for run in runs or self.runs for keys, count in run.of(event, tasks)
                   if wanted(keys))

    def issued(self):
        """Exits of the issuer for flushes, by what it did."""
        exits = {'ICR': self.count('kvm_apic_ipi', self.issuer, lambda keys:
                                   int(keys['icr_low'], 16) & 0xff in CALL_VECTORS)}
        for code, what in ISSUING.items():
            exits[what] = exits.get(what, 0) + self.count(
                'kvm_exit', self.issuer, lambda keys, code=code: int(keys['exit_reason']) == code)
        return exits

    def kicked(self, tasks, runs=None, wanted=EVENT | FLUSH):
        """Exits of TASKS because of a kick, as a request was pending that is WANTED."""
        return self.count('kvm_exit', tasks, lambda keys: int(keys['exit_reason']) == INTR and
                          int(keys['requests'], 16) & wanted, runs)

    def kicks(self):
        """How often the issuer had KVM interrupt a target, without and with waiting for it.
        KVM kicks without by a reschedule interrupt, and with by a function call, which it
        sends to many CPUs at once; so the latter are counted where they arrive."""
        waited = sum(self.count(event, self.targets)
                     for event in ('call_function_entry', 'call_function_single_entry'))
        return self.count('ipi_send_cpu', self.issuer,
                          lambda keys: keys['callback'] == '0'), waited

    def others(self, runs=None):
        """Exits per second that have nothing to do with flushing, of all vCPUs."""
        runs = runs or self.runs
        tasks = self.issuer | self.targets
        known = self.kicked(tasks, runs)
        seconds = sum(float(run.answer['seconds']) for run in runs)
        return (self.count('kvm_exit', tasks, runs=runs) - known) / seconds

    def judge(self):
        """Fill WRONG."""
        flushes = self.answers('flushes')
        issued = self.issued()
        exits = sum(issued.values())
        self.expect(self.answers('wrong') == 0, 'L2 saw what it should not')
        self.expect(self.answers('faults') > 0, 'L2 never tried to write to a read-only page')
        self.expect(not any(run.dropped for run in self.runs), 'L1 lost some counts')
        if self.mode == BASE:
            # Not every CPU each time: Linux spares those that run something else just now.
            self.expect(self.answers('tlb_ipis') >= flushes and issued['ICR'] > 0,
                        'L2 hardly sent interrupts for flushes')
        elif self.mode != 'off-pv':
            self.expect(self.answers('tlb_ipis') == 0, 'L2 sent interrupts for flushes')
        if self.mode == 'intercept':
            without, waited = (kicks / flushes for kicks in self.kicks())
            self.expect(0 < exits <= 2 * flushes, f'{exits} exits of the issuer')
            self.expect(waited <= len(self.targets), f'{waited:.2f} kicks for a flush')
            self.expect(without < STRAY, f'{without:.2f} kicks that nobody waits for')
        if self.mode == 'passthrough':
            kicked = self.kicked(self.targets, wanted=FLUSH)
            self.expect(exits == 0, f'{exits} exits of the issuer')
            self.expect(kicked == 0, f'{kicked} exits of the targets')

    def cells(self):
        """The row of the table, by column; counts are per flush."""
        flushes = self.answers('flushes')

        def each(count):
            return '0' if count == 0 else f'{count / flushes:.2f}'

        without, waited = self.kicks()
        low, middle, high = costs.quartiles(self.ratios) if self.ratios else [1] * 3
        return {
            'mode': self.mode,
            'vCPUs': self.vcpus,
            'overcommit': f'{self.load}x',
            'flushes': flushes,
            'exits of the issuer': ' + '.join(f'{each(count)} {what}' for what, count
                                              in self.issued().items() if count) or '0',
            'of the targets': each(self.kicked(self.targets)),
            'IPIs': each(self.answers('tlb_ipis')),
            'kicks': each(without),
            'and waits': each(waited),
            'TLBSYNCs at put': each(sum(run.tlbsyncs for run in self.runs)),
            'other exits/s': f'{self.others():.0f} ({self.others([self.rest]):.0f})',
            'speed': f'{middle:.2f}',
            'quartiles': f'{low:.2f} to {high:.2f}',
            'verdict': 'WRONG' if self.wrong else 'right',
        }

    def record(self):
        """All of it, for programs."""
        return {'mode': self.mode, 'vcpus': self.vcpus, 'overcommit': self.load,
                'flushes': self.answers('flushes'), 'issuer': self.issued(),
                'targets': self.kicked(self.targets), 'ipis': self.answers('tlb_ipis'),
                'kicks': self.kicks(), 'tlbsyncs_at_put': sum(run.tlbsyncs for run in self.runs),
                'seconds': [float(run.answer['seconds']) for run in self.runs],
                'ratios': self.ratios, 'wrong': self.wrong}


def check_machines(modes, host, results, trace, allowed):
    """Failure unless all ran as they should: HOST are the lines of L1's console, TRACE is
    what QEMU said of it."""
    checks = rows.Row('L1')
    rows.check_console(checks, host, allowed, 'L1')
    rows.check_violations(checks, trace)
    checks.expect('exit status 0' in console.printed(host), 'the measurement failed')
    checks.expect(console.powered_off(host), 'L1 did not power itself off')
    for mode in modes:
        where = f'the L2 of {mode.name}'
        lines = results.consoles.get(mode.name, [])
        rows.check_console(checks, lines, allowed, where)
        checks.expect('exit status 0' in console.printed(lines), f'the workload failed in {where}')
        checks.expect(console.powered_off(lines), f'{where} did not power itself off')
        ready = results.ready.get(mode.name, {})
        wanted = 'yes' if '+invlpgb' in mode.cpu else 'no'
        for what in 'cpuid_invlpgb', 'global_asid':
            checks.expect(ready.get(what) == wanted,
                          f'{where} has {what}={ready.get(what)}, expected {wanted}')
        flushes_by_pv = any('KVM setup pv remote TLB flush' in text for _, text in lines)
        checks.expect(flushes_by_pv == ('+kvm-pv-tlb-flush' in mode.cpu),
                      f'{where} has PV TLB flush: {flushes_by_pv}')
    if checks.wrong:
        raise machine.Failure('; '.join(checks.wrong[:3]))


def evaluate(modes, host, lines, trace, allowed):
    """The cells of one L1: LINES are what measure-flushes printed, the others as for
    check_machines()."""
    results = Results(lines)
    check_machines(modes, host, results, trace, allowed)
    cells = {}
    bases = {}
    for run in results.runs:
        key = run.load, run.mode
        if run.mode == modes[0].name:
            bases[run.load, run.number, run.command] = run
        cells.setdefault(key, Cell(run.mode, results.tasks[run.mode], run.load))
    for run in results.runs:
        cell = cells[run.load, run.mode]
        if run.command == 'rest':
            cell.rest = run
        else:
            cell.add(run, bases[run.load, run.number, run.command])
    for cell in cells.values():
        cell.judge()
    return [cell for _, cell in sorted(cells.items(), key=lambda item: item[0][0])]

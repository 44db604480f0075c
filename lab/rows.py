# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the demo's table: what a mode showed, and what is wrong with that."""

import re

import console


class Row:
    """One mode. WRONG lists what should not be so, for people; empty is right."""

    def __init__(self, mode):
        self.mode = mode
        self.workload = {}
        self.counted_by = ''
        self.invlpgb = self.tlbsync = None
        self.ipi_exits = None
        self.wrong = []

    def expect(self, right, text):
        if not right:
            self.wrong.append(text)

    def cells(self):
        """The row of the table, by column."""
        work = self.workload
        seconds = float(work.get('seconds', 0))
        return {
            'mode': self.mode,
            'guest has it': work.get('cpuid_invlpgb'),
            'global ASID': work.get('global_asid'),
            'counted': self.counted_by,
            'INVLPGB': self.invlpgb,
            'TLBSYNC': self.tlbsync,
            'IPI exits': self.ipi_exits,
            'flushes/s': round(int(work['flushes']) / seconds) if seconds else None,
            'IPIs received': work.get('shootdown_ipis'),
            'wrong values': work.get('wrong'),
            'verdict': 'WRONG' if self.wrong else 'right',
        }


def print_table(rows):
    cells = [row.cells() for row in rows]
    columns = list(cells[0])
    text = [columns] + [['-' if row[c] in (None, '') else str(row[c]) for c in columns]
                        for row in cells]
    widths = [max(len(line[i]) for line in text) for i in range(len(columns))]
    for number, line in enumerate(text):
        print('  '.join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            print('  '.join('-' * width for width in widths))


def workload_result(lines):
    """The workload's last line, as a dictionary; empty if it printed none."""
    for text in reversed(console.printed(lines)):
        if text.startswith('tlb-workload: seed='):
            return dict(pair.split('=', 1) for pair in text.split()[1:])
    return {}


def check_guest(row, lines, has_feature, where):
    """What must hold for the machine that ran the workload, in every mode."""
    row.workload = workload_result(lines)
    work = row.workload
    row.expect(bool(work), f'the workload printed no result on {where}')
    row.expect(console.powered_off(lines), f'{where} did not power itself off')
    if not work:
        return
    row.expect('exit status 0' in console.printed(lines), 'the workload failed')
    row.expect(work['wrong'] == '0', f'the workload read {work["wrong"]} wrong values')
    row.expect(int(work['flushes']) > 0, 'the workload flushed nothing')
    row.expect(work['huge_page'] == 'yes', 'the workload got no huge page')
    wanted = 'yes' if has_feature else 'no'
    row.expect(work['cpuid_invlpgb'] == wanted,
               f'the guest has INVLPGB: {work["cpuid_invlpgb"]}, expected {wanted}')
    row.expect(work['global_asid'] == wanted,
               f'the workload has a global ASID: {work["global_asid"]}, expected {wanted}')


def check_console(row, lines, allowed, where):
    for text in console.complaints(lines, allowed):
        row.expect(False, f'on the console of {where}: {text}')


def count_executed(row, trace, guest):
    """What QEMU executed, according to its TRACE, as host or as guest."""
    row.counted_by = 'executed, by QEMU'
    row.invlpgb = len(re.findall(rf'\bx86_invlpgb cpu \d+ guest {guest}\b', trace))
    row.tlbsync = len(re.findall(rf'\bx86_tlbsync cpu \d+ guest {guest}\b', trace))
    row.expect(row.invlpgb > 0, 'QEMU executed no INVLPGB')
    row.expect(row.tlbsync > 0, 'QEMU executed no TLBSYNC')


def check_violations(row, trace):
    violations = re.findall(r'\bx86_tlb_violation .*', trace)
    row.expect(not violations, f'{len(violations)} isolation violations, the first: '
                               + ''.join(violations[:1]))


def check_bare(row, lines, trace, allowed):
    """The kernel on TCG without KVM: LINES of its console, TRACE of QEMU."""
    count_executed(row, trace, 0)
    check_violations(row, trace)
    check_guest(row, lines, True, 'the machine')
    check_console(row, lines, allowed, 'the machine')


def check_exits(row, stats, trace):
    """Who executes the instructions: STATS are KVM's, TRACE is of QEMU."""
    exits = {kind: int(stats.get(f'{kind}_exits', 0)) for kind in ('invlpgb', 'tlbsync')}
    for kind, count in exits.items():
        row.expect((count > 0) == (row.mode == 'intercept'),
                   f'KVM counted {count} {kind.upper()} exits')
    row.expect(('vm_asid' in stats) == (row.mode == 'passthrough'),
               f'VM-wide ASID: {stats.get("vm_asid")}')
    if row.mode == 'passthrough':
        count_executed(row, trace, 1)
        row.expect(int(stats.get('host_tlbsyncs', 0)) > 0, 'no TLBSYNC when a vCPU was put')
    else:
        row.counted_by = 'exits, by KVM'
        row.invlpgb, row.tlbsync = exits.values()


def check_mode(row, host, guest, trace, allowed):
    """L2 in L1: HOST and GUEST are the lines of their consoles, TRACE is of QEMU."""
    printed = console.printed(host)
    stats = dict(text.split()[1:] for text in printed if text.startswith('stat '))
    check_exits(row, stats, trace)
    check_violations(row, trace)
    row.ipi_exits = sum(int(text.split()[2]) for text in printed
                        if text.startswith('ipi '))
    row.expect(row.ipi_exits > 0, 'KVM counted no exit for an IPI')
    check_guest(row, guest, row.mode != 'off', 'L2')
    row.expect(any(text.startswith('shutdown ') and '"reason": "guest-shutdown"' in text
                   for text in printed), 'QEMU in L1 saw no shutdown by its guest')
    row.expect('exit status 0' in printed, 'QEMU in L1 failed')
    row.expect(console.powered_off(host), 'L1 did not power itself off')
    check_console(row, host, allowed, 'L1')
    check_console(row, guest, allowed, 'L2')

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the conformance guest's TAP says, clause by clause."""

import re
from collections import Counter

POINT = re.compile(r'(not )?ok \d+ - (?:(?P<clause>[^:]*?)(?: (?:host|guest))?: )?(?P<text>.*?)'
                   r'(?: # (?P<directive>SKIP|TODO) (?P<reason>.*))?')
PLAN = re.compile(r'1\.\.(\d+)')
OPEN = 'open in spec.md'
PRIMITIVE = re.compile(r'# primitive ([^:]+): (\d+ cycles \(.*\))(?:, (.* exits))?')


class Point:
    """One line of results."""

    def __init__(self, match):
        self.ok = not match[1]
        self.clause = match['clause'] or match['text']
        self.text = match[0].split(' - ', 1)[1]
        self.skipped = match['reason'] if match['directive'] == 'SKIP' else None
        self.recorded = match['reason'] if match['directive'] == 'TODO' else None

    @property
    def failed(self):
        return not self.ok and not self.recorded


def points(lines):
    return [Point(match) for match in map(POINT.fullmatch, lines) if match]


def incomplete(lines):
    """Why these lines are not the whole of a run; None if they are."""
    for line in lines:
        if line.startswith('Bail out!'):
            return line
    plans = [match for match in map(PLAN.fullmatch, lines) if match]
    if len(plans) != 1 or int(plans[0][1]) != len(points(lines)):
        return 'the number of test points does not match the plan'
    return None


def order(clause):
    """Those of spec.md come first, numbers count as numbers."""
    return clause[:5] != 'spec ', [(not part.isdigit(), int(part) if part.isdigit() else 0, part)
                                   for part in re.split(r'(\d+)', clause)]


def primitives(lines):
    """What ways of flushing cost, by name."""
    return {match[1]: ', '.join(filter(None, [match[3], match[2]]))
            for match in map(PRIMITIVE.fullmatch, lines) if match}


def aligned(rows):
    """Rows of text, the first of them a heading, as lines."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in [rows[0], ['-' * width for width in widths], *rows[1:]]:
        yield '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()


def primitives_table(columns):
    """The same by environment; COLUMNS are what primitives() gave for each."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    return aligned([['primitive', *columns],
                    *([name, *(column.get(name, '-') for column in columns.values())]
                      for name in names)])


class Table:
    """Clauses by environment."""

    def __init__(self):
        self.columns = {}
        self.reasons = []

    def add(self, name, results):
        """A column."""
        column = self.columns[name] = {}
        for point in results:
            column.setdefault(point.clause, []).append(point)

    def footnote(self, reason):
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f'[{self.reasons.index(reason) + 1}]'

    def cell(self, results):
        """One clause in one environment."""
        judged = [point for point in results if not point.skipped and not point.recorded]
        failed = sum(point.failed for point in judged)
        words = []
        if failed:
            words.append(f'FAIL {failed} of {len(judged)}')
        elif judged:
            words.append(f'pass {len(judged)}')
        recorded = Counter((point.recorded, point.ok) for point in results if point.recorded)
        for (reason, as_assumed), count in sorted(recorded.items()):
            name = 'open' if reason == OPEN else f'n/a {self.footnote(reason)}'
            words.append(f'{name}: {count} {"as assumed" if as_assumed else "NOT AS ASSUMED"}')
        if not words:
            reasons = sorted({point.skipped for point in results})
            words = ['n/a ' + ''.join(map(self.footnote, reasons))] if reasons else ['-']
        return ', '.join(words)

    def lines(self):
        """The table as text, with what its footnotes mean and each failure."""
        names = list(self.columns)
        clauses = sorted({clause for column in self.columns.values() for clause in column},
                         key=order)
        yield from aligned([['clause', *names],
                            *([clause, *(self.cell(self.columns[name].get(clause, []))
                                         for name in names)] for clause in clauses)])
        if self.reasons:
            yield ''
        for number, reason in enumerate(self.reasons, 1):
            yield f'[{number}] {reason}'
        for name, column in self.columns.items():
            for results in column.values():
                for point in results:
                    if point.failed:
                        yield f'{name}: not ok: {point.text}'

# SPDX-License-Identifier: GPL-2.0-or-later
"""What something costs: figures of runs without and with it, in pairs, and whether they
meet a target."""

import statistics


def quartiles(values):
    """First quartile, median and third quartile of at least one value."""
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method='inclusive')


def verdict(low, middle, high, limit):
    """Of the quartiles of what may be LIMIT at most."""
    if low <= limit < high:
        return f'{"met" if middle <= limit else "missed"}, but within the spread'
    return 'met' if high <= limit else 'missed'


class Cost:
    """How many times what a run needs WITHOUT something it needs with it: LIMIT times at
    most. FORMAT is that of one figure, as str.format() wants it."""

    def __init__(self, name, what, unit, form, limit):
        self.name = name
        self.what = what
        self.unit = unit
        self.form = form
        self.limit = limit
        self.pairs = []
        self.same = []

    def add(self, without, with_it, same_guest):
        """One pair; SAME_GUEST tells whether the guest did exactly the same in both runs,
        None if nobody can say."""
        self.pairs.append((without, with_it))
        self.same.append(same_guest)

    def ratios(self):
        return [with_it / without for without, with_it in self.pairs]

    def middle(self, side):
        return statistics.median(pair[side] for pair in self.pairs)

    def cells(self):
        """The row of the table, by column."""
        low, middle, high = quartiles(self.ratios())
        known = [same for same in self.same if same is not None]
        return {
            'cost': self.what,
            'unit': self.unit,
            'without': self.form.format(self.middle(0)),
            'with': self.form.format(self.middle(1)),
            'ratio': f'{middle:.4f}',
            'quartiles': f'{low:.4f} to {high:.4f}',
            'pairs': len(self.pairs),
            'same guest run': f'{sum(known)} of {len(known)}' if known else None,
            'at most': self.limit,
            'target': verdict(low, middle, high, self.limit),
        }

    def statement(self):
        cells = self.cells()
        return (f'{self.what}: {cells["ratio"]} times the {self.unit} in the median of '
                f'{cells["pairs"]} pairs, at most {self.limit}: {cells["target"]}')

    def record(self):
        """All of it, for programs."""
        low, middle, high = quartiles(self.ratios())
        return {'name': self.name, 'what': self.what, 'unit': self.unit, 'limit': self.limit,
                'pairs': self.pairs, 'same_guest_run': self.same, 'median': middle,
                'quartiles': [low, high],
                'target': verdict(low, middle, high, self.limit)}


class Memory:
    """Peaks of QEMU's resident memory without and with the TLB model, in KiB, and what the
    model says of itself; LIMIT in MiB."""

    def __init__(self, name, what, limit):
        self.name = name
        self.what = what
        self.limit = limit
        self.pairs = []
        self.models = []

    def add(self, without, with_it, model):
        """One pair; MODEL is what x-query-tlb-model returned for the run with it, None if
        QEMU has no such command."""
        self.pairs.append((without, with_it))
        self.models.append(model)

    def differences(self):
        """In MiB."""
        return [(with_it - without) / 1024 for without, with_it in self.pairs]

    def statement(self):
        low, middle, high = quartiles(self.differences())
        text = (f'{self.what}: QEMU\'s peak grows by {middle:.1f} MiB in the median of '
                f'{len(self.pairs)} pairs ({low:.1f} to {high:.1f}), at most {self.limit}: '
                f'{verdict(low, middle, high, self.limit)}')
        models = [model for model in self.models if model]
        if not models:
            return f'{text}; this QEMU does not tell what its models hold'
        held = max(sum(cpu['bytes'] for cpu in model) for model in models) / 1024 ** 2
        entries = max(sum(cpu['peak-entries'] for cpu in model) for model in models)
        return (f'{text}; at most {entries} translations on all CPUs, {held:.1f} MiB at the '
                'end')

    def record(self):
        """All of it, for programs."""
        return {'name': self.name, 'what': self.what, 'unit': 'KiB', 'limit': self.limit * 1024,
                'pairs': self.pairs, 'models': self.models,
                'target': verdict(*quartiles(self.differences()), self.limit)}

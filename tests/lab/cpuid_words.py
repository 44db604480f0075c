#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare CPUID as guests of old machine types see it with what QEMU's base gives them.

cpuid_words.py --record QEMU prints tests/data/cpuid-words-base, when run on a QEMU of the
base: a line per accelerator, machine type and CPU model with the feature words that are not
zero. "qtest" stands for an accelerator that supports every feature, as a KVM may.
"""

import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(TOP, 'tests/data/cpuid-words-base')

ACCELERATORS = ['tcg', 'qtest']
MACHINES = ['pc-q35-4.2', 'pc-q35-7.0', 'pc-q35-9.2', 'pc-q35-10.0', 'pc-i440fx-2.9',
            'pc-i440fx-10.0']
MODELS = ['qemu64', 'kvm64', 'max', 'EPYC', 'EPYC-Rome', 'EPYC-Milan', 'EPYC-Genoa',
          'Opteron_G5', 'Haswell', 'SapphireRapids']

# What the series adds to what TCG emulates: (leaf, register), bits.
NEW_IN_TCG = {
    ('1', 'ECX'): 1 << 17,                              # pcid
    ('7', 'EBX'): 1 << 10,                              # invpcid
    ('8000000a', 'EDX'): 1 << 3 | 1 << 5 | 1 << 6,      # nrip-save, vmcb-clean, flushbyasid
}


def combinations():
    for accel in ACCELERATORS:
        for machine in MACHINES:
            for model in MODELS:
                if (accel, model) != ('qtest', 'max'):  # it needs an accelerator to ask
                    yield accel, machine, model


def feature_words(qemu, accel, machine, model):
    """Words that are not zero, by (leaf, register) in text."""
    commands = [{'execute': 'qmp_capabilities'},
                {'execute': 'qom-get', 'arguments': {'path': '/machine/unattached/device[0]',
                                                     'property': 'feature-words'}},
                {'execute': 'quit'}]
    done = subprocess.run(
        [qemu, '-machine', machine, '-accel', accel, '-cpu', model, '-nodefaults',
         '-display', 'none', '-S', '-qmp', 'stdio'],
        input='\n'.join(map(json.dumps, commands)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=120, check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    words = next(reply['return'] for reply in replies
                 if isinstance(reply.get('return'), list))
    found = {}
    for word in words:
        if word['features']:
            leaf = f"{word['cpuid-input-eax']:x}"
            if 'cpuid-input-ecx' in word and word['cpuid-input-ecx']:
                leaf += f".{word['cpuid-input-ecx']:x}"
            found[leaf, word['cpuid-register']] = word['features']
    return found


def record(qemu):
    print('# SPDX-License-Identifier: GPL-2.0-or-later')
    print('# Made by tests/lab/cpuid_words.py --record from a QEMU of the base.')
    for accel, machine, model in combinations():
        words = feature_words(qemu, accel, machine, model)
        print(accel, machine, model, *(f'{leaf}/{register}={value:x}'
                                       for (leaf, register), value in sorted(words.items())))


def base_words():
    """By (accelerator, machine, model), as feature_words() gives them."""
    table = {}
    with open(DATA, encoding='utf-8') as file:
        for line in file:
            if line[0] != '#':
                accel, machine, model, *pairs = line.split()
                words = {}
                for pair in pairs:
                    name, value = pair.split('=')
                    words[tuple(name.split('/'))] = int(value, 16)
                table[accel, machine, model] = words
    return table


def run(tap, qemu):
    """One result per accelerator and machine type."""
    base = base_words()
    wrong = {}
    for accel, machine, model in combinations():
        differences = wrong.setdefault((accel, machine), [])
        old = base[accel, machine, model]
        new = feature_words(qemu, accel, machine, model)
        for word in sorted(set(old) | set(new)):
            changed = old.get(word, 0) ^ new.get(word, 0)
            allowed = NEW_IN_TCG.get(word, 0) & ~old.get(word, 0) if accel == 'tcg' else 0
            if changed & ~allowed:
                differences.append(f'{model}: CPUID {word[0]} {word[1]} is {new.get(word, 0):x}, '
                                   f'{old.get(word, 0):x} in the base')
    for (accel, machine), differences in wrong.items():
        tap.ok(not differences, f'{machine}, accelerator {accel}: CPUID words of '
               f'{len(MODELS)} models as in the base', *differences)


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] != '--record':
        sys.exit('usage: cpuid_words.py --record QEMU')
    record(sys.argv[2])

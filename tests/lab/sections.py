# SPDX-License-Identifier: GPL-2.0-or-later
"""The machines of guest/configurations, and what the conformance guest says on them.

QEMU is taken from lab/build-qemu, or is the command in $QEMU (options are allowed
there)."""

import concurrent.futures
import configparser
import os
import re
import shlex
import subprocess
import sys

import environments
import guest_runs
from environments import FAILED, GUEST, PASSED

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# The same without its Multiboot header, which QEMU prefers to PVH's.
PVH_GUEST = os.path.join(environments.BUILD, 'pvh.elf')
MULTIBOOT = (0x1badb002).to_bytes(4, 'little')

POINT = re.compile(r'(not )?ok \d+ - (.*)')
PLAN = re.compile(r'1\.\.(\d+)')


def make(*command):
    """Run something that builds; its standard output, or the end of all."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                              text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f'{shlex.join(command)}: {error}')


def qemu_command():
    """The QEMU to test, as a list of words."""
    if os.environ.get('QEMU'):
        return shlex.split(os.environ['QEMU'])
    build = make(os.path.join(ROOT, 'lab', 'build-qemu')).splitlines()[-1]
    return [os.path.join(build, 'qemu-system-x86_64')]


def build_guest():
    """Build the guest, in both forms."""
    environments.build_guest()
    with open(GUEST, 'rb') as file:
        image = file.read()
    if image.count(MULTIBOOT) != 1:
        sys.exit(f'{GUEST} has not one Multiboot header')
    with open(PVH_GUEST, 'wb') as file:
        file.write(image.replace(MULTIBOOT, bytes(4)))


def machine_command(qemu, section, *cpu_properties, cpu=None):
    """The whole QEMU command line for one section, or for another CPU."""
    words = ['expect-' + word for word in section['expect'].split()]
    words += ['judge-open=1', 'count=' + section['count']]
    if section['run']:
        words.append('run=' + ''.join(section['run'].split()))
    if section.getboolean('strict'):
        words.append('strict=1')
    words += section['words'].split()
    if os.environ.get('SEED'):
        words.append('seed=' + os.environ['SEED'])
    cpu = ','.join([cpu or section['cpu'], *cpu_properties])
    command = qemu + ['-nodefaults', '-no-user-config', '-display', 'none',
                      '-machine', section['machine'], '-m', section['memory'],
                      '-accel', section['accel'], '-cpu', cpu,
                      '-smp', section['smp'], '-serial', 'stdio',
                      '-device', 'isa-debug-exit,iobase=0xf4,iosize=0x4',
                      *(word for device in section['devices'].split()
                        for word in ('-device', device)),
                      '-kernel', PVH_GUEST if section.getboolean('pvh') else GUEST,
                      '-append', ' '.join(words)]
    if not section.getboolean('reset'):
        command.append('-no-reboot')
    if section['trace']:
        command += ['-trace', section['trace'].split()[0]]
    return command


def run_machine(qemu, section):
    """Run one section; its TAP lines, further results, what QEMU said, and what
    was wrong with the run."""
    def command(*cpu_properties, **other):
        return machine_command(qemu, section, *cpu_properties, **other)

    procedure, *arguments = section['procedure'].split()
    problem = None
    try:
        run = getattr(guest_runs, procedure)(command, *arguments)
        if run.status not in (PASSED, FAILED):
            problem = f'QEMU ended with status {run.status}'
    except subprocess.TimeoutExpired as hang:
        run = guest_runs.Run(hang.stdout or b'', hang.stderr or b'', None)
        problem = f'no end after {guest_runs.TIMEOUT} seconds'
    except (OSError, EOFError) as error:
        run = guest_runs.Run(b'', b'', None)
        problem = str(error)
    lines = run.out.decode(errors='replace').replace('\r', '').split('\n')
    errors = run.err.decode(errors='replace').split('\n')
    if run.ends_early:
        return lines, run.checks, errors, None
    points = [POINT.match(line) for line in lines if POINT.match(line)]
    plans = [PLAN.fullmatch(line) for line in lines if PLAN.fullmatch(line)]
    failed = any(point[1] for point in points)
    if not problem and (len(plans) != 1 or int(plans[0][1]) != len(points)):
        problem = 'the number of test points does not match the plan'
    if not problem and failed != (run.status == FAILED):
        problem = 'the exit status does not match the test points'
    if not problem and not re.search(section['trace'], '\n'.join(errors)):
        problem = f'nothing traced that matches "{section["trace"]}"'
    if problem:
        problem += ': ' + shlex.join(command())
    run.checks.append((not problem, 'the guest ran to its end'))
    return lines, run.checks, errors, problem


def load():
    """The sections of guest/configurations."""
    sections = configparser.ConfigParser()
    sections.read(os.path.join(ROOT, 'guest', 'configurations'))
    return sections


def of_suite(suite):
    """The names of the sections that SUITE runs."""
    return [name for name, section in load().items()
            if name != 'DEFAULT' and section['suite'] == suite]


def run(tap, names):
    """Run these sections and report all their test points, the section in front."""
    sections = load()
    for name in names:
        if not sections.has_section(name):
            sys.exit(f'no section "{name}" in guest/configurations')
    build_guest()
    qemu = qemu_command()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {name: pool.submit(run_machine, qemu, sections[name])
                for name in names}
        for name, run in runs.items():
            lines, checks, errors, problem = run.result()
            for line in lines:
                point = POINT.match(line)
                if point:
                    tap.ok(not point[1], f'[{name}] {point[2]}')
                elif line.startswith('#'):
                    print(f'# [{name}] {line[2:]}')
            for right, text in checks:
                tap.ok(right, f'[{name}] {text}')
            if problem:
                print(f'# {problem}')
            if not all(right for right, _ in checks):
                for line in lines[-20:] + errors[-20:]:
                    print(f'#   {line}')
            sys.stdout.flush()

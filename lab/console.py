# SPDX-License-Identifier: GPL-2.0-or-later
"""What the console of a lab machine says, and whether it may say so.

The machines boot with console_msg_format=syslog: a line of the kernel starts with
<LEVEL>, one of our init with <14>, "lab: " behind the time stamp.
"""

import re

LINE = re.compile(r'<(\d+)>\[ *\d+\.\d+\] ?(.*)')
WARNING = 4
INIT = 14

# Never right, at whatever level, and on no list of exceptions.
DISASTER = re.compile(r'WARNING:|BUG:|\bOops\b|Kernel panic|cut here|Call Trace|'
                      r'general protection|stack segment|detected stall|soft lockup')


def read(path):
    """The lines of a console as (priority, text); priority None: not printk's."""
    try:
        with open(path, encoding='utf-8', errors='replace') as log:
            lines = log.read().splitlines()
    except FileNotFoundError:
        return []
    result = []
    for line in lines:
        match = LINE.fullmatch(line.rstrip('\r'))
        if match:
            result.append((int(match[1]), match[2]))
        elif line.strip():
            result.append((None, line))
    return result


def printed(lines):
    """What our init's command printed."""
    return [text[5:] for priority, text in lines
            if priority == INIT and text.startswith('lab: ')]


def load_allowed(path):
    """The list of warnings that the unpatched kernel prints too: one regular
    expression a line, which has to match all of the text."""
    with open(path, encoding='utf-8') as file:
        return [re.compile(line.rstrip('\n')) for line in file
                if line.strip() and not line.startswith('#')]


def complaints(lines, allowed):
    """The lines that a healthy machine does not print."""
    result = []
    for priority, text in lines:
        if priority == INIT:
            continue
        if DISASTER.search(text):
            result.append(text)
        elif (priority is not None and priority <= WARNING and
              not any(pattern.fullmatch(text) for pattern in allowed)):
            result.append(f'<{priority}> {text}')
    return result


def powered_off(lines):
    """Was powering off the last thing that the kernel did?"""
    return bool(lines) and lines[-1][1] == 'reboot: Power down'

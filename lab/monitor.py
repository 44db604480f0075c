# SPDX-License-Identifier: GPL-2.0-or-later
"""Talks to a running QEMU in QMP."""

import json
import socket
import time


class Monitor:
    """QMP of a machine that has been started, on the UNIX socket PATH. An answer that
    takes longer than TIMEOUT seconds ends the run."""

    def __init__(self, machine, path, timeout=600):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        while True:
            try:
                self.socket.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if machine.poll() is not None:
                    raise EOFError('QEMU ended before QMP') from None
                time.sleep(0.05)
        self.file = self.socket.makefile('rw')
        self.file.readline()
        self.execute('qmp_capabilities')

    def execute(self, command, **arguments):
        """What the command returns; an error ends the run."""
        request = {'execute': command, 'arguments': arguments}
        self.file.write(json.dumps(request) + '\n')
        self.file.flush()
        for line in self.file:
            reply = json.loads(line)
            if 'error' in reply:
                raise EOFError(f'{command}: {reply["error"]["desc"]}')
            if 'return' in reply:
                return reply['return']
        raise EOFError(f'QEMU ended at {command}')

    def wait(self, command, *statuses):
        """Wait until a query shows one of these statuses; that one."""
        while True:
            status = self.execute(command).get('status')
            if status in statuses:
                return status
            time.sleep(0.05)

    def job(self, command, **arguments):
        """Run a job to its end; an error ends the run."""
        self.execute(command, **{'job-id': 'job', **arguments})
        while True:
            job, = self.execute('query-jobs')
            if job['status'] == 'concluded':
                break
            time.sleep(0.05)
        if 'error' in job:
            raise EOFError(f'{command}: {job["error"]}')
        self.execute('job-dismiss', id='job')

    def add_disk(self, path):
        """A disk that takes snapshots, for the state of the machine."""
        with open(path, 'wb'):
            pass
        self.execute('blockdev-add', **{'driver': 'file', 'filename': path,
                                        'node-name': 'file'})
        self.job('blockdev-create',
                 options={'driver': 'qcow2', 'file': 'file', 'size': 1 << 20})
        self.execute('blockdev-add', **{'driver': 'qcow2', 'file': 'file',
                                        'node-name': 'disk'})

# SPDX-License-Identifier: GPL-2.0-or-later
"""A libvirt daemon that was just built, for a session of its own, and what is tried with it.

Everything of the daemon is in a scratch directory; no service of the system is touched.
"""

import contextlib
import os
import re
import socket
import subprocess
import time
import xml.etree.ElementTree as ElementTree

# Bounds a hang; nothing passes or fails by it.
TIMEOUT = 600

DOMAIN = """
<domain type='{type}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{name}</name>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <kernel>{kernel}</kernel>
    <cmdline>{words}</cmdline>
  </os>
  <features>
    <acpi/>
    {features}
  </features>
  {cpu}
  <on_reboot>destroy</on_reboot>
  <devices>
    <emulator>{emulator}</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    <serial type='unix'>
      <source mode='bind' path='{scratch}/{name}.sock'/>
      <log file='{scratch}/{name}.console' append='on'/>
    </serial>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-device'/>
    <qemu:arg value='isa-debug-exit,iobase=0xf4,iosize=0x4'/>
  </qemu:commandline>
</domain>
"""

# Root has no session of libvirt's: be somebody else, who owns the same files.
USER = [] if os.geteuid() else ['unshare', '--user', '--map-user=1000', '--map-group=1000']

# What the guest's own hypervisor needs; our TCG has it all.
NESTED = ('svm', 'npt', 'nrip-save', 'vmcb-clean', 'flushbyasid', 'pcid', 'invpcid')


def cpu(mode='custom', check='partial', **features):
    """A CPU element with names of features by policy."""
    model = "<model fallback='forbid'>qemu64</model>" if mode == 'custom' else ''
    return (f"<cpu mode='{mode}' check='{check}'>{model}" +
            ''.join(f"<feature policy='{policy}' name='{name}'/>"
                    for policy, names in features.items() for name in names) + '</cpu>')


class Daemon:
    """virtqemud, and virsh to talk to it."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.environment = dict(os.environ, LC_ALL='C', HOME=scratch)
        for name in 'CONFIG', 'CACHE', 'DATA', 'STATE':
            self.environment[f'XDG_{name}_HOME'] = os.path.join(scratch, name.lower())
        self.environment['XDG_RUNTIME_DIR'] = os.path.join(scratch, 'run')
        os.makedirs(os.path.join(scratch, 'run'), 0o700)
        os.makedirs(os.path.join(scratch, 'config/libvirt'))
        with open(os.path.join(scratch, 'config/libvirt/qemu.conf'), 'w', encoding='utf-8') as file:
            file.write('stdio_handler = "file"\n')
        self.log = os.path.join(scratch, 'daemon.log')

    def __enter__(self):
        with open(self.log, 'wb') as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([*USER, f'{self.build}/src/virtqemud'],
                                            env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        path = os.path.join(self.scratch, 'run/libvirt/virtqemud-sock')
        self.wait(lambda: os.path.exists(path) or self.process.poll() is not None, 'its socket')
        return self

    def __exit__(self, *unused):
        for name in self.virsh('list', '--name')[1].split():
            self.virsh('destroy', name)
        self.process.terminate()
        self.process.wait(TIMEOUT)

    def alive(self):
        return self.process.poll() is None

    @staticmethod
    def wait(condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f'libvirt: waited {TIMEOUT} seconds for {what}')
            time.sleep(0.05)

    def virsh(self, *arguments):
        """Exit status, output and error message of a virsh command."""
        done = subprocess.run([*USER, f'{self.build}/tools/virsh', '-q', '-c',
                               'qemu:///session', *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout, done.stderr

    def file(self, name, text):
        """A new file of the scratch directory."""
        path = os.path.join(self.scratch, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def state(self, name):
        return self.virsh('domstate', name)[1].strip()

    def console(self, name):
        """What the guest has printed so far."""
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.scratch, f'{name}.console'), 'rb') as file:
                return file.read().decode(errors='replace').replace('\r', '')
        return ''

    def type(self, name, text):
        """Type something on the guest's console."""
        with socket.socket(socket.AF_UNIX) as console:
            console.connect(os.path.join(self.scratch, f'{name}.sock'))
            console.sendall(text.encode())

    def run_to_end(self, name):
        """The guest's results, once it has ended: those that are right, and those that are not."""
        self.wait(lambda: self.state(name) == 'shut off', f'the end of {name}')
        points = re.findall(r'^(not )?ok \d+ - (.*)', self.console(name), re.M)
        return ([text for wrong, text in points if not wrong],
                [text for wrong, text in points if wrong])


class Tests:
    """What is tried, with a QEMU that knows the features and one that does not."""

    def __init__(self, tap, daemon, kernel, patched, pristine):
        self.tap, self.daemon, self.kernel = tap, daemon, kernel
        self.patched, self.pristine = patched, pristine

    def domain(self, name, words='', emulator=None, features='', kind='qemu', **how):
        """Domain XML."""
        return DOMAIN.format(type=kind, name=name, kernel=self.kernel, words=words,
                             emulator=emulator or self.patched, scratch=self.daemon.scratch,
                             features=features, **how)

    def define(self, name, *arguments, **how):
        return self.daemon.virsh('define', self.daemon.file(
            f'{name}.xml', self.domain(name, *arguments, **how)))

    def starts(self, text, name, words, **how):
        """A domain starts, and its guest finds what its command line says."""
        self.define(name, words, **how)
        status, _, error = self.daemon.virsh('start', name)
        if not self.tap.ok(not status, f'{text}: starts', error):
            return
        right, wrong = self.daemon.run_to_end(name)
        self.tap.ok(right and not wrong, f'{text}: the guest finds {words}',
                    *wrong, self.daemon.console(name))

    def start_fails(self, text, name, *messages, **how):
        """A domain is defined and does not start, and the message says why."""
        status, _, error = self.define(name, **how)
        if not status:
            status, _, error = self.daemon.virsh('start', name)
        self.tap.ok(status and all(message in error for message in messages) and
                    self.daemon.state(name) == 'shut off',
                    f'{text}: refused with {" ".join(messages)!r}', error)

    def refused(self, text, *messages, **how):
        """A domain cannot even be defined, and nothing is left of it."""
        status, _, error = self.define('refused', **how)
        self.tap.ok(status and all(message in error for message in messages) and
                    'refused' not in self.daemon.virsh('list', '--all', '--name')[1].split(),
                    f'{text}: not defined, with {" ".join(messages)!r}', error)

    def run(self):
        self.policies()
        self.verified()
        self.probed()
        self.live()
        self.saved()
        self.modes()
        self.compared()
        self.wrong()
        self.tap.ok(self.daemon.alive(), 'the daemon has not died')

    def policies(self):
        old = {'emulator': self.pristine}
        require, optional, forbid = (cpu(**{policy: ['invlpgb']}) for policy in
                                     ('require', 'optional', 'forbid'))
        has, lacks = 'run=cpuid,match expect-invlpgb=1', 'run=cpuid expect-invlpgb=0'
        self.starts('require', 'require', has, cpu=require)
        self.start_fails('require, QEMU without', 'require-old',
                         'does not provide required features', 'invlpgb', cpu=require, **old)
        self.starts('optional', 'optional', has, cpu=optional)
        self.starts('optional, QEMU without', 'optional-old', lacks, cpu=optional, **old)
        self.start_fails('forbid', 'forbid', "forbidden feature 'invlpgb'", cpu=forbid)
        self.starts('forbid, QEMU without', 'forbid-old', lacks, cpu=forbid, **old)
        self.starts('disable', 'disable', lacks, cpu=cpu(disable=['invlpgb']))
        self.starts('not mentioned', 'without', lacks, cpu=cpu())
        self.starts('all four names', 'four', 'run=cpuid expect-invlpgb=1 expect-nested=1 '
                    'expect-tlbi-ctl=1 expect-tlbsync-sfw-no=1 expect-count-max=7',
                    cpu=cpu(require=['invlpgb', 'invlpgb-nested', 'tlbi-ctl', 'svm',
                                     'tlbsync-sfw-no']))

    def verified(self):
        """Features that QEMU knows, but cannot give this guest: this one depends on svm."""
        missing = {'disable': ['svm'], 'require': ['tlbi-ctl']}
        self.start_fails('tlbi-ctl without svm', 'left-out', 'left out', "'tlbi-ctl'",
                         cpu=cpu(**missing))
        self.start_fails('tlbi-ctl without svm, maximum', 'left-out-maximum', 'left out',
                         "'tlbi-ctl'", cpu=cpu('maximum', 'none', **missing))
        lacks = 'run=cpuid expect-tlbi-ctl=0'
        self.starts('tlbi-ctl without svm, check none', 'unchecked', lacks,
                    cpu=cpu(check='none', **missing))
        self.starts('optional tlbi-ctl without svm', 'optional-left-out', lacks,
                    cpu=cpu(disable=['svm'], optional=['tlbi-ctl']))

    def probed(self):
        """What libvirt has learnt of each QEMU."""
        wanted = {'cpu.invlpgb', 'cpu.invlpgb-nested', 'cpu.tlbi-ctl', 'cpu.tlbsync-sfw-no',
                  'accel.kvm.tlb-broadcast'}
        cache = os.path.join(self.daemon.scratch, 'cache/libvirt/qemu/cache/capabilities')
        found = {}
        for file in os.scandir(cache):
            root = ElementTree.parse(file.path).getroot()
            found[root.findtext('emulator')] = {flag.get('name') for flag in root.iter('flag')}
        self.tap.equal('our QEMU has all of it', found.get(self.patched, set()) & wanted, wanted)
        self.tap.equal('the base has none of it', found.get(self.pristine, wanted) & wanted, set())

    def live(self):
        """What dumpxml says, before the guest runs, while it does, and after."""
        name = 'xml'
        self.define(name, 'run=migration', cpu=cpu(optional=['invlpgb'], require=NESTED))
        before = self.daemon.virsh('dumpxml', name)[1]
        self.daemon.virsh('start', name)
        running = self.daemon.virsh('dumpxml', name)[1]
        inactive = self.daemon.virsh('dumpxml', '--inactive', name)[1]
        self.daemon.virsh('destroy', name)
        after = self.daemon.virsh('dumpxml', name)[1]

        def policy(text):
            return [feature.get('policy') for feature in ElementTree.fromstring(text).iter('feature')
                    if feature.get('name') == 'invlpgb']

        self.tap.equal('dumpxml keeps the optional feature', policy(before), ['optional'])
        self.tap.equal('while the guest has it, it is required', policy(running), ['require'])
        self.tap.ok(before == inactive == after, 'the definition does not change by that',
                    before, inactive, after)
        again = self.daemon.virsh('define', self.daemon.file('again.xml', before))
        self.tap.ok(not again[0] and self.daemon.virsh('dumpxml', name)[1] == before,
                    'what dumpxml prints can be defined again', again[2])

    def saved(self):
        """The guest is saved and started again while it has translations in use."""
        name = 'saved'
        self.define(name, 'run=migration', cpu=cpu(require=['invlpgb', 'tlbi-ctl', *NESTED]))
        status, _, error = self.daemon.virsh('start', name)
        self.tap.ok(not status, 'managedsave: the guest starts', error)
        self.daemon.wait(lambda: 'ready to be migrated' in self.daemon.console(name) or
                         self.daemon.state(name) != 'running', 'the guest')
        for command in 'managedsave', 'start':
            status, _, error = self.daemon.virsh(command, name)
            if not self.tap.ok(not status, f'managedsave: {command}', error,
                               self.daemon.console(name)):
                return
        self.daemon.type(name, '2')
        right, wrong = self.daemon.run_to_end(name)
        self.tap.ok(len(right) >= 4 and not wrong, 'managedsave: the guest goes on',
                    *wrong, self.daemon.console(name))

    def modes(self):
        """Other modes of the CPU element."""
        has = 'run=cpuid expect-invlpgb=1'
        for mode in 'host-model', 'maximum':
            check = 'partial' if mode == 'host-model' else 'none'
            for policy in 'require', 'optional':
                self.starts(f'{mode}, {policy}', f'{mode}-{policy}', has,
                            cpu=cpu(mode, check, **{policy: ['invlpgb']}))
            self.starts(f'{mode}, not asked for', f'{mode}-without', 'run=cpuid expect-invlpgb=0',
                        cpu=cpu(mode, check))

    def compared(self):
        """What does not start a guest."""
        wanted = self.daemon.file('cpu.xml', "<cpu><model>qemu64</model>"
                                  "<feature policy='require' name='invlpgb'/></cpu>")
        host = ['--virttype', 'qemu', '--arch', 'x86_64']
        for emulator, right in (self.patched, True), (self.pristine, False):
            which = 'QEMU' if right else 'QEMU without'
            where = ['--emulator', emulator, *host]
            status, output, error = self.daemon.virsh('hypervisor-cpu-compare', wanted, *where)
            self.tap.ok((status == 0) == right and ('incompatible' in output + error) != right,
                        f'hypervisor-cpu-compare, {which}', output, error)
            status, output, error = self.daemon.virsh('hypervisor-cpu-baseline', wanted, *where)
            self.tap.ok(not status and ("'invlpgb'" in output) == right,
                        f'hypervisor-cpu-baseline, {which}', output, error)
            status, output, error = self.daemon.virsh('domcapabilities', '--emulatorbin', emulator,
                                                      *host)
            self.tap.ok(not status and "'invlpgb" not in output and 'tlb-broadcast' not in output,
                        f'domcapabilities do not offer it by themselves, {which}', error)
        status, output, error = self.daemon.virsh('cpu-compare', wanted)
        self.tap.ok('invlpgb' not in error and 'error: unsupported' not in error,
                    'cpu-compare knows the name', output, error)

    def wrong(self):
        """What libvirt must refuse."""
        def kvm(attributes):
            return f'<kvm><tlb-broadcast {attributes}/></kvm>'

        plain = cpu(require=['invlpgb'])
        self.refused('unknown mode', "'mode'", "'tlb-broadcast'", "'native'", cpu=plain,
                     features=kvm("state='on' mode='native'"))
        self.refused('mode without state', "'state'", "'tlb-broadcast'", cpu=plain,
                     features=kvm("mode='intercept'"))
        self.refused('wrong state', "'state'", "'tlb-broadcast'", "'1'", cpu=plain,
                     features=kvm("state='1'"))
        self.refused('tlb-broadcast with TCG', "'tlb-broadcast'", "domain type 'qemu'", cpu=plain,
                     features=kvm("state='on' mode='intercept'"))
        self.start_fails('misspelt feature', 'misspelt', 'invlpbg', cpu=cpu(require=['invlpbg']))


def run(tap, build, scratch, *machine):
    """Start the daemon of a build and try it with a guest's kernel and two QEMUs."""
    with Daemon(build, scratch) as daemon:
        Tests(tap, daemon, *machine).run()

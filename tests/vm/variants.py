# SPDX-License-Identifier: MIT
"""variants.py - hosts of several kinds: on each, every command works or says what it lacks

A row of VARIANTS is a setting of the guest, or what its root may not do. On it each caller
checks the host, runs jails that end in several ways, and has a session, warm and cold. All
of it works, or is refused by one line with the words in the row. What a jail does inside is
not looked at: only command lines, exit statuses, reports, messages and frames are.
"""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, '/')
from serve_client import Gone, Refused, Serve  # noqa: E402

STEPJAIL = '/build/stepjail'
TOP = '/sys/fs/cgroup'
REPORT = '/tmp/variants/report'
ALL = ('root', 'user', 'user without a cgroup')
PROC = 'mount -o remount,nosuid,nodev,noexec,hidepid=%d /proc'
YAMA = 'echo %d >/proc/sys/kernel/yama/ptrace_scope'


class Variant:
    def __init__(self, name, *setup, callers=ALL, lacks='', refused='', cold='', later=True):
        self.name, self.setup, self.callers = name, setup, callers
        self.wrap = ['/mini/bin/without', lacks] if lacks else []
        self.refused = refused  # by each command, in these words; '' where it works
        self.later = later  # on the kernel of backports, too
        self.cold = cold  # serve has no template, and says why: in these words


def lacking(names, **more):
    return Variant('root without ' + names, lacks=names, callers=['root'], **more)


# In this order: Yama's scope 3 is for good
VARIANTS = {
    'variants': (
        Variant('hidepid=2', PROC % 2, callers=ALL[1:], later=False),
        Variant('Yama 2', PROC % 0, YAMA % 2, callers=ALL[1:], later=False),
        lacking('sys_admin'),
        lacking('kill,mknod,net_admin,setpcap,sys_chroot,sys_ptrace,sys_resource', later=False),
        lacking('chown', cold='CAP_CHOWN', later=False),
        lacking('setuid', refused='CAP_SETUID', later=False),
        lacking('setgid', refused='CAP_SETGID', later=False),
        lacking('dac_override', refused='CAP_DAC_OVERRIDE', later=False),
        Variant('Yama 3, hidepid=2', PROC % 2, YAMA % 3),
    ),
    'nolandlock': (
        Variant('no Landlock', callers=ALL[:2]),
        Variant('no Landlock, Yama 3, hidepid=2', PROC % 2, YAMA % 3, callers=ALL[2:]),
    ),
}

# options, program, verdict, status: with a cgroup, without
RUNS = (
    ((), ('end', 'exit', '3'), 'exited', 3, 3),
    (('--memory=32M',), ('end', 'many', '16', '4'), 'memory', 1, 137),
    (('--wall-time=300ms',), ('true', '60000'), 'wall-timeout', 124, 124),
    (('--cpu-time=300ms',), ('end', 'spin'), 'cpu-timeout', 137, 137),
    (('--on-violation=kill',), ('box', '/bin/true'), 'violation', 137, 137),
)


class Wrong(Exception):
    pass


def is_so(what, got, wanted):
    if got != wanted:
        raise Wrong(f'{what} is {got!r}, not {wanted!r}')


class Caller:
    def __init__(self, variant, who):
        self.variant, self.who = variant, who
        self.has_cgroup = not who.endswith('without a cgroup')
        self.options = [] if self.has_cgroup else ['--allow-missing=cgroup']
        self.how = {'preexec_fn': self.become, 'cwd': '/', 'env': {'PATH': '/bin', 'HOME': '/'}}

    def become(self):
        place = 'own/shell' if self.who == 'user' else 'case'
        with open(f'{TOP}/{place}/cgroup.procs', 'w') as procs:
            procs.write(str(os.getpid()))
        if self.who != 'root':
            os.setgroups([])
            os.setgid(1000)
            os.setuid(1000)

    def done(self, *words):
        return subprocess.run([*self.variant.wrap, STEPJAIL, *words], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, **self.how)

    def said(self, text):
        """Lines of the product's, without the warning that an option asked for."""
        lines = [line for line in text.splitlines()
                 if line.startswith('stepjail: ') and ' warning: ' not in line]
        return '\n'.join(lines)

    def refuses(self, said):
        if len(said.splitlines()) != 1 or self.variant.refused not in said:
            raise Wrong(f'it says {said!r}, not one line with {self.variant.refused!r}')

    def check(self):
        done = self.done('check', '--json', *self.options)
        lacks = {row['name']: row['detail'] for row in json.loads(done.stdout)['checks']
                 if row['state'] == 'missing'}
        if self.variant.refused:
            is_so('status', done.returncode, 1)
            said = lacks.get('a whole jail', 'nothing of a whole jail')
            self.refuses(lacks.get(said.removeprefix('for the same cause as: '), said))
        else:
            is_so('what is missing', (lacks, done.returncode), ({}, 0))

    def run(self):
        for options, program, verdict, with_cgroup, without in RUNS:
            done = self.done('run', '--rootfs=/mini', f'--report={REPORT}', *self.options,
                             *options, '--', '/bin/' + program[0], *program[1:])
            said = self.said(done.stderr)
            if self.variant.refused:
                is_so('status', (done.returncode, done.stdout), (125, ''))
                self.refuses(said)
                continue
            status = with_cgroup if self.has_cgroup else without
            is_so(f'the end of {program}', done.returncode, status)
            # which limit ended it is said in one line
            limit = options[0].replace('=', ' ') if options else ''
            if len(said.splitlines()) != len(options) or limit not in said:
                raise Wrong(f'it says {said!r}, not one line with {limit!r}')
            with open(REPORT) as file:
                report = json.load(file)
            os.unlink(REPORT)
            is_so(f'verdict of {program}', report['verdict'], verdict)
            is_so('all is enforced', report['not_enforced'] == [], self.has_cgroup)
            is_so('Landlock', bool(report['posture']['landlock']), HAS_LANDLOCK)

    def opened(self, serve, cold):
        """A session; a template's, as soon as there is one."""
        cold = cold or bool(self.variant.cold)
        for _ in range(100):
            session = serve.open()
            if session.opened['warm'] and not cold:
                return session
            # why it is cold is known a moment later
            if cold and (not self.variant.cold or session.opened['why_cold']):
                return session
            session.close()
            time.sleep(0.1)
        raise Wrong(f"no session is warm: {session.opened['why_cold']!r}")

    def serve(self, *options):
        serve = Serve([*self.options, '--memory=64M', *options],
                      command=[*self.variant.wrap, STEPJAIL, 'serve'], **self.how)
        try:
            session = self.opened(serve, '--cold' in options)
            if self.variant.cold and not options:
                why = session.opened['why_cold']
                is_so(f'{self.variant.cold!r} in {why!r}', self.variant.cold in why, True)
            self.steps(session)
            if not options:
                self.limits(session)
            session.close()
        except (Gone, Refused) as e:
            status, said = serve.end()
            if not self.variant.refused:
                raise Wrong(f'it is refused: {e or said} (exit status {status})')
            # at the start, or by its answer to OPEN
            if isinstance(e, Gone):
                is_so('status', status, 125)
            self.refuses(self.said(said) or str(e))
            return
        is_so('status', serve.end()[0], 0)
        is_so('refused', self.variant.refused, '')

    def steps(self, session):
        step = session.run('x = [1]\nprint("said")')
        is_so('a step', (step.out, step.done['verdict'], step.done['state']),
              (b'said\n', 'completed', 'kept'))
        kept = session.status()['branches']['0']['state']
        for end, state, result in ((session.kill, 'rolled-back', '[1]'),
                                   (session.interrupt, 'kept', '[1, 2]')):
            session.start('x.append(2)\nprint("at it", flush=True)\nwhile True: pass')
            session.serve.expect(session.number, 0, 'OUT')
            end()
            done = session.finish().done
            is_so('a step that is ended', (done['verdict'], done['state']), ('cancelled', state))
            is_so('x', session.run('x').result, result)
        session.rollback(kept)
        is_so('x of the state before', session.run('x').result, '[1]')

    def limits(self, session):
        """By verdict and state; then what a step leaves behind."""
        memory = ('memory', 'rolled-back') if self.has_cgroup else ('exception', 'kept')
        for source, how, wanted in (
                ('y = bytearray(b"b") * (96 << 20)', {}, memory),
                ('while True: pass', {'cpu_ms': 200}, ('cpu-timeout', 'kept')),
                ('import time; time.sleep(60)', {'wall_ms': 200}, ('wall-timeout', 'kept'))):
            done = session.run(source, **how).done
            is_so(f'the end of {source!r}', (done['verdict'], done['state']), wanted)
        done = session.run('import os\nif os.fork() == 0: time.sleep(60)').done
        is_so('strays', (done['verdict'], done['strays']), ('completed', 1))

    def clean(self):
        """No leaf is left."""
        for _ in range(100):
            left = [at for at, _, _ in os.walk(TOP) if re.search('/run-[0-9]+-', at)]
            if not left:
                return
            time.sleep(0.05)
        raise Wrong(f'left behind: {left}')


def main(name):
    failed = []
    os.mkdir(os.path.dirname(REPORT))
    os.chmod(os.path.dirname(REPORT), 0o777)
    later = not os.uname().release.startswith('6.1.')
    for variant in VARIANTS[name]:
        if later and not variant.later:
            continue
        for script in variant.setup:
            subprocess.run(script, shell=True, check=True)
        for who in variant.callers:
            caller = Caller(variant, who)
            for what, part in (('check', caller.check), ('run', caller.run),
                               ('serve', caller.serve),
                               ('serve --cold', lambda: caller.serve('--cold')),
                               ('after all', caller.clean)):
                began = time.monotonic()
                try:
                    part()
                    said = 'as it shall be'
                except Exception as e:  # a wrong row does not hide those after it
                    said = f'{type(e).__name__}: {e}'
                    failed.append(f'FAIL: {variant.name}: {what}, as {who}: {said}')
                print(f'  {variant.name}: {what}, as {who}: {said} '
                      f'({time.monotonic() - began:.1f} s)', flush=True)
    print('\n'.join(failed))
    return 1 if failed else 0


with open('/sys/kernel/security/lsm') as lsm:
    HAS_LANDLOCK = 'landlock' in lsm.read().split(',')
sys.exit(main(sys.argv[1]))

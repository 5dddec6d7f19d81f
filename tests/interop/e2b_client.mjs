// SPDX-License-Identifier: MIT
// e2b_client.mjs - a program that was written for E2B's sandboxes, as its documentation has them: e2b and
// @e2b/code-interpreter, unchanged. Prints what it does and what came, a line of JSON each.
//   node e2b_client.mjs MODULES, with E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY
import { createRequire } from 'node:module'
const require = createRequire(process.argv[2] + '/')
const { Sandbox } = require('@e2b/code-interpreter')
const { Sandbox: Plain } = require('e2b')

async function show(name, action) {
	let came
	try {
		came = await action()
	} catch (error) {
		came = { raised: error.constructor.name, message: error.message }
	}
	console.log(JSON.stringify({ name, came: came === undefined ? null : came }))
	return came
}

const run = async (...words) => {
	const done = await sandbox.runCode(...words)
	return { ...done.toJSON(), text: done.text, count: done.executionCount }
}

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { user: 'a b' }, envs: { ONE: '1' } })
await show('running', () => sandbox.isRunning())
await show('info', async () => {
	const info = await sandbox.getInfo()
	return { state: info.state, metadata: info.metadata, same: info.sandboxId === sandbox.sandboxId }
})

// code
const heard = []
await show('stdout', () => run("import sys\nx = 41\nprint('hello')\nprint('oh', file=sys.stderr)\nx + 1",
	{ onStdout: one => heard.push(one.line), onResult: one => heard.push(one.text) }))
await show('heard', () => heard.join(''))
await show('error', () => run('1 / 0'))
await show('syntax', () => run('x = ('))
await show('envs', () => run("import os; [os.environ.get(name) for name in ('ONE', 'TWO')]", { envs: { TWO: '2' } }))
await show('forms', () => run("import pandas as pd; pd.DataFrame({'a': [1]})"))
await show('png', async () => {
	const done = await sandbox.runCode('import matplotlib.pyplot as plt; plt.plot([1, 4, 9]); plt.show()')
	return done.results.map(one => ({ formats: one.formats(),
		png: Buffer.from(one.png, 'base64').toString('latin1', 1, 4) }))
})
await show('refused', () => run("import os; os.system('id')"))
await show('language', () => sandbox.runCode('1', { language: 'r' }))
await show('timeout', () => sandbox.runCode('while True: pass', { timeoutMs: 500 }))
await show('goes on', () => run('x'))

// contexts
const context = await sandbox.createCodeContext({ cwd: '/home/user' })
await show('contexts', async () => (await sandbox.listCodeContexts()).map(one => [one.language, one.cwd]))
await show('apart', () => run('x', { context }))
await run('y = 1', { context })
await show('kept', () => run('y', { context }))
await sandbox.restartCodeContext(context)
await show('restarted', () => run('y', { context }))
await sandbox.removeCodeContext(context)
await show('removed', () => run('1', { context }))

// files
await show('write', () => sandbox.files.write('data/a.csv', 'n\n3\n4\n'))
await show('writes', () => sandbox.files.write([{ path: 'b.txt', data: 'b' }, { path: '/home/user/c.bin',
	data: new Uint8Array([0, 13, 10, 45]).buffer }]))
await show('read', () => sandbox.files.read('/home/user/data/a.csv'))
await show('bytes', async () => [...await sandbox.files.read('c.bin', { format: 'bytes' })])
await show('stream', async () => {
	let text = ''
	for await (const piece of await sandbox.files.read('b.txt', { format: 'stream' })) text += Buffer.from(piece)
	return text
})
await show('summed', () => run("sum(int(n) for n in open('data/a.csv').read().split()[1:])"))
await show('list', async () => (await sandbox.files.list('.', { depth: 2 })).map(one => [one.type, one.path, one.name]))
await show('made', async () => [await sandbox.files.makeDir('new/dir'), await sandbox.files.makeDir('new/dir')])
await show('renamed', async () => (await sandbox.files.rename('b.txt', 'new/b.txt')).path)
await show('exists', async () => [await sandbox.files.exists('b.txt'), await sandbox.files.exists('new/b.txt')])
await show('entry', async () => {
	const { name, type, path, size, modifiedTime } = await sandbox.files.getInfo('new/b.txt')
	return { name, type, path, size, recent: Date.now() - modifiedTime < 3600_000 }
})
await sandbox.files.remove('new')
await show('gone', () => sandbox.files.read('new/b.txt'))
await show('elsewhere', () => sandbox.files.read('/etc/passwd'))
await show('watch', () => sandbox.files.watchDir('.', () => {}))
await show('link', async () => (await fetch(await sandbox.downloadUrl('data/a.csv'))).text())
await show('upload', async () => {
	const form = new FormData()
	form.append('file', new Blob(['up']), 'up.txt')
	const done = await fetch(await sandbox.uploadUrl('up.txt'), { method: 'POST', body: form })
	return [done.status, await sandbox.files.read('up.txt')]
})

// programs, as far as the jail lets them
await show('command', async () => {
	const { exitCode, stdout, stderr } = await sandbox.commands.run('echo out; echo err >&2', { envs: { A: 'b' } })
	return { exitCode, stdout, stderr }
})
await show('processes', () => sandbox.commands.list())
await show('pty', () => sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} }))

// what there is not
await show('pause', () => sandbox.pause())
await show('template', () => Plain.create('mine'))

// found again, and ended
const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 200_000 })
await show('connected', async () => (await again.runCode('x')).text)
await again.setTimeout(60_000)
const plain = await Plain.create()
await show('listed', async () => {
	const found = await Sandbox.list({ query: { metadata: { user: 'a b' } } }).nextItems()
	return [found.length, (await Plain.list({ limit: 1 }).nextItems()).length, await plain.files.exists('.')]
})
await show('ended', () => sandbox.runCode("print('runs', flush=True)\nwhile True: pass",
	{ onStdout: () => { sandbox.kill() } }))
await show('killed', async () => [await sandbox.kill(), await sandbox.isRunning(), await plain.kill()])
await show('after', () => sandbox.runCode('1'))
await show('unknown', () => Sandbox.connect('inothing'))
await show('key', () => Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }))
process.exit() // timers of runCode's that were refused would hold it for a minute

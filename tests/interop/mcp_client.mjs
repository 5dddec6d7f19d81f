// SPDX-License-Identifier: MIT
// mcp_client.mjs - the protocol's own client at stepjail-mcp: mcp_client.mjs MODULES SERVER MODE [TOKEN]
// Prints one JSON object of what came of it. MODE is legacy, auto, or a version that is pinned.
// SERVER is a program, or with a TOKEN an address.
import { pathToFileURL } from 'node:url';

const [modules, server, mode, token] = process.argv.slice(2);
const base = pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/`);
const { Client, StreamableHTTPClientTransport } = await import(new URL('index.mjs', base));
const { StdioClientTransport } = await import(new URL('stdio.mjs', base));

const client = new Client({ name: 'interop', version: '1' },
	{ versionNegotiation: { mode: /^\d/.test(mode) ? { pin: mode } : mode } });
await client.connect(token ? new StreamableHTTPClientTransport(new URL(server),
	{ requestInit: { headers: { Authorization: `Bearer ${token}` } } }) :
	new StdioClientTransport({ command: server, args: [], env: process.env }));
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);

const found = { tools: (await client.listTools()).tools.map(tool => tool.name) };
const first = await call('python', { code: 'x = 6 * 7\nx' });
const session = first.structuredContent.session;
found.first = first.structuredContent.result;
found.raised = (await call('python', { code: '1 / 0', session })).isError;
found.dead = (await call('python', { code: 'import os; x = 0; os.kill(os.getpid(), 9)', session })).structuredContent;

// the first line of progress comes from a step that runs: cancel it then
const stop = new AbortController();
found.progress = 0;
await call('python', { code: 'while True: pass', session }, {
	signal: stop.signal, onprogress: () => { found.progress += 1; stop.abort(); },
}).catch(() => { found.cancelled = true; });
found.after = (await call('python', { code: 'x', session })).structuredContent.result;
await call('put_file', { session, path: 'a.txt', text: 'seven' });
found.file = (await call('get_file', { session, path: 'a.txt' })).structuredContent.text;
found.version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify(found));

// SPDX-License-Identifier: MIT
// conformance_token.mjs - the suite sends no token and has no option for one: here each of its requests gets one,
// those of fetch and of http. Loaded by node --import, with the token in STEPJAIL_TOKEN.
import diagnostics from 'node:diagnostics_channel';
import http from 'node:http';

const authorization = `Bearer ${process.env.STEPJAIL_TOKEN}`;
diagnostics.subscribe('undici:request:create', ({ request }) => request.addHeader('authorization', authorization));
const request = http.request;
http.request = (options, ...rest) =>
	request({ ...options, headers: { ...options.headers, authorization } }, ...rest);

/* SPDX-License-Identifier: MIT */
/*
 * sha256.c - SHA-256: see sha256.h; names of variables and sections are those of FIPS 180-4
 */
#include <stdio.h>
#include <string.h>

#include "jail/base/sha256.h"

/* 4.2.2: the fractional parts of the cube roots of the first 64 primes */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* 3.2 and 4.1.2 */
static uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* 6.2.2: one block of 64 bytes */
static void add_block(uint32_t *state, const unsigned char *block)
{
	uint32_t w[64];

	for (int t = 0; t < 16; t++, block += 4)
		w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (int t = 16; t < 64; t++)
		w[t] = (rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10) +
		       w[t - 7] +
		       (rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3) +
		       w[t - 16];

	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	for (int t = 0; t < 64; t++) {
		uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
			      ((e & f) ^ (~e & g)) + k[t] + w[t];
		uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
			      ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

/* 5.3.3: the fractional parts of the square roots of the first eight primes */
void sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){ .state = {
				      0x6a09e667,
				      0xbb67ae85,
				      0x3c6ef372,
				      0xa54ff53a,
				      0x510e527f,
				      0x9b05688c,
				      0x1f83d9ab,
				      0x5be0cd19,
			      } };
}

void sha256_add(struct sha256 *s, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length) {
		size_t have = s->bytes % 64;
		size_t n = length < 64 - have ? length : 64 - have;

		memcpy(s->block + have, at, n);
		s->bytes += n;
		at += n;
		length -= n;
		if (have + n == 64)
			add_block(s->state, s->block);
	}
}

/* 5.1.1: a one bit, zeroes, and the length in bits as the last eight bytes of a block */
const char *sha256_end(struct sha256 *s, char *hex)
{
	uint64_t bits = s->bytes * 8;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, "\x80", 1);
	while (s->bytes % 64 != 56)
		sha256_add(s, "", 1);
	sha256_add(s, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		(void)snprintf(hex + 8 * i, 9, "%08x", s->state[i]);
	return hex;
}

const char *sha256_text(const void *bytes, size_t length, char *hex)
{
	struct sha256 s;

	sha256_begin(&s);
	sha256_add(&s, bytes, length);
	return sha256_end(&s, hex);
}

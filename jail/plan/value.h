/* SPDX-License-Identifier: MIT */
/*
 * value.h - read numbers with units that a user wrote, and print them
 */
#pragma once

#include "init/err.h"

enum value_kind {
	VALUE_SIZE,  /* bytes: 512, 64K, 1.5G, 64MiB; units are powers of 1024 */
	VALUE_TIME,  /* milliseconds: 2 (seconds), 250ms, 1.5s, 10m, 1h */
	VALUE_COUNT, /* 32 */
	VALUE_CPUS,  /* thousandths: 2, 0.25 */
};

#define VALUE_TEXT_MAX 32

/**
 * value_parse() - Read a number with its unit
 * @kind:	What the number counts, and so its units
 * @text:	Digits, at most six of them behind a point, and a unit; no blank, no
 *		sign
 * @value:	In the kind's smallest unit
 * @e:		Says what is wrong with the text; the caller adds the option's name
 *
 * Return: 0, -EINVAL (junk, a sign, a unit of another kind, a fraction of the smallest
 * unit), or -ERANGE (does not fit)
 */
int value_parse(enum value_kind kind, const char *text, uint64_t *value, struct err *e);

/**
 * value_print() - Write a number so that value_parse() reads it back exactly
 * @text:	VALUE_TEXT_MAX bytes
 *
 * Return: @text; "unlimited" for NO_LIMIT, which value_parse() does not take
 */
const char *value_print(enum value_kind kind, uint64_t value, char *text);

/**
 * value_check_cpus() - Is this a list of CPUs as the kernel writes it, such as 0-1,3?
 *
 * Return: 0 or -EINVAL
 */
int value_check_cpus(const char *text, struct err *e);

/**
 * value_check_modules() - Are these names of Python's modules, with commas between them?
 *
 * Return: 0 or -EINVAL
 */
int value_check_modules(const char *text, struct err *e);

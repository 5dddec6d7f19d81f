/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - what a run's jails were made with, as JSON; read back by replay/peek.h
 */
#ifndef STEPJAIL_AGENT_INPUTS_H
#define STEPJAIL_AGENT_INPUTS_H

#include <cjson/cJSON.h>

#include "agent/base/chain.h"
#include "agent/session/jail_opts.h"

/**
 * inputs_digest() - The SHA-256 of a regular file, or of all that is in a folder
 * @bytes:	Gets its size, of all files in it
 *
 * Return: 0, or -errno with a line that names it
 */
int inputs_digest(const char *path, char hex[CHAIN_HEX], uint64_t *bytes, struct err *e);

/** inputs_digest_of() - Of all of a file, wherever its fd stands; 0 or -errno of
 * pread(2) */
int inputs_digest_of(int fd, char hex[CHAIN_HEX], uint64_t *bytes);

/** inputs_tree() - Of a folder; 0, or -errno with a line that names what is in it */
int inputs_tree(int fd, char hex[CHAIN_HEX], uint64_t *bytes, struct err *e);

/** inputs_modules() - The same of a folder's entries that end in .py alone */
int inputs_modules(int fd, char hex[CHAIN_HEX], uint64_t *bytes, struct err *e);

/**
 * inputs_file() - A file of the user's as an object: path (absolute), name, bytes, sha256
 *
 * Return: the object, or NULL with @e filled
 */
cJSON *inputs_file(const char *path, const char *name, struct err *e);

/**
 * inputs_record() - The jail's options and files as an object
 * @b:		Made of these options
 *
 * Return: the object, or NULL with @e filled
 */
cJSON *inputs_record(const struct jail_options *o, const struct jail_binds *b,
		     bool stateless, struct err *e);

#endif

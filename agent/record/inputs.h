/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - what a run's jails were made with, as JSON; read back by replay/peek.h
 */
#pragma once

#include "agent/base/json.h"
#include "agent/base/chain.h"
#include "agent/session/jail_opts.h"

/**
 * inputs_digest() - The SHA-256 of a regular file, or of all that is in a folder
 * @stop:	As digest_fd() has it
 * @bytes:	Gets its size, of all files in it
 *
 * Nothing but regular files and folders is opened.
 *
 * Return: 0, -EINTR where a signal came, or -errno with a line that names it
 */
int inputs_digest(const char *path, struct stop *stop, char hex[DIGEST_HEX],
		  uint64_t *bytes, struct err *e);

/** inputs_fd() - The same of an open file; @path names it in an error */
int inputs_fd(int fd, const char *path, struct stop *stop, char hex[DIGEST_HEX],
	      uint64_t *bytes, struct err *e);

/** inputs_modules() - The same of an open folder's entries that end in .py */
int inputs_modules(int fd, struct stop *stop, char hex[DIGEST_HEX], struct err *e);

/** inputs_path() - Add a path as a string, absolute: it means the same in any folder */
void inputs_path(cJSON *o, const char *name, const char *path);

/**
 * inputs_file() - Tell of a file of the user's: path (absolute), name, bytes, sha256
 * @o:		Gets these
 * @stream:	Where it came by a pipe, and has no path but its name, an fd that has all
 *		of it; else -1
 *
 * Return: 0, or as inputs_digest()
 */
int inputs_file(cJSON *o, const char *path, const char *name, int stream,
		struct stop *stop, struct err *e);

/**
 * inputs_record() - The jail's options and files as an object
 * @b:		Made of these options
 *
 * Return: the object, or NULL with @e filled
 */
cJSON *inputs_record(const struct jail_options *o, const struct jail_binds *b,
		     bool stateless, struct stop *stop, struct err *e);

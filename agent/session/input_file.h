/* SPDX-License-Identifier: MIT */
/*
 * input_file.h - what the user gives by --file, looked at before any jail has it
 *
 * A file or folder is mounted. What comes by a pipe can be read only once, so it is
 * copied into a file without a name before anything runs. Each new jail gets that by PUT:
 * in /work, for /work/in belongs to what is mounted there.
 */
#pragma once

#include "agent/base/stop.h"

#define INPUT_FOLDER "/work/in"
#define INPUT_STREAMS "/work" /* where what came by a pipe is */
#define INPUT_FILE_NAME_BYTES 256
#define INPUT_FILE_HEAD_BYTES 4096 /* of a file that are looked at */

struct input_file {
	const char *path;                 /* as given */
	char name[INPUT_FILE_NAME_BYTES]; /* its last part: as in the jail */
	bool stream; /* put into INPUT_STREAMS, and not mounted in INPUT_FOLDER */
	bool folder; /* of files; @size_bytes is how many are in it */
	uint64_t size_bytes;
	bool binary; /* no text in its head */
	bool whole;  /* the head is all of it */
	size_t head_length;
	char head[INPUT_FILE_HEAD_BYTES];
};

/**
 * input_file_look() - Look at a file the user gave
 * @path:	Must be a regular file, or a folder, that can be read
 * @f:		Filled; points into @path
 *
 * Return: 0, or -errno with a line that names the file
 */
int input_file_look(const char *path, struct input_file *f, struct err *e);

/**
 * input_file_look_at() - Look at what came by a pipe
 * @fd:		Its bytes, at their beginning; is there again afterwards
 * @f:		Its path and name are filled in, the rest is
 *
 * Return: 0 or -errno
 */
int input_file_look_at(int fd, struct input_file *f, struct err *e);

/**
 * input_file_is_stream() - Whether a path names what is read as it comes: -, /dev/stdin,
 * /dev/fd/N, a pipe, a socket or a device
 * @name:	Gets what the jail will call it: "stdin", "fd63", or its last part;
 *		INPUT_FILE_NAME_BYTES
 */
bool input_file_is_stream(const char *path, char *name);

/**
 * input_file_take_stream() - Read it to its end
 * @limit_bytes: More than that is an error
 *
 * Return: an fd to read it from, at its beginning, or -errno with a line that names it;
 * -EINTR where a signal came
 */
int input_file_take_stream(const char *path, uint64_t limit_bytes, struct stop *stop,
			   struct err *e);

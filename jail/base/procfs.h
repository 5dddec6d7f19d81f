/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - files of one process in /proc, by its pid
 *
 * Each call checks that /proc is a procfs of the caller's own PID namespace. Files are
 * opened without following symlinks or entering other mounts, see openat2(2): a file that
 * somebody mounted over uid_map is neither written nor read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/base/folder.h"

/**
 * procfs_use() - From now on, look at processes in this procfs instead of /proc
 * @root:	A detached mount of the caller's PID namespace; stays open as long as the
 *		process
 */
void procfs_use(int root);

/**
 * procfs_is_own() - Is /proc that of the caller's PID namespace?
 *
 * In the /proc of another one, each number means another process.
 */
bool procfs_is_own(void);

/**
 * procfs_place() - Where a file of a process is, to open it without these checks
 * @path:	Gets its path
 * @file:	Begins with a slash, or is empty: the folder
 *
 * Return: the fd that @path is relative to, for openat(2) and its kin
 */
int procfs_place(char *path, size_t size, pid_t pid, const char *file);

/** procfs_open_place() - Open it; close-on-exec is added to the flags. -errno */
int procfs_open_place(pid_t pid, const char *file, int flags);

/**
 * procfs_open() - Open the folder /proc/PID as a path (O_PATH)
 *
 * The fd never comes to mean another process: when this one has ended, nothing can be
 * opened in the folder any more.
 *
 * Return: an fd that belongs to the caller, -EXDEV when /proc is no procfs of this PID
 * namespace, or -errno
 */
int procfs_open(pid_t pid);

/**
 * procfs_open_at() - Open something in the folder
 * @dir:	From procfs_open()
 * @flags:	As open(2) has them; close-on-exec is added
 *
 * Return: an fd that belongs to the caller, -EXDEV when another mount covers it, -ELOOP
 * for a symlink, or -errno
 */
int procfs_open_at(int dir, const char *file, int flags);

/**
 * procfs_read_at() - Read a file of the folder as a string
 *
 * Return: length without the NUL, -EFBIG when it does not fit, or as procfs_open_at()
 */
ssize_t procfs_read_at(int dir, const char *file, char *text, size_t size);

/** procfs_read() - Read a single file, by the process's pid; as procfs_read_at() */
ssize_t procfs_read(pid_t pid, const char *file, char *text, size_t size);

/** procfs_tasks() - The list of its threads, as folder_list() */
DIR *procfs_tasks(pid_t pid);

/**
 * procfs_held() - The pid of the process that a pidfd holds, in the caller's PID
 * namespace
 *
 * Return: the pid, -ESRCH (it is gone, or not of this namespace), -EBADF (it is no
 * pidfd), or as procfs_open()
 */
pid_t procfs_held(int pidfd);

/**
 * procfs_write_at() - Write a string into a file of the folder in one write(2)
 * @dir:	From procfs_open(); an errno of that is returned
 *
 * Return: 0, -errno of write(2), or as procfs_open_at()
 */
int procfs_write_at(int dir, const char *file, const char *text);

/**
 * procfs_find() - Find a line that begins with @key. Return: the text behind @key, or
 * NULL
 */
const char *procfs_find(const char *text, const char *key);

/**
 * procfs_number() - The number behind @key, written in @base; 0 where there is no such
 * line
 */
uint64_t procfs_number(const char *text, const char *key, int base);

/**
 * procfs_status() - A decimal number of /proc/PID/status, such as "VmPTE:" in kB; 0 also
 * where the process is gone
 */
uint64_t procfs_status(pid_t pid, const char *key);

/** procfs_lists() - Is a word in a list, between any of these separators? */
bool procfs_lists(const char *list, const char *word, const char *separators);

/**
 * procfs_words() - Take the words of a line, one blank between them
 * @at:		Behind the line's key
 * @value:	Gets as much of them as fits into @size bytes
 */
void procfs_words(const char *at, char *value, size_t size);

/**
 * procfs_locks_exceed() - Do the processes of a PID namespace hold, or wait for, more
 * file locks?
 * @list:	The file locks of a procfs of that namespace, from mount_locks(); read
 *		from its start. -1 where none may be held: there are none
 *
 * The kernel lists no lock of flock(2) whose taker has ended while somebody else has the
 * file open: of those there are no more than open files. What it lists everywhere, with
 * no pid or a negative one, is another's and is not counted. See proc_locks(5).
 *
 * Return: 1, 0, or -errno
 */
int procfs_locks_exceed(int list, uint64_t limit);

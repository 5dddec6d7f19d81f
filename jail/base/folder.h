/* SPDX-License-Identifier: MIT */
/*
 * folder.h - the names in a folder that was opened
 */
#pragma once

#include <dirent.h>

/**
 * folder_list() - List a folder
 * @fd:		Opened for reading; taken, whatever this returns. Or -errno, and there is
 *		no list
 *
 * Return: closed by closedir(3) or cleanup_folder, or NULL with errno set
 */
DIR *folder_list(int fd);

/**
 * folder_next() - The next name in a list, "." and ".." passed over
 *
 * Return: valid until the next call; NULL at the end with errno 0, or with readdir(3)'s
 * errno
 */
const char *folder_next(DIR *list);

/** folder_close() - Close *@list unless it is NULL, keep errno; for cleanup_folder */
void folder_close(DIR **list);

#define cleanup_folder __attribute__((cleanup(folder_close)))

/* SPDX-License-Identifier: MIT */
/*
 * skills.h - functions that outlive a task: a folder of Python modules, which jails have
 * as the package skills, to read
 *
 * A person puts files there. What a model writes gets there by nobody else: a task whose
 * functions later tasks import on their own would have a way to speak to these. This
 * process hashes the files, and reads none.
 */
#pragma once

#include "agent/show/show.h"

/**
 * skills_bind() - Have a folder of modules in each jail
 * @hex:	Gets one digest of the names and bytes of its *.py
 *
 * Return: 0, or -errno with a line that names the folder
 */
int skills_bind(const char *dir, struct jail_binds *b, struct stop *stop,
		char hex[DIGEST_HEX], struct err *e);

/**
 * skills_list() - Have a jail of its own read the modules, and tell a model of them
 * @s:		Open; the folder is bound
 * @preface:	Gets signatures and first lines of docstrings, escaped, behind the mark.
 *		Where they cannot be had, that is shown, and nothing is added
 *
 * Return: 0, -EINTR, or -E2BIG
 */
int skills_list(const char *dir, struct session *s, struct show *show,
		struct text *preface, struct err *e);

/* SPDX-License-Identifier: MIT */
/*
 * wipe.h - forget what a clone of a template had in memory
 */
#ifndef STEPJAIL_JAIL_BASE_WIPE_H
#define STEPJAIL_JAIL_BASE_WIPE_H

#include <stddef.h>

/**
 * wipe() - Zero a static variable, and let go of the pages that are wholly its own
 * @at:		In .bss, so that such a page is anonymous memory: zeros when it comes back
 *
 * A clone shares its template's pages until it writes to them. Writing zeros would copy
 * each page, so whole pages are given back instead (MADV_DONTNEED in madvise(2)), and
 * bytes that are zero already are not written.
 */
void wipe(void *at, size_t bytes);

#endif

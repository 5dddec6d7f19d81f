/* SPDX-License-Identifier: MIT */
/*
 * wipe.h - zero memory that a clone shares with its template
 */
#pragma once

#include <stddef.h>

/**
 * wipe() - Zero a static variable without copying pages
 * @at:		In .bss: a page that is given back there reads as zeros
 *
 * A clone shares its template's pages until it writes to them. Writing zeros would copy
 * each page. So whole pages are given back (MADV_DONTNEED in madvise(2)), and bytes that
 * are zero already are not written.
 */
void wipe(void *at, size_t bytes);

/* SPDX-License-Identifier: MIT */
/*
 * source.h - files of Python as strings in this program
 *
 * The assembler reads them, by their paths from the top of the tree: no generated source,
 * and the Python stays a file that Python tools can read. make knows of them as
 * prerequisites of the object that has them.
 */
#pragma once

#define SOURCE_FILE(path) ".incbin \"" path "\"\n"

/* SOURCE() - Define a string of one SOURCE_FILE(), or of several in a row */
#define SOURCE(name, files)                                                              \
	__asm__(".pushsection .rodata\n" #name ":\n" files ".byte 0\n.popsection\n");    \
	extern const char name[]

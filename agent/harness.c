/* SPDX-License-Identifier: MIT */
/*
 * harness.c - harness.py as a string in this program
 *
 * The assembler reads the file, by its path from the top of the tree: no generated
 * source, and the Python stays a file that Python tools can read. make knows of it as a
 * prerequisite.
 */
#include "agent/harness.h"

__asm__(".pushsection .rodata\n"
	".globl harness_source\n"
	"harness_source:\n"
	".incbin \"agent/harness.py\"\n"
	".byte 0\n"
	".popsection\n");

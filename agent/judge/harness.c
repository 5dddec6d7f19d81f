/* SPDX-License-Identifier: MIT */
/*
 * harness.c - the tests' judge in a jail, tests.py and cases.py, as a string in this
 * program: see tests.h
 *
 * The assembler reads the files, by their paths from the top of the tree: no generated
 * source, and the Python stays a file that Python tools can read. make knows of them as
 * prerequisites.
 */
__asm__(".pushsection .rodata\n"
	".globl harness_tests\n"
	"harness_tests:\n"
	".incbin \"agent/judge/tests.py\"\n"
	".incbin \"agent/judge/cases.py\"\n"
	".byte 0\n"
	".popsection\n");

/* SPDX-License-Identifier: MIT */
/*
 * harness.c - judges in a jail, in Python, as strings in this program: see task.h
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
	".globl harness_check\n"
	"harness_check:\n"
	".incbin \"agent/judge/check.py\"\n"
	".byte 0\n"
	".popsection\n");

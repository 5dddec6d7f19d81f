/* SPDX-License-Identifier: MIT */
/*
 * recode.h - what the ways to new code share: see recode.c
 */
#pragma once

#define PAGE 4096UL
#define RAN 42
#define LACKS 43

/* makes 42 of nothing */
#if defined(__x86_64__)
#define NEW_CODE_BYTES 6
#elif defined(__aarch64__)
#define NEW_CODE_BYTES 8
#endif
extern const unsigned char new_code[NEW_CODE_BYTES];

/* a page of own code that nobody needs, to be written over: it makes 7 of nothing */
int spare(void);

/* say the errno, on the line that the way began. Return: what the way's process exits
 * with */
int fail(void);

/* call what lies there. Return: RAN if that was the new code */
int call_it(const void *code);

/* the ways that lie in files of their own */
int by_mmap(void);
int by_mmap_shared(void);
int by_memfd_shared(void);
int by_memfd_private(void);
int by_work_file(void);
int by_shm_file(void);
int by_mprotect(void);
int by_pkey_mprotect(void);
int by_mprotect_text(void);
int by_mremap(void);
int by_mremap_grow(void);
int by_stack(void);
int by_brk(void);
int by_shmat(void);
int by_personality(void);
int by_personality_two(void);
int by_proc_mem(void);
int by_ptrace(void);
int by_process_vm_writev(void);
int by_userfaultfd(void);
int by_thread(void);
int by_handler(void);
int by_clone_vm(void);
int by_int80(void);

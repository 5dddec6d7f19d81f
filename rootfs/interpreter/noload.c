/* SPDX-License-Identifier: MIT */
/*
 * noload.c - the ELF without a dynamic loader
 *
 * A static glibc still carries one: dlopen() for Python's extension modules and SQLite's
 * extensions, __libc_dlopen_mode() for name services, character sets and IDN. With it, a
 * program in a jail could map a shared object that it wrote itself. Every way into it is
 * answered here, so that the linker leaves the loader out; the callers take the answer as
 * "no such library", which in this tree is the truth.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

/* as in CPython's Python/importdl.h and glibc's include/dlfcn.h, not installed */
typedef void (*dl_funcptr)(void);
extern const char *_PyImport_DynLoadFiletab[];
dl_funcptr _PyImport_FindSharedFuncptr(const char *prefix, const char *shortname,
				       const char *pathname, FILE *file);
void *__libc_dlopen_mode(const char *name, int mode);
void *__libc_dlsym(void *handle, const char *name);
void *__libc_dlvsym(void *handle, const char *name, const char *version);
int __libc_dlclose(void *handle);

static const char refusal[] = "this Python has no dynamic loader";

/* no file name ends like an extension module: the import system need not look for any */
const char *_PyImport_DynLoadFiletab[] = { NULL };

dl_funcptr _PyImport_FindSharedFuncptr(const char *prefix, const char *shortname,
				       const char *pathname, FILE *file)
{
	(void)prefix;
	(void)shortname;
	(void)pathname;
	(void)file;
	PyErr_SetString(PyExc_ImportError, refusal);
	return NULL;
}

void *dlopen(const char *name, int mode)
{
	(void)name;
	(void)mode;
	return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *dlerror(void)
{
	/* dlfcn.h's type has no const; callers only print it */
	return (char *)(uintptr_t)refusal;
}

void *__libc_dlopen_mode(const char *name, int mode)
{
	return dlopen(name, mode);
}

void *__libc_dlsym(void *handle, const char *name)
{
	return dlsym(handle, name);
}

void *__libc_dlvsym(void *handle, const char *name, const char *version)
{
	(void)version;
	return dlsym(handle, name);
}

int __libc_dlclose(void *handle)
{
	return dlclose(handle);
}

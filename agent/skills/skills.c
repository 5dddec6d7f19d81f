/* SPDX-License-Identifier: MIT */
/*
 * skills.c - a folder of saved functions, offered to a model: see skills.h
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/path.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/skills/skills.h"
#include "init/io.h"

#define FOLDER "/work" /* of the jail's */
#define PACKAGE "skills"

static const char how_to_import[] =
	"\nFunctions that earlier tasks saved can be imported, each from a module of its own name, as in: from skills.NAME import NAME. They are, the last saved one last:\n";

static const char how_to_save[] =
	"\nTo save a function for later tasks, make the folder /work/skills_new, and write the function to /work/skills_new/NAME.py: imports, constants, and one function NAME (small letters, digits and _; its helpers begin with _), whose docstring has examples as of an interactive session, with what comes of them. When you have answered, it is tried in a fresh sandbox, and kept if all of its examples hold. Save only what is of use beyond this task.\n";

int skills_bind(const char *dir, struct jail_binds *b, struct stop *stop,
		char hex[DIGEST_HEX], uint64_t *bytes, struct err *e)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, errno, "--skills: %s: it cannot be opened", dir);
	if (inputs_modules(fd, stop, hex, bytes, e) < 0 ||
	    jail_binds_more(b, dir, FOLDER, PACKAGE, e) < 0)
		return err_within(e, "--skills: %s: ", dir);
	return io_steal_fd(&fd);
}

/* what runs in it is told on stdin: see trial.py's main() */
static int add_jail(struct skills *s, struct err *e)
{
	const struct jail_options *jail = s->task->plan.jail;

	s->limit_ms = jail->step_ms < SKILLS_TRIAL_MS ? jail->step_ms : SKILLS_TRIAL_MS;
	launch_add_run(&s->args, jail->rootfs, s->limit_ms, &jail->pass);
	/* no way from a function to its judge's fds */
	launch_add(&s->args, "--proc=none");
	launch_add(&s->args, "--bind=%s:" FOLDER "/" PACKAGE, text_string(&s->path));
	launch_add(&s->args, "--");
	launch_add(&s->args, "/bin/python3");
	launch_add(&s->args, "-I");
	launch_add(&s->args, "-c");
	launch_add(&s->args, "%s", harness_trial);
	if (s->args.failed)
		return err_set(e, s->args.failed, "--skills");
	s->line = broker_add(&s->task->confined.broker, &s->args, e);
	return s->line;
}

/* a folder that others keep, for reading, is of use, too */
static void ask_writable(struct skills *s)
{
	if (!s->save || faccessat(s->fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return;
	s->save = false;
	show_say(&s->task->show,
		 "skills: no function will be saved: %s cannot be written: %s", s->dir,
		 strerror(errno));
}

int skills_plan(struct skills *s, const char *dir, struct err *e)
{
	struct confine_policy *policy = &s->task->confined.policy;

	s->dir = dir;
	if (!dir)
		return 0;
	/* what a jail of one step leaves is gone with it */
	s->save = !s->task->plan.stateless;
	/* whatever the umask: jails that root starts read the folder with ids of their
	 * own */
	if (mkdir(s->dir, 0700) == 0 ? chmod(s->dir, 0755) < 0 : errno != EEXIST)
		return err_set(e, errno, "--skills: the folder %s cannot be made",
			       s->dir);
	s->fd = skills_bind(s->dir, s->task->plan.binds, s->task->stop, s->sha256,
			    &s->bytes, e);
	if (s->fd < 0)
		return s->fd;
	path_absolute(s->dir, &s->path);
	ask_writable(s);
	if (add_jail(s, e) < 0)
		return -e->errnum;
	if (!s->save)
		return 0;
	policy->needs |= CONFINE_CREATE | CONFINE_KEEP;
	return confine_add_path(policy, text_string(&s->path), CONFINE_KEEP, e);
}

cJSON *skills_record(const struct skills *s)
{
	cJSON *o = cJSON_CreateObject();

	record_text(o, "dir", &s->path);
	(void)cJSON_AddStringToObject(o, "sha256", s->sha256);
	return o;
}

int skills_run(struct skills *s, const struct text *order, struct text *said,
	       struct err *e)
{
	cleanup_text struct text rest = { 0 };
	cleanup_text struct text last = { 0 };
	cleanup_text struct text quoted = { 0 };
	const struct run_once *once = &s->task->once;
	int r = task_run(s->task, s->line, s->limit_ms, order, e);

	if (r < 0)
		return r;
	(void)clip_take(&once->out, said, &rest);
	if (once->good)
		return 0;
	if (once->facts.verdict == VERDICT_EXITED)
		clip_last_line(&once->err, &last);
	escape_name(&quoted, text_string(&last), last.length);
	if (last.length)
		return err_say(e, EBADMSG, "%s", text_string(&quoted));
	return err_say(e, EBADMSG, "its jail ended as %s",
		       verdict_name(once->facts.verdict));
}

int skills_list(struct skills *s, struct err *e)
{
	cleanup_text struct text order = { 0 };
	cleanup_text struct text said = { 0 };
	cleanup_text struct text lines = { 0 };
	int r = 0;

	text_puts(&order, "2\n{}");
	if (s->dir && s->bytes)
		r = skills_run(s, &order, &said, e);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0)
		show_say(&s->task->show, "skills: the modules in %s cannot be listed: %s",
			 s->dir, e->text);
	/* what a jail says of the modules is hostile */
	if (r == 0 && said.length) {
		escape_lines(&lines, ESCAPE_MARK, said.bytes, said.length);
		text_puts(&s->preface, how_to_import);
		escape_turns(&s->preface, &lines);
	}
	if (s->save)
		text_puts(&s->preface, how_to_save);
	return text_check(&s->preface, "the saved functions", e);
}

void skills_free(struct skills *s)
{
	if (s->path.length)
		io_close_fd(&s->fd);
	text_free(&s->path);
	text_free(&s->preface);
	launch_args_free(&s->args);
	cJSON_Delete(s->told);
}

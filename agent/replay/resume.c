/* SPDX-License-Identifier: MIT */
/*
 * resume.c - a run that goes on where an earlier one has ended: see resume.h
 */
#include <sys/file.h>

#include "agent/model/tool.h"
#include "agent/record/transcripts.h"
#include "agent/replay/resume.h"
#include "init/io.h"

#define CUT_OFF "The run was cut off here, and your last code did not run to its end."

int resume_open(struct resume *r, const char *name, struct err *e)
{
	cleanup_transcripts struct transcripts t = TRANSCRIPTS_NONE;
	bool last = strcmp(name, "yes") == 0;

	if (last && transcripts_find(&t, e) < 0)
		return -e->errnum;
	if (last && !t.last.length)
		return err_say(
			e, ENOENT,
			"--continue: there is no transcript of solve or chat in %s",
			text_string(&t.path));
	text_puts(&r->path, last ? text_string(&t.last) : name);
	r->fd = transcripts_open_named(text_string(&r->path), e);
	if (r->fd < 0)
		return err_within(e, "--continue: ");
	if (flock(r->fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_say(e, EBUSY, "--continue: a run is still writing %s",
			       text_string(&r->path));
	return 0;
}

int resume_files(struct resume *r, const struct task *t, struct jail_options *jail,
		 const char *skills, struct err *e)
{
	struct replay *p = &r->replay;
	struct opt_list *had = &p->start.jail.files;
	int s = peek_run(r->fd, text_string(&r->path), t->stop, &p->start, e);

	p->asked = jail;
	p->stop = t->stop;
	p->show = t->show;
	if (s == 0 && p->start.skills && !skills)
		s = err_say(
			e, EISDIR,
			"that run had the functions in the folder %s: give it by --skills",
			p->start.skills + PEEK_DIGEST + 1);
	/* a repl's are none of a conversation, which is said when it is read again */
	for (size_t i = 0; s == 0 && !p->start.repl && i < had->count; i++) {
		const char *recorded = had->items[i] + PEEK_DIGEST + 1;
		const char *path = replay_file(p, recorded, had->items[i], e);

		if (!path)
			s = -e->errnum;
		else if (path == recorded && jail->files.count == OPT_LIST_MAX)
			s = err_say(e, E2BIG, "there are too many files");
		else if (path == recorded)
			jail->files.items[jail->files.count++] = path;
	}
	return s < 0 ? err_within(e, "--continue: ") : 0;
}

/* what is said or done stands in the new transcript as it does in the old one */
static int copy(struct resume *r, const char *event, const cJSON *line, struct err *e)
{
	static const char *const own[] = { "line", "prev", "event", "time", "sha256" };
	cJSON *o = cJSON_Duplicate(line, true);

	for (size_t i = 0; i < COUNT(own); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, own[i]);
	return task_record(r->loop->task, event, o, e);
}

static int take_start(struct resume *r, const cJSON *line, struct err *e)
{
	const char *command = json_text(line, "command");
	struct loop *l = r->loop;

	if (strcmp(command, "solve") != 0 && strcmp(command, "chat") != 0)
		return err_say(
			e, EBADMSG,
			"--continue: %s is of %.20s, and has no conversation with a model",
			text_string(&r->path), command);
	if (l->given && !cJSON_Compare(json_get(line, "inputs"), l->given, true))
		show_line(
			&l->task->show,
			"the jail's options or files are others than in the run that is continued");
	/* one that went on itself has that, too, behind what it went on from */
	return json_get(line, "user") && !json_get(line, "continues")
		       ? loop_hear(l, json_text(line, "user"), e)
		       : 0;
}

static int take_reply(struct resume *r, const cJSON *line, struct err *e)
{
	struct reply *reply = &r->loop->reply;

	reply_begin(reply);
	text_puts(&reply->text, json_text(line, "text"));
	for (const cJSON *one = json_first(json_get(line, "calls")); one;
	     one = one->next) {
		struct call *c = reply_call(reply, (long)++r->loop->model.serial,
					    json_text(one, "id"));

		if (!c)
			break;
		call_name(c, json_text(one, "name"));
		text_puts(&c->arguments, json_text(one, "arguments"));
	}
	reply_end(reply, &r->loop->model.serial);
	chat_add_reply(&r->loop->chat, reply);
	return copy(r, "reply", line, e);
}

static int take_code(struct resume *r, const cJSON *line, struct err *e)
{
	cJSON_Delete(r->code);
	r->code = cJSON_Duplicate(line, true);
	return replay_take(&r->replay, "code", line, e);
}

/* runs it again, but one that was cut off: that is as it was */
static int take_step(struct resume *r, const cJSON *line, struct err *e)
{
	const char *words = json_string(line, "observation");
	bool again = json_get(line, "verdict") && !json_string(line, "ended_by");
	cleanup_text struct text said = { 0 }; /* as it was recorded */
	uint32_t number = 0;
	int s = 0;

	(void)json_u32(line, "step", &number);
	if (json_get(line, "verdict") && r->code)
		s = copy(r, "code", r->code, e);
	if (s == 0)
		s = replay_take(&r->replay, "step", line, e);
	if (s == 0 && r->replay.step.budget)
		s = err_say(
			e, ETIMEDOUT,
			"--continue: --wall-time is used up, and not all earlier steps have run again");
	if (s < 0)
		return s;
	cJSON_Delete(r->code);
	r->code = NULL;
	r->loop->done = number > r->loop->done ? number : r->loop->done;
	if (again) {
		cJSON *o = record_step(number, NULL, &r->replay.step, NULL);

		json_add(o, "prose", json_text(line, "prose"));
		if (words)
			json_add(o, "observation", words);
		loop_see(r->loop, r->replay.step.media, &said);
		s = task_record(r->loop->task, "step", o, e);
	} else {
		s = copy(r, "step", line, e);
	}
	words = words ? words : CUT_OFF;
	chat_add_observation(&r->loop->chat, words, strlen(words));
	return s;
}

/* a turn of a chat that was taken back */
static int take_command(struct resume *r, const cJSON *line, struct err *e)
{
	uint32_t messages;
	int s = replay_take(&r->replay, "command", line, e);

	if (json_u32(line, "messages", &messages) && messages)
		chat_cut(&r->loop->chat, messages);
	return s < 0 ? s : copy(r, "command", line, e);
}

static int take(void *arg, const char *event, const cJSON *line, struct err *e)
{
	static const struct {
		const char *event;
		int (*take)(struct resume *r, const cJSON *line, struct err *e);
	} rows[] = {
		{ "start", take_start },     { "reply", take_reply },
		{ "code", take_code },       { "step", take_step },
		{ "command", take_command },
	};
	struct resume *r = arg;

	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(event, rows[i].event) == 0)
			return rows[i].take(r, line, e);
	if (strcmp(event, "user") == 0)
		return loop_hear(r->loop, json_text(line, "text"), e);
	return strcmp(event, "session") == 0 ? replay_take(&r->replay, event, line, e)
					     : 0;
}

/* for struct loop's @earlier */
static int go_through(void *arg, struct err *e)
{
	struct resume *r = arg;
	struct task *t = r->loop->task;
	struct replay *p = &r->replay;
	const struct chat *chat = &r->loop->chat;
	cleanup_text struct text line = { 0 };

	*p = (struct replay){ .asked = t->plan.jail,
			      .stop = t->stop,
			      .show = t->show,
			      .plan = t->plan,
			      .session = &t->session,
			      .out = OUT_NONE,
			      .fresh = true };
	t->plan.heard = NULL;

	int s = read_transcript_run(r->fd, take, r, &r->reading, e);

	t->plan.heard = p->plan.heard;
	cJSON_Delete(p->recorded);
	text_free(&p->code);
	if (s < 0)
		return s;
	/* a reply without its step: interfaces want what became of its calls */
	const struct message *last = &chat->list[chat->count - 1];

	if ((last->call_count && !tool_is_answer(last->calls)) || r->code)
		chat_add_observation(&r->loop->chat, CUT_OFF, strlen(CUT_OFF));
	text_printf(&line, "continued: %s: ", text_string(&r->path));
	replay_words(p, &line);
	show_line(&t->show, "%s", text_string(&line));
	if (p->differ)
		r->loop->note =
			"The code above has run again in a new session, and not all of it came out as it did: look at a variable before you rely on it.\n";
	return 0;
}

int resume_check(struct resume *r, struct loop *l, struct err *e)
{
	cleanup_text struct text words = { 0 };
	int s = read_transcript_run(r->fd, NULL, NULL, &r->reading, e);

	if (s < 0)
		return s;
	read_transcript_words(&r->reading, text_string(&r->path), &words);
	if (r->reading.end == READ_TRANSCRIPT_CHANGED || !r->reading.chain.lines)
		return err_say(e, EBADMSG, "--continue: %s", text_string(&words));
	r->loop = l;
	l->earlier = go_through;
	l->earlier_arg = r;
	l->continues = cJSON_CreateObject();
	json_add(l->continues, "transcript", &r->path);
	json_add(l->continues, "lines", r->reading.chain.lines);
	json_add(l->continues, "sha256", r->reading.chain.digest);
	return 0;
}

void resume_close(struct resume *r)
{
	cJSON_Delete(r->code);
	text_free(&r->path);
	io_close_fd(&r->fd);
}

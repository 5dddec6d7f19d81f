/* SPDX-License-Identifier: MIT */
/*
 * evalbook.c - the samples of an evaluation: see evalbook.h
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/base/chain.h"
#include "agent/base/json.h"
#include "agent/eval/evalbook.h"
#include "agent/record/record.h"
#include "init/io.h"

/* of all that a task's result rests on */
static void digest_set(const struct evalset *set, char hex[CHAIN_HEX])
{
	struct sha256_ctx sum;

	sha256_init(&sum);
	for (size_t i = 0; i < set->count; i++) {
		const struct eval_task *t = &set->tasks[i];
		const char *parts[] = { t->id, t->prompt, t->entry_point, t->canonical,
					t->test };

		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			sha256_update(&sum, strlen(parts[k]) + 1,
				      (const uint8_t *)parts[k]);
	}
	chain_hex(&sum, hex);
}

static int append(struct evalbook *b, cJSON *line, struct err *e)
{
	cleanup_text struct text text = { 0 };
	int r = line ? record_print(line, &text, e) : err_set(e, ENOMEM, "--results");

	cJSON_Delete(line);
	if (r < 0 || b->fd < 0)
		return r;
	text_puts(&text, "\n");
	r = text_check(&text, "--results", e);
	if (r < 0)
		return r;
	r = io_write_all(b->fd, text.bytes, text.length);
	return r < 0 ? err_set(e, -r, "--results: cannot write") : 0;
}

/* a new file's first line */
static cJSON *first_line(const char *who, const char *digest)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(o, "event", "eval");
	(void)cJSON_AddStringToObject(o, "set_sha256", digest);
	record_string(o, "who", who, strlen(who));
	return o;
}

/* what is there of a file without a whole line: the beginning of our own first one, or a
 * file of somebody's that is not to be written over */
static int check_begun(const char *path, const char *begun, size_t length,
		       const char *who, const char *digest, struct err *e)
{
	cleanup_text struct text text = { 0 };
	cJSON *o = first_line(who, digest);
	int r = o ? record_print(o, &text, e) : err_set(e, ENOMEM, "--results");

	cJSON_Delete(o);
	if (r == 0 && (length > text.length || memcmp(begun, text.bytes, length) != 0))
		r = err_say(e, EINVAL, "--results: %s is no file of eval's", path);
	return r;
}

static cJSON *line_of(const struct evalbook *b, size_t sample, const char *event)
{
	const struct eval_sample *s = &b->samples[sample];
	const char *id = b->set->tasks[s->task].id;
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(o, "event", event);
	record_string(o, "task_id", id, strlen(id));
	(void)cJSON_AddNumberToObject(o, "sample", s->number);
	return o;
}

/* what a sample is without code: it did not pass, and no jail was needed to see that */
static void take_reply(struct eval_sample *s, const char *code, const char *why)
{
	s->asked = true;
	free(s->code);
	s->code = code ? strdup(code) : NULL;
	if (code)
		return;
	s->ran = true;
	s->result = (struct eval_result){ .verdict = VERDICT_COMPLETED };
	(void)snprintf(s->result.error, sizeof(s->result.error), "%s", why);
}

int evalbook_reply(struct evalbook *b, size_t sample, const char *code, const char *why,
		   struct err *e)
{
	struct eval_sample *s = &b->samples[sample];
	cJSON *o = line_of(b, sample, "reply");

	take_reply(s, code, why);
	if (code && !s->code) {
		cJSON_Delete(o);
		return err_set(e, ENOMEM, "a reply");
	}
	if (code)
		record_string(o, "code", code, strlen(code));
	else
		record_string(o, "error", why, strlen(why));
	return append(b, o, e);
}

int evalbook_result(struct evalbook *b, size_t sample, const struct eval_result *result,
		    struct err *e)
{
	struct eval_sample *s = &b->samples[sample];
	cJSON *o = line_of(b, sample, "result");

	s->ran = true;
	s->result = *result;
	(void)cJSON_AddBoolToObject(o, "passed", result->passed);
	(void)cJSON_AddStringToObject(o, "verdict", verdict_name(result->verdict));
	(void)cJSON_AddNumberToObject(o, "wall_ms", (double)result->wall_ms);
	record_string(o, "error", result->error, strlen(result->error));
	return append(b, o, e);
}

static struct eval_sample *find(struct evalbook *b, const cJSON *line)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(line, "sample");
	const char *id = json_text(line, "task_id");

	if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0) ||
	    number->valuedouble >= b->each)
		return NULL;
	for (size_t i = 0; i < b->set->count; i++)
		if (strcmp(b->set->tasks[i].id, id) == 0)
			return &b->samples[i * b->each + (uint32_t)number->valuedouble];
	return NULL;
}

static void take_result(struct eval_sample *s, const cJSON *line)
{
	const cJSON *wall = cJSON_GetObjectItemCaseSensitive(line, "wall_ms");
	enum verdict verdict;

	if (!verdict_find(json_text(line, "verdict"), &verdict) ||
	    !cJSON_IsNumber(wall) || !(wall->valuedouble >= 0))
		return;
	s->ran = true;
	s->result = (struct eval_result){
		.verdict = verdict,
		.passed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "passed")),
		.wall_ms = (uint64_t)wall->valuedouble,
	};
	(void)snprintf(s->result.error, sizeof(s->result.error), "%s",
		       json_text(line, "error"));
}

static void take_line(struct evalbook *b, const cJSON *line)
{
	const cJSON *code = cJSON_GetObjectItemCaseSensitive(line, "code");
	const char *event = json_text(line, "event");
	struct eval_sample *s = find(b, line);

	if (s && strcmp(event, "reply") == 0)
		take_reply(s, cJSON_IsString(code) ? code->valuestring : NULL,
			   json_text(line, "error"));
	else if (s && strcmp(event, "result") == 0)
		take_result(s, line);
}

static int check_first(const cJSON *line, const char *path, const char *who,
		       const char *digest, struct err *e)
{
	if (strcmp(json_text(line, "event"), "eval") != 0)
		return err_say(e, EINVAL, "--results: %s is no file of eval's", path);
	if (strcmp(json_text(line, "set_sha256"), digest) != 0)
		return err_say(
			e, EINVAL,
			"--results: %s is of another set of tasks; give a new name",
			path);
	if (strcmp(json_text(line, "who"), who) != 0)
		return err_say(
			e, EINVAL,
			"--results: %s holds solutions of another kind (%.80s); give a new name",
			path, json_text(line, "who"));
	return 0;
}

/* what was there; a last line that was not finished is cut off */
static int read_file(struct evalbook *b, const char *path, const char *who,
		     const char *digest, struct err *e)
{
	FILE *file = fdopen(fcntl(b->fd, F_DUPFD_CLOEXEC, 3), "r");
	char *line = NULL;
	size_t room = 0;
	off_t whole = 0;
	ssize_t n;
	int r = file ? 0 : err_set(e, errno, "--results: %s", path);

	while (r == 0 && (n = getline(&line, &room, file)) > 0 && line[n - 1] == '\n') {
		cJSON *root = cJSON_ParseWithLength(line, (size_t)n);

		if (whole == 0)
			r = check_first(root, path, who, digest, e);
		else
			take_line(b, root);
		cJSON_Delete(root);
		whole += n;
	}
	if (r == 0 && n > 0 && whole == 0)
		r = check_begun(path, line, (size_t)n, who, digest, e);
	free(line);
	if (file)
		(void)fclose(file);
	if (r == 0 && ftruncate(b->fd, whole) < 0)
		r = err_set(e, errno, "--results: %s", path);
	return r < 0 || whole ? r : append(b, first_line(who, digest), e);
}

int evalbook_open(struct evalbook *b, const char *path, const struct evalset *set,
		  const char *who, uint32_t each, bool asks, struct err *e)
{
	char digest[CHAIN_HEX];

	*b = (struct evalbook){ .set = set, .each = each, .fd = -1 };
	b->count = set->count * each;
	b->samples = calloc(b->count, sizeof(*b->samples));
	if (!b->samples)
		return err_set(e, ENOMEM, "eval");
	for (size_t i = 0; i < b->count; i++) {
		b->samples[i].task = i / each;
		b->samples[i].number = (uint32_t)(i % each);
		b->samples[i].asked = !asks;
	}
	if (!path)
		return 0;
	b->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (b->fd < 0)
		return err_set(e, errno, "--results: %s", path);
	if (flock(b->fd, LOCK_EX | LOCK_NB) < 0)
		return err_say(e, EBUSY, "--results: another run writes into %s", path);
	digest_set(set, digest);
	return read_file(b, path, who, digest, e);
}

void evalbook_free(struct evalbook *b)
{
	for (size_t i = 0; b->samples && i < b->count; i++)
		free(b->samples[i].code);
	free(b->samples);
	io_close_fd(&b->fd);
	*b = (struct evalbook){ .fd = -1 };
}

uint32_t evalbook_passed(const struct evalbook *b, size_t task)
{
	uint32_t passed = 0;

	for (uint32_t i = 0; i < b->each; i++)
		passed += b->samples[task * b->each + i].result.passed;
	return passed;
}

double evalbook_pass_at(const struct evalbook *b, uint32_t k)
{
	double sum = 0;

	for (size_t t = 0; t < b->set->count; t++) {
		uint32_t failed = b->each - evalbook_passed(b, t);
		double none = failed < k ? 0 : 1; /* the chance that none of k passes */

		/* C(n-c, k) / C(n, k) without numbers that do not fit */
		for (uint32_t i = failed + 1; none > 0 && i <= b->each; i++)
			none *= 1 - (double)k / i;
		sum += 1 - none;
	}
	return b->set->count ? sum / (double)b->set->count : 0;
}

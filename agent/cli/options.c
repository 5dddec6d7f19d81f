/* SPDX-License-Identifier: MIT */
/*
 * options.c - arguments into a command's struct: see options.h
 */

#include "agent/base/units.h"
#include "agent/cli/config.h"
#include "agent/cli/options.h"

/* where an option's value is from; a later one wins */
enum source { NOWHERE, FROM_FILE, FROM_VARIABLE, GIVEN };

static const struct command *const *known;

#define ONE_TEXT "one, in quotes; a value that an option may lack is joined to it by ="

/* how a number is read, what is said of one that is none, and how it is said */
static const struct {
	int (*parse)(const char *text, uint64_t *value);
	const char *noun;
	struct said (*say)(uint64_t value);
} numbers[] = {
	[OPT_COUNT] = { units_parse_count, "a whole number", units_say_count },
	[OPT_TIME] = { units_parse_time, "a time of whole ms such as 500ms, 1.5s or 2h",
		       units_say_time },
	[OPT_SIZE] = { units_parse_size, "a size such as 64K or 1.5G", units_say_size },
	[OPT_MONEY] = { units_parse_money,
			"an amount of dollars such as 5 or 0.25, of 1000000 at the most",
			units_say_money },
};

static int set_number(const struct opt *o, const char *value, void *at, struct err *e)
{
	uint64_t *into = at;
	int r = numbers[o->kind].parse(value, into);

	if (r == -EINVAL)
		return err_say(e, EINVAL, "--%s: '%s' is not %s", o->name, value,
			       numbers[o->kind].noun);
	if (r < 0 || *into < o->min || *into > o->max)
		return err_say(e, EINVAL, "--%s: '%s' is not between %s and %s", o->name,
			       value, numbers[o->kind].say(o->min).text,
			       numbers[o->kind].say(o->max).text);
	return 0;
}

/* @value: NULL where there is none */
static int refuse(const struct opt *o, const char *value, struct err *e)
{
	cleanup_text struct text wanted = { 0 };

	options_value(o, &wanted);
	return value ? err_say(e, EINVAL, "--%s: '%.80s' is not one of --%s%s%s", o->name,
			       value, o->name, text_string(&wanted),
			       o->hint ? o->hint : "")
		     : err_say(e, EINVAL, "--%s: needs a value: --%s%s", o->name, o->name,
			       text_string(&wanted));
}

static int set_choice(const struct opt *o, const char *value, void *at, struct err *e)
{
	for (size_t i = 0; o->choices[i]; i++)
		if (strcmp(o->choices[i], value) == 0) {
			*(uint64_t *)at = i;
			return 0;
		}
	return refuse(o, value, e);
}

_Static_assert(2 * OPT_ROWS_MAX <= OPT_LIST_MAX, "each OPT_PASS is given once");

static int set(const struct opt *o, const char *value, void *at, struct err *e)
{
	struct opt_list *list = at;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)at = strcmp(value, "yes") == 0;
		return *(bool *)at || strcmp(value, "no") == 0 ? 0 : refuse(o, value, e);
	case OPT_TEXT:
		memcpy(at, &value, sizeof(value));
		return 0;
	case OPT_CHOICE:
		return set_choice(o, value, at, e);
	case OPT_LIST:
		if (list->count == OPT_LIST_MAX)
			return err_say(e, E2BIG, "--%s: given more than %d times",
				       o->name, OPT_LIST_MAX);
		list->items[list->count++] = value;
		return 0;
	case OPT_PASS:
		list->items[list->count++] = o->name;
		list->items[list->count++] = value;
		return 0;
	default:
		return set_number(o, value, at, e);
	}
}

bool options_row(const struct command *cmd, size_t number, struct opt *o)
{
	for (const struct opt_part *p = cmd->parts; p && p->rows; p++)
		for (const struct opt *row = p->rows; row->name; row++)
			if (number-- == 0) {
				*o = *row;
				o->offset += p->at;
				return true;
			}
	return false;
}

/* its number; that behind the last where there is none */
static size_t find(const struct command *cmd, const char *name, size_t length,
		   struct opt *o)
{
	size_t i = 0;

	while (options_row(cmd, i, o) &&
	       (strlen(o->name) != length || strncmp(o->name, name, length) != 0))
		i++;
	return i;
}

bool options_find(const struct command *cmd, const char *name, struct opt *o)
{
	return options_row(cmd, find(cmd, name, strlen(name), o), o);
}

static bool stands_alone(const struct opt *o)
{
	return o->kind == OPT_FLAG || (o->arg && o->arg[0] == '[');
}

/* a word behind an option that may stand alone, which belongs to it */
static bool is_answer(const char *word)
{
	return strcmp(word, "yes") == 0 || strcmp(word, "no") == 0 ||
	       strcmp(word, "auto") == 0 || strcmp(word, "warm") == 0;
}

/* one "--name", "--name=value" or "--name value"; returns how many arguments it took */
static int take_option(const struct command *cmd, char *const *argv, void *into,
		       enum source *given, struct err *e)
{
	const char *name = argv[0] + 2;
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	struct opt row;
	const struct opt *o = &row;
	size_t number = find(cmd, name, length, &row);

	if (argv[0][1] != '-' || !options_row(cmd, number, &row))
		return err_say(e, EINVAL,
			       "%.80s: no such option; see stepjail-agent %s --help",
			       argv[0], cmd->name);
	if (given[number] && o->kind != OPT_LIST)
		return err_say(e, EINVAL, "--%s: given twice", o->name);
	given[number] = GIVEN;

	/* one that may stand alone means yes */
	bool alone = !equals && stands_alone(o) && !(argv[1] && is_answer(argv[1]));
	const char *value = equals ? equals + 1 : alone ? "yes" : argv[1];

	if (!value || !*value)
		return refuse(o, NULL, e);
	if (!equals && strncmp(value, "--", 2) == 0)
		return err_say(
			e, EINVAL,
			"--%s: needs a value, and '%.80s' looks like an option; write --%s=%.80s if it is meant",
			o->name, value, o->name, value);

	int r = set(o, value, (char *)into + o->offset, e);

	return r < 0 ? r : (equals || alone ? 1 : 2);
}

/* an option that would have no effect is a mistake, and its user is told */
static int check_company(const struct command *cmd, const struct opt *o,
			 const enum source *given, struct err *e)
{
	cleanup_text struct text all = { 0 };
	const char *const *with = o->with;

	for (size_t i = 0; with[i]; i++) {
		struct opt other;

		if (given[find(cmd, with[i], strlen(with[i]), &other)])
			return 0;
		text_printf(&all, "%s--%s", i ? " or " : "", with[i]);
	}
	return with[0] ? err_say(e, EINVAL, "--%s: has no effect without %s", o->name,
				 text_string(&all))
		       : 0;
}

void options_know(const struct command *const *all)
{
	known = all;
}

static bool is_known(const char *name)
{
	struct opt o;

	for (size_t i = 0; known && known[i]; i++)
		if (options_find(known[i], name, &o))
			return true;
	return false;
}

/* note where an option's value is to come from, or @set it; one that would have no effect
 * is left out */
static int take_default(const struct command *cmd, const struct config_line *line,
			bool final, void *into, enum source *given, struct err *e)
{
	enum source source = line->variable ? FROM_VARIABLE : FROM_FILE;
	struct opt o;
	size_t number = find(cmd, line->name, strlen(line->name), &o);
	const char *value = line->value;
	struct err unheard;

	if (!options_row(cmd, number, &o))
		return line->variable || is_known(line->name)
			       ? 0
			       : err_say(e, EINVAL, "'%.80s' is not an option",
					 line->name);
	if (o.only_given || given[number] > source)
		return 0;
	if (!*value && stands_alone(&o))
		value = "yes";
	if (final)
		return check_company(cmd, &o, given, &unheard) < 0
			       ? 0
			       : set(&o, value, (char *)into + o.offset, e);
	if (given[number] == source && o.kind != OPT_LIST)
		return err_say(e, EINVAL, "--%s: given twice", o.name);
	given[number] = source;
	return *value ? 0 : refuse(&o, NULL, e);
}

static int take_defaults(const struct command *cmd, void *into, enum source *given,
			 struct err *e)
{
	static struct config config; /* what is taken points into it */
	const char *asked;
	struct opt o;

	if (!options_find(cmd, "config", &o))
		return 0;
	memcpy(&asked, (char *)into + o.offset, sizeof(asked));
	if (config_read(asked, &config, e) < 0)
		return -e->errnum;
	for (int final = 0; final <= 1; final++)
		for (size_t i = 0; i < config.count; i++)
			if (take_default(cmd, &config.lines[i], final, into, given, e) <
			    0)
				return config_within(&config, &config.lines[i], e);
	return 0;
}

/* presets, where nothing was given */
static int complete(const struct command *cmd, void *into, const enum source *given,
		    struct err *e)
{
	struct opt o;

	for (size_t i = 0; options_row(cmd, i, &o); i++) {
		int r = 0;

		if (given[i] == GIVEN)
			r = check_company(cmd, &o, given, e);
		else if (o.preset && !given[i])
			r = set(&o, o.preset, (char *)into + o.offset, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --help anywhere before "--"; all right behind it asks for every option */
static enum opt_help asked_help(char *const *argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return argv[1] && strcmp(argv[1], "all") == 0 ? OPT_HELP_ALL
								      : OPT_HELP_COMMON;
	return OPT_HELP_NO;
}

int options_parse(const struct command *cmd, char *const *argv, void *into,
		  const char **operand, enum opt_help *help, struct err *e)
{
	enum source given[OPT_ROWS_MAX + 1] = { NOWHERE };
	bool only_operands = false;

	*operand = NULL;
	*help = asked_help(argv);
	if (*help)
		return 0;

	for (size_t i = 0; argv[i];) {
		const char *arg = argv[i];

		if (!only_operands && strcmp(arg, "--") == 0) {
			only_operands = true;
			i++;
		} else if (!only_operands && arg[0] == '-' && arg[1]) {
			int took = take_option(cmd, argv + i, into, given, e);

			if (took < 0)
				return took;
			i += (size_t)took;
		} else if (!cmd->operand || *operand) {
			return err_say(e, EINVAL,
				       "%s: '%.80s' is one operand too many; it takes %s",
				       cmd->name, arg, cmd->operand ? ONE_TEXT : "none");
		} else {
			*operand = arg;
			i++;
		}
	}
	if (cmd->operand && cmd->operand[0] != '[' && (!*operand || !**operand))
		return err_say(e, EINVAL,
			       "%s: the %s is missing; see stepjail-agent %s --help",
			       cmd->name, cmd->operand, cmd->name);
	return take_defaults(cmd, into, given, e) < 0 ? -e->errnum
						      : complete(cmd, into, given, e);
}

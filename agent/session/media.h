/* SPDX-License-Identifier: MIT */
/*
 * media.h - what a step shows beside its output, as it comes from stepjail
 *
 * Frames MEDIA and PIECE (init/media.h) of one step become a list of items, one for each
 * form of each object. All of it is the jail's: numbers are checked before they are used,
 * what is held is bounded here whatever stepjail's own limit is, and a frame that makes
 * no sense ends the showing, not the step: from there on nothing more is taken.
 */
#pragma once

#include "agent/base/clip.h"
#include "init/media.h"

#define MEDIA_STEP_BYTES ((size_t)64 << 20) /* of one step, that the agent ever holds */
#define MEDIA_ITEMS_MAX ((size_t)MEDIA_OBJECTS_MAX * (MEDIA_KINDS - 1))

enum media_state {
	MEDIA_BROKEN,  /* bytes are missing */
	MEDIA_WHOLE,   /* all of it came */
	MEDIA_ABSENT,  /* stepjail left it out: more than --media-limit */
	MEDIA_TOO_BIG, /* the agent did: more than MEDIA_STEP_BYTES */
};

struct media_item {
	struct media head;
	enum media_state state;
	struct text name; /* the jail's: any bytes but NUL */
	struct text bytes;
	char sha256[DIGEST_HEX]; /* of one that is whole */
	struct text saved;       /* where the agent put it; empty for nowhere */
	struct text unsaved;     /* why it could not; empty where it did, or was not to */
};

struct media_list {
	struct media_item *items;
	size_t count;
	size_t held;      /* bytes */
	bool nonsense;    /* a frame made none */
	struct clip said; /* texts that display() was given */
};

/** media_clear() - Free what a step has shown; a new one begins */
void media_clear(struct media_list *l);

/**
 * media_take() - Take a frame
 * @type:	WIRE_MEDIA or WIRE_PIECE
 * @bytes:	Behind struct serve_at
 *
 * Return: the item that is whole with it, or NULL
 */
const struct media_item *media_take(struct media_list *l, uint16_t type,
				    const char *bytes, size_t length);

/** media_png_size() - What the first chunk of a PNG says of its size; false where there
 * is none. PNG (third edition), 11.2.1 */
bool media_png_size(const struct media_item *m, uint32_t *width, uint32_t *height);

/* a kind: in a transcript, behind a file's name, for people and models */
extern const struct media_form {
	const char *name, *ending, *noun;
} media_forms[MEDIA_KINDS];

/** media_find() - The object's item of that kind, or NULL */
const struct media_item *media_find(const struct media_list *l, uint32_t object,
				    enum media_kind kind);

/** media_is_said() - True for a text of display(): its list has it in @said. That of a
 * result is the step's result already */
bool media_is_said(const struct media_item *item);

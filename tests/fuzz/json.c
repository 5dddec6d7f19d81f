/* SPDX-License-Identifier: MIT */
/*
 * json.c - any bytes as a string in JSON: ASCII, it parses, and UTF-8 comes back as it
 * was
 */
#include <cjson/cJSON.h>

#include "jail/base/json.h"
#include "tests/fuzz/fuzz.h"

/* RFC 3629 once more, apart from the code under test: a state machine over bytes */
static bool is_utf8(const unsigned char *at)
{
	while (*at) {
		unsigned char c = *at++, low = 0x80, high = 0xbf;
		int more = c < 0x80                 ? 0
			   : c >= 0xc2 && c <= 0xdf ? 1
			   : (c & 0xf0) == 0xe0     ? 2
			   : c >= 0xf0 && c <= 0xf4 ? 3
						    : -1;

		if (more < 0)
			return false;
		low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : low;
		high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : high;
		for (; more; more--, low = 0x80, high = 0xbf)
			if (*at < low || *at++ > high)
				return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1), *written = NULL;
	size_t length;
	FILE *out = open_memstream(&written, &length);

	HOLDS(text && out);
	(void)memcpy(text, bytes, size);
	text[size] = '\0';
	json_after("", text, out);
	HOLDS(fclose(out) == 0);
	for (size_t i = 0; i < length; i++)
		HOLDS(written[i] >= ' ' && written[i] < 0x7f);

	cJSON *parsed = cJSON_ParseWithLength(written, length);

	HOLDS(cJSON_IsString(parsed));
	if (is_utf8((unsigned char *)text))
		HOLDS(strcmp(parsed->valuestring, text) == 0);
	else
		HOLDS(strstr(parsed->valuestring, "\xef\xbf\xbd") &&
		      is_utf8((unsigned char *)parsed->valuestring));
	cJSON_Delete(parsed);
	free(written);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * reach.c - what the model client may reach: see reach.h
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "agent/key/reach.h"

#define DNS_PORT 53 /* where an answer is too long for UDP */
#define PROXY_PORT 1080
#define NSSWITCH_BYTES 8192
#define PATHS_MAX 12 /* of a row */

/* beside what libcurl names itself: where Debian's certificates are links to;
 * getaddrinfo(3), resolv.conf(5) and where it may be a link to, hosts(5), gai.conf(5) */
static const struct {
	unsigned int need;
	const char *paths[PATHS_MAX];
} files[] = {
	{ CONFINE_CONNECT,
	  { "/usr/share/ca-certificates", "/usr/local/share/ca-certificates" } },
	{ CONFINE_NAMES,
	  { "/etc/resolv.conf", "/run/systemd/resolve", "/run/NetworkManager",
	    "/run/resolvconf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf",
	    "/etc/gai.conf", "/etc/services", "/etc/protocols" } },
};

static void free_parts(CURLU **parts)
{
	curl_url_cleanup(*parts);
}

static void free_part(char **part)
{
	curl_free(*part);
}

#define cleanup_parts __attribute__((cleanup(free_parts)))
#define cleanup_part __attribute__((cleanup(free_part)))

/* NULL where an address has no such part */
static char *part(CURLU *parts, CURLUPart what, unsigned int flags)
{
	char *value = NULL;

	return curl_url_get(parts, what, &value, flags) == CURLUE_OK ? value : NULL;
}

static bool is_address(const char *host)
{
	struct in_addr any;

	return host[0] == '[' || inet_pton(AF_INET, host, &any) == 1;
}

/* as libcurl's parser gives it: "127.1" has become "127.0.0.1" by now */
static bool is_here(const char *host)
{
	return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (strncmp(host, "127.", 4) == 0 && is_address(host));
}

static int check_server(CURLU *parts, const char *url, struct reach *to, struct err *e)
{
	CURLUcode bad = curl_url_set(parts, CURLUPART_URL, url, CURLU_DISALLOW_USER);
	cleanup_part char *scheme = part(parts, CURLUPART_SCHEME, 0);
	cleanup_part char *host = part(parts, CURLUPART_HOST, 0);

	if (bad == CURLUE_USER_NOT_ALLOWED)
		return err_say(
			e, EINVAL,
			"--base-url: the address must not hold a user or password; give the key by environment or --key-file");
	if (bad || !scheme || !host)
		return err_say(
			e, EINVAL,
			"--base-url: '%.200s' is not an address such as https://api.openai.com/v1",
			url);
	if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		return err_say(
			e, EINVAL,
			"--base-url: '%s' is not supported; only http and https are",
			scheme);
	*to = (struct reach){ .https = scheme[4] == 's', .here = is_here(host) };
	return 0;
}

/* the port of an address, and that its host is a name; without a port a proxy's is
 * libcurl's own default 1080, where others take that of the scheme */
static int add_place(struct confine_policy *p, CURLU *parts, bool proxy, struct err *e)
{
	cleanup_part char *scheme = part(parts, CURLUPART_SCHEME, 0);
	cleanup_part char *host = part(parts, CURLUPART_HOST, 0);
	bool fixed = proxy && scheme && strcmp(scheme, "https") != 0;
	cleanup_part char *port =
		part(parts, CURLUPART_PORT, fixed ? 0 : CURLU_DEFAULT_PORT);

	if (!host)
		return 0; /* a proxy that is none: libcurl will say so, if it is asked */
	if (!is_address(host))
		p->needs |= CONFINE_NAMES;
	return confine_add_port(p, port ? (uint16_t)strtoul(port, NULL, 10) : PROXY_PORT,
				e);
}

/* as libcurl looks for them; one that no_proxy overrules adds a port that is not used */
static int add_proxies(struct confine_policy *p, bool https, struct err *e)
{
	static const char *const names[][4] = {
		{ "http_proxy", "all_proxy", "ALL_PROXY", NULL },
		{ "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT(names[0]) && names[https][i]; i++) {
		const char *value = getenv(names[https][i]);
		cleanup_parts CURLU *parts = curl_url();

		if (value && curl_url_set(parts, CURLUPART_URL, value,
					  CURLU_GUESS_SCHEME |
						  CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK)
			r = add_place(p, parts, true, e);
	}
	return r;
}

void reach_load_names(void)
{
	FILE *names = fopen("/etc/nsswitch.conf", "re");
	char line[NSSWITCH_BYTES], file[80];

	while (names && fgets(line, sizeof(line), names)) {
		char *rest = NULL;
		char *word = strtok_r(line, " \t\n", &rest);

		if (!word || strncmp(word, "hosts:", 6) != 0)
			continue;
		/* the services behind it, loaded for good; files and dns are libc's own
		 * by now. A word in brackets says what to do after one: it is skipped */
		for (word += 6; word; word = strtok_r(NULL, " \t\n", &rest)) {
			if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")])
				continue;
			(void)snprintf(file, sizeof(file), "libnss_%.40s.so.2", word);
			(void)dlopen(file, RTLD_NOW | RTLD_GLOBAL);
		}
	}
	if (names)
		(void)fclose(names);
}

static int add_files(struct confine_policy *p, struct err *e)
{
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
	const char *const own[] = { curl->cainfo, curl->capath };
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT(own); i++)
		r = own[i] ? confine_add_path(p, own[i], 0, e) : 0;
	for (size_t i = 0; i < COUNT(files); i++)
		for (size_t k = 0; r == 0 && p->needs & files[i].need && k < PATHS_MAX &&
				   files[i].paths[k];
		     k++)
			r = confine_add_path(p, files[i].paths[k], 0, e);
	return r;
}

int reach_server(struct confine_policy *p, const char *url, struct reach *to,
		 struct err *e)
{
	cleanup_parts CURLU *parts = curl_url();

	if (!parts)
		return err_set(e, ENOMEM, "--base-url");
	p->needs |= CONFINE_CONNECT | CONFINE_READ;
	/* no proxy is asked for this host */
	if (check_server(parts, url, to, e) < 0 || add_place(p, parts, false, e) < 0 ||
	    (!to->here && add_proxies(p, to->https, e) < 0) ||
	    (p->needs & CONFINE_NAMES && confine_add_port(p, DNS_PORT, e) < 0))
		return -e->errnum;
	return add_files(p, e);
}

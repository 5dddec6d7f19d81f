/* SPDX-License-Identifier: MIT */
/*
 * reach.c - what the model client may reach: see reach.h
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/key/http.h"
#include "agent/key/reach.h"
#include "init/io.h"

#define DNS_PORT 53 /* where an answer is too long for UDP */
#define PROXY_PORT 1080
#define NSSWITCH_BYTES 8192

/* beside what libcurl names itself: where Debian's certificates are links to;
 * getaddrinfo(3), resolv.conf(5) and where it may be a link to, hosts(5), gai.conf(5) */
static const struct {
	unsigned int need;
	const char *path;
} files[] = {
	{ CONFINE_CONNECT, "/usr/share/ca-certificates" },
	{ CONFINE_CONNECT, "/usr/local/share/ca-certificates" },
	{ CONFINE_NAMES, "/etc/resolv.conf" },
	{ CONFINE_NAMES, "/run/systemd/resolve" },
	{ CONFINE_NAMES, "/run/NetworkManager" },
	{ CONFINE_NAMES, "/run/resolvconf" },
	{ CONFINE_NAMES, "/etc/hosts" },
	{ CONFINE_NAMES, "/etc/nsswitch.conf" },
	{ CONFINE_NAMES, "/etc/host.conf" },
	{ CONFINE_NAMES, "/etc/gai.conf" },
	{ CONFINE_NAMES, "/etc/services" },
	{ CONFINE_NAMES, "/etc/protocols" },
};

static bool is_address(const char *host)
{
	struct in6_addr any;

	return host[0] == '[' || inet_pton(AF_INET, host, &any) == 1;
}

/* the port of an address; @named is set where its host is a name, @here where it is this
 * one. A proxy's port is by libcurl's own default 1080, where others take that of the
 * scheme. */
static int add_place(struct confine_policy *p, const char *url, bool proxy, bool *named,
		     bool *here, struct err *e)
{
	CURLU *parts = curl_url();
	char *host = NULL, *port = NULL;
	int r = 0;

	if (!parts)
		return err_set(e, ENOMEM, "confinement");
	if (curl_url_set(parts, CURLUPART_URL, url,
			 CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		r = err_say(e, EINVAL, "confinement: no host in '%.200s'", url);
	else if (curl_url_get(parts, CURLUPART_PORT, &port,
			      proxy && strncasecmp(url, "https:", 6) != 0
				      ? 0
				      : CURLU_DEFAULT_PORT) != CURLUE_OK)
		r = confine_add_port(p, PROXY_PORT, e);
	else
		r = confine_add_port(p, (uint16_t)strtoul(port, NULL, 10), e);
	if (r == 0 && host && !is_address(host))
		*named = true;
	*here = r == 0 && host && http_is_here(host);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(parts);
	return r;
}

/* as libcurl looks for them; one that no_proxy overrules adds a port that is not used */
static int add_proxies(struct confine_policy *p, const char *url, bool *named,
		       struct err *e)
{
	static const char *const of_https[] = { "https_proxy", "HTTPS_PROXY", "all_proxy",
						"ALL_PROXY", NULL };
	static const char *const of_http[] = { "http_proxy", "all_proxy", "ALL_PROXY",
					       NULL };
	bool https = strncasecmp(url, "https:", 6) == 0, unheard;
	int r = 0;

	for (const char *const *name = https ? of_https : of_http; r == 0 && *name;
	     name++) {
		const char *value = getenv(*name);

		if (value && *value)
			r = add_place(p, value, true, named, &unheard, e);
		if (r == -EINVAL)
			r = 0; /* libcurl will say so, if it is asked for */
	}
	return r;
}

/* the services behind "hosts:", loaded for good; files and dns are libc's own by now */
static void load_services(char *line)
{
	char *rest = NULL;
	bool action = false;

	for (char *word = strtok_r(line, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest)) {
		char file[80];

		action |= word[0] == '[';
		if (!action && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
				       strlen(word)) {
			(void)snprintf(file, sizeof(file), "libnss_%.40s.so.2", word);
			(void)dlopen(file, RTLD_NOW | RTLD_GLOBAL);
		}
		action = action && !strchr(word, ']');
	}
}

static void load_resolver(void)
{
	char text[NSSWITCH_BYTES];
	char *rest = NULL;

	if (io_read_file_at(AT_FDCWD, "/etc/nsswitch.conf", text, sizeof(text)) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (strncmp(line, "hosts:", 6) == 0)
			load_services(line + 6);
	}
}

int reach_server(struct confine_policy *p, const char *url, struct err *e)
{
	bool named = false, here = false;
	int r = add_place(p, url, false, &named, &here, e);

	p->needs |= CONFINE_CONNECT | CONFINE_READ;
	if (r == 0 && !here) /* no proxy is asked for this host */
		r = add_proxies(p, url, &named, e);
	if (r < 0 || !named)
		return r;
	p->needs |= CONFINE_NAMES;
	load_resolver();
	return confine_add_port(p, DNS_PORT, e);
}

int reach_files(struct confine_policy *p, struct err *e)
{
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
	const char *const own[] = { curl->cainfo, curl->capath };
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT(own); i++)
		r = own[i] ? confine_add_path(p, own[i], 0, e) : 0;
	for (size_t i = 0; r == 0 && i < COUNT(files); i++)
		if (p->needs & files[i].need)
			r = confine_add_path(p, files[i].path, 0, e);
	return r;
}

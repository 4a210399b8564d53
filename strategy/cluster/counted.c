/* A cluster by a count of its devices, "8xh100", "2x8xh100". */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/base/path.h"
#include "strategy/cluster/links.h"

enum { COUNTS = 2, DIGITS = 5, CARD = 64 };

/* Steps over "8x", or "8×"; 0: no count is there. */
static int64_t take_count(const char **text)
{
	static const char *const signs[] = {"x", "X", "\xc3\x97"};
	size_t digits = strspn(*text, "0123456789");
	if (!digits || digits > DIGITS)
		return 0;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		size_t length = strlen(signs[i]);
		int64_t count = strtoll(*text, NULL, 10);
		if (strncmp(*text + digits, signs[i], length) != 0)
			continue;
		*text += digits + length;
		return count;
	}
	return 0;
}

/* A machine that is sold as a whole has so many devices; 0: the name is a card's, or nobody's. */
static int64_t devices_of_machine(const char *name)
{
	struct cluster c;
	if (!cluster_is_machine(name) || cluster_open(&c, name, 1))
		return 0;
	int64_t devices = c.devices;
	cluster_release(&c);
	return devices;
}

/* People write 8xH100. */
static void lower(char *name)
{
	for (; *name; name++)
		*name = (char)tolower((unsigned char)*name);
}

bool links_counted(const char *cluster, struct links_count *out)
{
	const char *name = cluster, *pairs = links_find(cluster);
	int64_t count[COUNTS] = {take_count(&name)};
	count[1] = count[0] ? take_count(&name) : 0;
	if (!count[0] || !isalpha((unsigned char)*name) || strlen(name) + DIGITS * 2 >= sizeof out->cluster)
		return false;
	char card[CARD];
	snprintf(card, sizeof card, "%.*s", (int)(pairs - name), name);
	if (path_is_yaml(card)) /* 4xmine.yaml is a file */
		return false;
	lower(card);
	if (links_named(card, CLUSTER_LOCAL) || links_named(card, CLUSTER_LOCAL_CUDA))
		return false;
	int64_t machine = count[1] ? 0 : devices_of_machine(card);
	int64_t node = machine ? machine : count[1] ? count[1] : count[0];
	out->of_nodes = machine || count[1];
	out->ranks = out->of_nodes ? count[0] * node : node;
	if (machine)
		snprintf(out->cluster, sizeof out->cluster, "%s%s", card, pairs);
	else
		snprintf(out->cluster, sizeof out->cluster, "%s:node=%" PRId64 "%s", card, node, pairs);
	return true;
}

enum status links_check_count(const char *typed, const struct links_count *count)
{
	struct cluster c;
	if (strstr(links_find(typed), ":node="))
		return status_fail(STATUS_INPUT,
		                   "{cluster} %.60s: node=N, and how many devices a node has is said before it "
		                   "already; leave one out",
		                   typed);
	TRY(cluster_open(&c, count->cluster, 1));
	cluster_release(&c);
	return STATUS_OK;
}

static const char figures[] = "0123456789", between[] = " xX*:\xc3\x97"; /* what people write between the two */

static bool is_card(const char *begin, size_t length, char card[CARD])
{
	snprintf(card, CARD, "%.*s", (int)length, begin);
	lower(card);
	return length && length < CARD && cluster_catalogue(card);
}

/* "8 x h100", "8h100" */
static bool is_before(const char *typed, char out[LINKS_MISCOUNTED])
{
	size_t count = strspn(typed, figures);
	const char *rest = typed + count + strspn(typed + count, between);
	bool local = !strcmp(rest, CLUSTER_LOCAL) || !strcmp(rest, CLUSTER_LOCAL_CUDA);
	char card[CARD];
	if (!count || count > DIGITS || *typed == '0' || (!local && !is_card(rest, strlen(rest), card)))
		return false;
	if (local) /* it has the devices that there are */
		snprintf(out, LINKS_MISCOUNTED, "%s with %.*s ranks", rest, (int)count, typed);
	else
		snprintf(out, LINKS_MISCOUNTED, "%.*sx%s", (int)count, typed, card);
	return true;
}

/* "h100x8", "h100 * 8" */
static bool is_behind(const char *typed, char out[LINKS_MISCOUNTED])
{
	size_t count = strlen(typed);
	while (count && strchr(figures, typed[count - 1]))
		count--;
	size_t name = count;
	while (name && strchr(between, typed[name - 1]))
		name--;
	char card[CARD];
	const char *digits = typed + count;
	if (name == count || !*digits || strlen(digits) > DIGITS || *digits == '0' || !is_card(typed, name, card))
		return false;
	snprintf(out, LINKS_MISCOUNTED, "%sx%s", digits, card);
	return true;
}

bool links_miscounted(const char *typed, char out[LINKS_MISCOUNTED])
{
	return is_before(typed, out) || is_behind(typed, out);
}

#include "strategy/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

enum status status_fail(enum status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	return status;
}

enum status status_prefix(enum status status, const char *format, ...)
{
	char old[MESSAGE_BYTES];
	char context[MESSAGE_BYTES];
	va_list args;
	memcpy(old, message, sizeof old);
	va_start(args, format);
	vsnprintf(context, sizeof context, format, args);
	va_end(args);
	int n = snprintf(message, sizeof message, "%s: ", context);
	if (n > 0 && n < MESSAGE_BYTES)
		snprintf(message + n, sizeof message - (size_t)n, "%s", old);
	return status;
}

const char *status_message(void)
{
	return message;
}

const char *status_name(enum status status)
{
	switch (status) {
#define X(name, value, code, meaning)                                                                                  \
	case STATUS_##name:                                                                                            \
		return #name;
		STATUS_LIST(X)
#undef X
	}
	return "?";
}

int status_exit_code(enum status status)
{
	switch (status) {
#define X(name, value, code, meaning)                                                                                  \
	case STATUS_##name:                                                                                            \
		return code;
		STATUS_LIST(X)
#undef X
	}
	return 1;
}

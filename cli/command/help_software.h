/* `shardlab help as`: the switches of --as, and what each stack does. */
#ifndef SHARDLAB_HELP_SOFTWARE_H
#define SHARDLAB_HELP_SOFTWARE_H

void help_software(void);

#endif

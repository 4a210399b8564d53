/* The option table for other programs: the manual page, and the words that a shell completes.
 *
 *     shardlab help man | man -l -
 *     shardlab help bash > ~/.local/share/bash-completion/completions/shardlab
 *     shardlab help zsh > ~/.zfunc/_shardlab
 *
 * make install puts all three where their readers look.
 */
#ifndef SHARDLAB_MANUAL_H
#define SHARDLAB_MANUAL_H

void manual_page(void); /* for man(7) */
void completion_bash(void);
void completion_zsh(void);

#endif

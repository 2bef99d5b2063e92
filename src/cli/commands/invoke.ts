import type { Command } from 'commander';
import type { Invocation } from '../invocation.ts';

/** What a command does once its words are parsed; gives the exit code. */
export type CommandBody = (invocation: Invocation) => Promise<number>;

/** Runs a body with the flags that were given to the command and to the program. */
export type Invoke = (command: Command, body: CommandBody) => Promise<void>;

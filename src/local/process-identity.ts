import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names this process for a lease: `host|pid|start|pid namespace`. The start tells a process from a later one with the same pid.
 * @example `build-7|4242|proc:1c0a…:88123|pid:[4026531836]`
 */
export function processIdentity(): string {
  return [hostname(), process.pid, startOf(process.pid) ?? 'unknown', pidNamespace()].join('|');
}

/**
 * True only when the holder ran on this host and its process is certainly gone: no such pid, or the pid started at
 * another time. A holder on another host, or an unreadable one, counts as alive.
 */
export function holderGone(holder: string): boolean {
  const [host, pidText, start, namespace] = holder.split('|');
  const pid = Number(pidText);
  // Two containers may share a host name and still not see each other's processes.
  if (namespace !== pidNamespace()) return false;
  if (host !== hostname() || !Number.isSafeInteger(pid) || pid <= 0 || !start) return false;
  if (!isAlive(pid)) return true;
  const startNow = startOf(pid);
  const comparable = startNow !== undefined && sourceOf(startNow) === sourceOf(start);
  return comparable && startNow !== start;
}

/** The kernel's id of this process's pid namespace; empty where the system has none. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux: one pid namespace per host.
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

function startOf(pid: number): string | undefined {
  return startFromProc(pid) ?? startFromPs(pid);
}

/** Linux: boot id and the start in clock ticks since boot, field 22 of /proc/<pid>/stat. */
function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name in parentheses may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie runs nothing any more.
    if (fields[0] === 'Z' || fields[0] === 'X') return 'proc:ended';
    const ticks = fields[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return ticks ? `proc:${boot}:${ticks}` : undefined;
  } catch {
    // No /proc on this system (or the process went away): the caller asks `ps`.
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const options = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' }, stdio: 'pipe' } as const;
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options).trim();
    return text === '' ? undefined : `ps:${text}`;
  } catch {
    // Neither source: the process is identified by its pid alone.
    return undefined;
  }
}

function sourceOf(start: string): string {
  return start.slice(0, start.indexOf(':') + 1);
}

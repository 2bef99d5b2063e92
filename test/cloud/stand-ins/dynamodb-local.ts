import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const EMULATOR = join(dirname(fileURLToPath(import.meta.resolve('amplify-dynamodb-simulator'))), 'emulator');

/** Java dies with the pipe on the shell's stdin, and the shell with Java: whatever happens to us, nothing is left running. */
const TIED_TO_STDIN = 'exec 3<&0; "$@" </dev/null 3<&- & pid=$!; { cat <&3 >/dev/null; kill -9 $pid; } & wait $pid';

export interface DynamoDbLocal {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** DynamoDB Local with streams, in memory, on a free port. Installs Java from Debian's packages when there is none. */
export async function startDynamoDbLocal(): Promise<DynamoDbLocal> {
  ensureJava();
  const port = await freePort();
  const java = [
    'java',
    '-Xmx256m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    `-Djava.io.tmpdir=${tmpdir()}`,
    '-Djava.library.path=./DynamoDBLocal_lib',
    '-jar',
    'DynamoDBLocal.jar',
    ...['-port', String(port), '-inMemory', '-sharedDb', '-disableTelemetry'],
  ];
  const shell = spawn('sh', ['-c', TIED_TO_STDIN, 'sh', ...java], {
    cwd: EMULATOR,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswering(endpoint, shell);
  return { endpoint, stop: () => stopped(shell) };
}

function ensureJava(): void {
  if (runs('java', ['-version'])) return;
  const elevate = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (...words: string[]) => {
    const [command = '', ...rest] = [...elevate, 'apt-get', '-q', ...words];
    execFileSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  process.stderr.write('Java is missing: installing default-jre-headless for DynamoDB Local.\n');
  apt('update');
  apt('install', '-y', '--no-install-recommends', 'default-jre-headless');
}

function runs(command: string, words: readonly string[]): boolean {
  try {
    execFileSync(command, words, { stdio: 'ignore' });
    return true;
  } catch {
    // Not there, or not working: both mean that it has to be installed.
    return false;
  }
}

async function untilAnswering(endpoint: string, shell: ChildProcess): Promise<void> {
  for (;;) {
    try {
      // Any HTTP answer will do; without credentials it is a refusal.
      await fetch(endpoint, { signal: AbortSignal.timeout(2_000) });
      return;
    } catch (error) {
      if (shell.exitCode !== null) throw new Error('DynamoDB Local did not start.', { cause: error });
      await sleep(100);
    }
  }
}

async function stopped(shell: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => {
    shell.once('exit', () => resolve());
  });
  shell.stdin?.end();
  await gone;
}

/** A port that is free now; the few milliseconds until Java takes it are a risk that a second run mends. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

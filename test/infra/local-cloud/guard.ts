import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { CloudEndpoints } from '../../cloud/global-setup.ts';
import { isAllowed, type Request, type Statement } from '../fixtures/policies.ts';
import { requestsOf } from './request-actions.ts';

/** Stands between a function and the services, and lets through what the function's role may do, as IAM does. */
export class Guard {
  readonly denied: string[] = [];
  readonly #statements: readonly Statement[];
  readonly #endpoints: CloudEndpoints;
  readonly #server: Server;

  constructor(statements: readonly Statement[], endpoints: CloudEndpoints) {
    this.#statements = statements;
    this.#endpoints = endpoints;
    this.#server = createServer((incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
    });
  }

  /** One address for all three services. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { service, requests, tellsAbsence } = requestsOf(incoming, body);
    const refused = requests.find((one) => !isAllowed(this.#statements, one));
    if (refused) return this.#refuse(outgoing, service, refused);
    const answer = await forward(incoming, body, this.#endpoints[service]);
    if (answer.statusCode === 404 && tellsAbsence && !isAllowed(this.#statements, tellsAbsence)) {
      answer.resume();
      return this.#refuse(outgoing, service, tellsAbsence);
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    await pipeline(answer, outgoing);
  }

  #refuse(outgoing: ServerResponse, service: keyof CloudEndpoints, { action, resource, keys }: Request): void {
    const what = `${action} on ${resource}${keys ? ` with ${JSON.stringify(keys)}` : ''}`;
    this.denied.push(what);
    if (service === 's3') {
      outgoing.writeHead(403, { 'content-type': 'application/xml' });
      outgoing.end(`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>${what}</Message></Error>`);
      return;
    }
    outgoing.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
    outgoing.end(JSON.stringify({ __type: 'AccessDeniedException', message: `Not authorized: ${what}` }));
  }
}

function forward({ method, url, headers }: IncomingMessage, body: Buffer, endpoint: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(endpoint);
    const onward = request({ host: hostname, port, method, path: url, headers }, resolve);
    onward.once('error', reject);
    onward.end(body);
  });
}

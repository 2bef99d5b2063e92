export interface CountedRequest {
  readonly method: string;
  /** Path and query, as it came. */
  readonly url: string;
  readonly status: number;
  /** Of the answer's body. */
  readonly bytes: number;
}

/** Answers the next requests that fit with an error. */
export interface FaultOrder {
  /** The beginning of the URL's path, `/bucket/key`. */
  readonly path: string;
  readonly method?: string;
  readonly status: number;
  /** So many requests; 0 takes the order back. */
  readonly times: number;
  /** The request is carried out, and only its answer is replaced. */
  readonly afterWriting?: boolean;
}

const REMEMBERED = 20_000;

/** What tests order of the stand-in, and what it has seen. */
export class Faults {
  #orders: { order: FaultOrder; left: number }[] = [];
  #requests: CountedRequest[] = [];

  order(order: FaultOrder): void {
    this.#orders = this.#orders.filter((one) => one.order.path !== order.path || one.order.method !== order.method);
    if (order.times > 0) this.#orders.push({ order, left: order.times });
  }

  take(method: string, url: string): FaultOrder | undefined {
    const found = this.#orders.find(
      ({ order, left }) => left > 0 && url.startsWith(order.path) && (order.method ?? method) === method,
    );
    if (!found) return undefined;
    found.left -= 1;
    return found.order;
  }

  count(request: CountedRequest): void {
    if (request.url.startsWith('/__stand-in/')) return;
    this.#requests.push(request);
    if (this.#requests.length > REMEMBERED) this.#requests = this.#requests.slice(-REMEMBERED / 2);
  }

  requestsOf(path: string): readonly CountedRequest[] {
    return this.#requests.filter(({ url }) => url.startsWith(path));
  }
}

/** A benchmark: does its work in an empty folder and answers the Markdown of its section. */
export type Bench = (folder: string) => Promise<string>;

/** How every function is bundled. LanceDB and Arrow stay outside: the queues get them with their layer, the others never load them. */
export const BUNDLING = {
  bundle: true,
  minify: true,
  sourcemap: false,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  external: ['@lancedb/lancedb', 'apache-arrow'] as string[],
  // The SDK's CommonJS parts ask for Node's own modules by `require`, which a module does not have.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
} as const;

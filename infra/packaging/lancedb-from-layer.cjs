/*
 * Stands for @lancedb/lancedb in the bundles. An `import` of a bundle is not looked up in Lambda's layers and is carried out at the
 * start, needed or not; this is found through NODE_PATH, and loads 200 MB with the first use only.
 */
const { createRequire } = require('node:module');

module.exports = createRequire(`${process.cwd()}/`)('@lancedb/lancedb');

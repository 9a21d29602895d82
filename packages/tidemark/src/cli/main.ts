#!/usr/bin/env node
/** `tidemark`: says which Node it needs before anything is loaded that an older one cannot read. */
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`tidemark needs Node.js 22.18 or later; this is ${process.versions.node}\n`);
  process.exit(1);
}
const { run } = await import(`./commands${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`);
await run(process.argv);

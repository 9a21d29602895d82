/** The version of the package, from its own package.json: one place says it. */
import { createRequire } from 'node:module';

const manifest = createRequire(import.meta.url)('../../package.json') as { readonly version: string };
export const VERSION: string = manifest.version;

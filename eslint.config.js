/** The rules that need types; everything else is biome's. */
import tseslint from 'typescript-eslint';

/** node:test's own promises are awaited by its runner. */
const runner = { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] };

export default tseslint.config({
  files: [
    'packages/tidemark/src/**/*.ts',
    'test/**/*.ts',
    'scripts/**/*.ts',
    'bench/**/*.ts',
    'demo/**/*.ts',
  ],
  languageOptions: {
    parser: tseslint.parser,
    parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
  },
  linterOptions: { reportUnusedDisableDirectives: 'error' },
  plugins: { '@typescript-eslint': tseslint.plugin },
  rules: {
    '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [runner] }],
    '@typescript-eslint/no-misused-promises': 'error',
    '@typescript-eslint/await-thenable': 'error',
    '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  },
});

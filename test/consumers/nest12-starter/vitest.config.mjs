import { defineConfig } from 'vitest/config';

/** As `nest new` writes it. */
export default defineConfig({
  test: { globals: true, root: './', include: ['**/*.spec.ts'], exclude: ['**/node_modules/**', '**/dist/**'] },
});
